// Command reference writes the documents that are made of the product itself: docs/cli.md has the commands and settings,
// docs/rules.md the rules of the gates. With -manuals it writes the manual pages of a release instead.
//
// Usage: go run ./tools/reference [-manuals FOLDER], or make generate.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/runplan/runplan/cmd/runplan/app"
)

func main() {
	folder := flag.String("manuals", "", "write a manual page for each command into this folder")
	flag.Parse()
	if err := run(*folder); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func run(folder string) error {
	if folder != "" {
		return manuals(app.Commands(), folder)
	}
	rules, err := rulesPage()
	if err != nil {
		return err
	}
	if err := os.WriteFile("docs/cli.md", []byte(reference(app.Commands())), 0o644); err != nil {
		return err
	}
	return os.WriteFile("docs/rules.md", []byte(rules), 0o644)
}
