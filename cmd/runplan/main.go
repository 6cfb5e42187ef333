// Command runplan takes a markdown implementation plan to merged, gated, recorded code.
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
