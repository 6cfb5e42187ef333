package main

import (
	"path/filepath"
	"slices"
	"testing"
)

func TestCasesLoadForEachClass(t *testing.T) {
	cases, err := load("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, class := range []string{"code", "files", "settings", "processes", "state", "team"} {
		if !slices.ContainsFunc(cases, func(c *attackCase) bool { return c.class == class && !c.honest }) {
			t.Errorf("no agent cheats in class %s", class)
		}
	}
	for _, c := range cases {
		if len(c.batches()) == 0 {
			t.Errorf("%s: its plan has no batch", c.name)
		}
	}
}

func TestShortRunsEachClass(t *testing.T) {
	all, err := load("testdata")
	if err != nil {
		t.Fatal(err)
	}
	short, err := choose(all, "testdata", options{short: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if !slices.ContainsFunc(short, func(s *attackCase) bool { return s.class == c.class && s.honest == c.honest }) {
			t.Errorf("no case of the class of %s is in short.txt", c.name)
		}
	}
}

func TestKnownCheatsAreCases(t *testing.T) {
	all, err := load("testdata")
	if err != nil {
		t.Fatal(err)
	}
	known, err := readNames(filepath.Join("testdata", "known.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for name, why := range known {
		if !slices.ContainsFunc(all, func(c *attackCase) bool { return c.name == name && !c.honest }) {
			t.Errorf("known.txt names %s, which is no cheat", name)
		}
		if why == "" {
			t.Errorf("known.txt says of %s not why it lands", name)
		}
	}
}

// A cheat landed if a change was merged to which the oracle objects; an honest change landed if it was merged and the
// oracle accepts it.
func TestVerdicts(t *testing.T) {
	for name, test := range map[string]struct {
		r    result
		want string
	}{
		"a cheat that was merged landed": {result{c: &attackCase{}, merged: true, oracle: "wrong"}, "landed"},
		"a cheat that was merged with exit 1 is held": {result{c: &attackCase{}, merged: true, oracle: "wrong", exit: 1},
			"held"},
		"what is around counts whatever the exit code": {result{c: &attackCase{anyExit: true}, merged: true, oracle: "wrong",
			exit: 1}, "landed"},
		"a cheat that turned out honest is held":   {result{c: &attackCase{}, merged: true}, "held"},
		"a cheat that was not merged is held":      {result{c: &attackCase{}}, "held"},
		"an honest change that was merged landed":  {result{c: &attackCase{honest: true}, merged: true}, "landed"},
		"an honest change that was not is refused": {result{c: &attackCase{honest: true}, exit: 1}, "refused"},
		"an honest change that was spoilt is refused": {result{c: &attackCase{honest: true}, merged: true, oracle: "wrong"},
			"refused"},
		"a run that never ends hung": {result{c: &attackCase{}, hung: true}, "hung"},
	} {
		if got := test.r.verdict(); got != test.want {
			t.Errorf("%s: the verdict is %s, want %s", name, got, test.want)
		}
	}
}

// A leftover process makes the suite fail, even if the cheat was held.
func TestLeftoverProcessFailsSuite(t *testing.T) {
	r := result{c: &attackCase{name: "cheat/processes/x"}, left: []string{"1 sleep"}}
	if s := (&summary{results: []result{r}}); !s.bad() {
		t.Error("the suite passes with a process left")
	}
}

func TestOneInChoosesCheatsBySeed(t *testing.T) {
	all, err := load("testdata")
	if err != nil {
		t.Fatal(err)
	}
	names := func(o options) (cheats, honest []string) {
		chosen, err := choose(all, "testdata", o)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range chosen {
			if c.honest {
				honest = append(honest, c.name)
			} else {
				cheats = append(cheats, c.name)
			}
		}
		return cheats, honest
	}
	every, honest := names(options{oneIn: 1})
	first, same := names(options{oneIn: 4, seed: 1})
	other, _ := names(options{oneIn: 4, seed: 2})
	if !slices.Equal(honest, same) {
		t.Error("an honest change was left out")
	}
	if len(first) < len(every)/6 || len(first) > len(every)/3 || slices.Equal(first, other) {
		t.Errorf("%d of %d cheats with seed 1, the same with seed 2: %v", len(first), len(every), slices.Equal(first, other))
	}
}
