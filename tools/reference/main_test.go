package main

import (
	"os"
	"testing"

	"github.com/runplan/runplan/cmd/runplan/app"
)

// docs/cli.md matches the help of the commands, and docs/rules.md the rules.
func TestReferenceMatchesHelp(t *testing.T) {
	rules, err := rulesPage()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"docs/cli.md": reference(app.Commands()), "docs/rules.md": rules} {
		have, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		if string(have) != want {
			t.Errorf("%s is not what the product says; rewrite it: make generate", name)
		}
	}
}
