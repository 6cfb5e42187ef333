// Command runplan executes a markdown implementation plan and merges the resulting code, with gates and a full record.
package main

import (
	"os"

	"github.com/runplan/runplan/cmd/runplan/app"
)

func main() {
	os.Exit(app.Main(app.App{
		Args:    os.Args[1:],
		Stdin:   os.Stdin,
		Stdout:  os.Stdout,
		Stderr:  os.Stderr,
		Environ: os.Environ(),
	}))
}
