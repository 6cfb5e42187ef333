package testscripts

import (
	"bytes"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/runplan/runplan/internal/schema"
)

// lineCommands returns the commands that check data for trainers.
func lineCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		// valid-lines SCHEMA FILE: check that each line of the file matches training/export/schemas/SCHEMA.json, and
		// that the file has at least one line.
		"valid-lines": cmdValidLines,
	}
}

func cmdValidLines(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: valid-lines SCHEMA FILE")
	}
	text, err := os.ReadFile(filepath.Join("..", "training", "export", "schemas", args[0]+".json"))
	ts.Check(err)
	lines, err := schema.Compile(text)
	ts.Check(err)
	n, bad := 0, 0
	for line := range bytes.Lines([]byte(ts.ReadFile(args[1]))) {
		n++
		if err := lines.Check(line); err != nil {
			bad++
			if !neg {
				ts.Logf("line %d: %v", n, err)
			}
		}
	}
	switch {
	case n == 0:
		ts.Fatalf("%s has no lines", args[1])
	case neg && bad == 0:
		ts.Fatalf("all lines of %s are valid", args[1])
	case !neg && bad > 0:
		ts.Fatalf("%d of %d lines of %s are not valid", bad, n, args[1])
	}
}
