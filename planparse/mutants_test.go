package planparse

import "testing"

func TestMutantsAndTestFirstHeaders(t *testing.T) {
	for text, want := range map[string]struct {
		mutants   int
		testFirst bool
		errors    int
	}{
		"mutants: 80 %":           {80, false, 0},
		"mutants: 80%":            {80, false, 0},
		"**Mutants:** 75":         {75, false, 0},
		"**Mutants:** of the fly": {0, false, 0},
		"mutants: many":           {0, false, 1},
		"mutants: 101 %":          {0, false, 1},
		"test-first: true":        {0, true, 0},
		"**Test first:** yes":     {0, true, 0},
	} {
		p, err := Parse("", []byte("# p\n\n## Batch 1: b\n\n"+text+"\n\n### Task 1: t\n\nText.\n"))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, d := range p.Diagnostics {
			if d.Severity == SeverityError {
				n++
			}
		}
		if b := p.Batches[0]; b.Mutants != want.mutants || b.TestFirst != want.testFirst || n != want.errors {
			t.Errorf("%s: %d, %v, %v", text, b.Mutants, b.TestFirst, p.Diagnostics)
		}
	}
}
