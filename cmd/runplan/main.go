// Command runplan takes a markdown implementation plan to merged, gated, recorded code.
package main

import (
	"os"
)

func main() {
	os.Exit(Main(App{
		Args:    os.Args[1:],
		Stdin:   os.Stdin,
		Stdout:  os.Stdout,
		Stderr:  os.Stderr,
		Environ: os.Environ(),
	}))
}
