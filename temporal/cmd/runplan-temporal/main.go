// Command runplan-temporal is runplan with one more engine: Temporal, for runs on more than one machine.
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
		Engines: []cli.RemoteHost{new(service).remoteHost()},
	}))
}
