package gates

import (
	"testing"

	"github.com/runplan/runplan/gates/testout"
)

func TestRepeatedPlantedTestKeepsWorstStatus(t *testing.T) {
	for name, c := range map[string]struct {
		seen  []testout.Status
		fails bool
		want  testout.Status
	}{
		"one variant is skipped":            {[]testout.Status{testout.Failed, testout.Skipped}, true, testout.Failed},
		"the skipped one comes first":       {[]testout.Status{testout.Skipped, testout.Passed}, false, testout.Passed},
		"one that must fail passes once":    {[]testout.Status{testout.Passed, testout.Failed}, true, testout.Passed},
		"one that must pass fails once":     {[]testout.Status{testout.Passed, testout.Failed}, false, testout.Failed},
		"all variants end as they have to":  {[]testout.Status{testout.Failed, testout.Failed}, true, testout.Failed},
		"skipped everywhere is not counted": {[]testout.Status{testout.Skipped, testout.Skipped}, true, testout.Skipped},
	} {
		var got testout.Status
		for _, s := range c.seen {
			got = worse(got, s, c.fails)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
