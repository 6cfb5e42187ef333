// Command runplan-temporal is runplan with one more engine: Temporal, for runs on more than one machine.
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
		Engines: []app.RemoteHost{new(service).remoteHost()},
	}))
}
