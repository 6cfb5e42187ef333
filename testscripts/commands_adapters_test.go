package testscripts

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/runplan/runplan/tools/tinymodel"
)

// adapterCommands returns the commands that create what a trainer would create.
func adapterCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		// tiny-adapter FILE RULES N [FAULT]: write an adapter with which the tiny model of RULES (see tiny) answers
		// every prompt with its rule N, counted from 0. FAULT is a fault of tinymodel: the server accepts such an
		// adapter but cannot use it.
		"tiny-adapter": cmdTinyAdapter,
	}
}

func cmdTinyAdapter(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || len(args) > 4 {
		ts.Fatalf("usage: tiny-adapter FILE RULES N [FAULT]")
	}
	all, err := tinyRules(ts.ReadFile(args[1]))
	ts.Check(err)
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	a := tinymodel.Adapter{Rule: n}
	if len(args) == 4 {
		a.Fault = tinymodel.Fault(args[3])
	}
	var file bytes.Buffer
	ts.Check(tinymodel.Model{Rules: all}.WriteAdapter(&file, a))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), file.Bytes(), 0o644))
}

// tinyRules reads the rules of a tiny model.
func tinyRules(text string) ([]tinymodel.Rule, error) {
	var all []tinymodel.Rule
	for line := range strings.Lines(text) {
		if phrase, begins := strings.CutPrefix(line, "@@"); begins {
			all = append(all, tinymodel.Rule{When: strings.TrimSpace(phrase)})
			continue
		}
		if len(all) == 0 {
			return nil, errNoRule(line)
		}
		all[len(all)-1].Say += line
	}
	for i := range all {
		all[i].Say = strings.TrimSuffix(all[i].Say, "\n")
	}
	return all, nil
}

type errNoRule string

func (e errNoRule) Error() string {
	return "rules of a model begin with a line @@ PHRASE, not " + strconv.Quote(string(e))
}
