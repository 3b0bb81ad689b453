// Command research-loop is the referee: see package cli.
package main

import (
	"context"
	"os"

	"github.com/research-loop/research-loop/pkg/cli"
	"github.com/research-loop/research-loop/pkg/sandbox"
)

func main() {
	sandbox.Init()
	os.Exit(cli.Main(context.Background(), cli.System()))
}
