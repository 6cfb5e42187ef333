// Command runplan executes a markdown implementation plan and merges the resulting code, with gates and a full record.
package main

import (
	"os"

	"github.com/runplan/runplan/cmd/runplan/app"
	"github.com/runplan/runplan/internal/cli"
)

func main() {
	os.Exit(app.Main(cli.App{
		Args:    os.Args[1:],
		Stdin:   os.Stdin,
		Stdout:  os.Stdout,
		Stderr:  os.Stderr,
		Environ: os.Environ(),
	}))
}
