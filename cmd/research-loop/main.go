// Command research-loop is the referee: see package cli.
package main

func main() {}
