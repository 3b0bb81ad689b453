package sandbox

const probeName = "/research-loop-probe"

func runProbe(args []string) int { return 2 }
