package planparse

import (
	"slices"
	"strings"
)

// Checks returns the commands that check the result of the batch, in document order. If several commands have the same
// text, only the last one counts, so an "Expected: FAIL" before an "Expected: PASS" is ignored. It omits commands of
// ticked tasks, because they do not run again.
func (b *Batch) Checks() []Command {
	var out []Command
	for _, c := range b.Commands {
		if b.ticked(c.Line) {
			continue
		}
		same := strings.Join(strings.Fields(c.Run), " ")
		if i := slices.IndexFunc(out,
			func(o Command) bool { return strings.Join(strings.Fields(o.Run), " ") == same }); i >= 0 {
			if c.Expected == "" { // a repetition does not change the expectation
				c.Expected, c.Said = out[i].Expected, out[i].Said
			}
			out = slices.Delete(out, i, i+1)
		}
		out = append(out, c)
	}
	return out
}

// Promises returns the files that the batch promises to create, change, test or delete, without those of ticked tasks.
// A repeated path appears once, with its last verb.
func (b *Batch) Promises() []Named {
	var out []Named
	for _, n := range b.Named {
		if b.ticked(n.Line) {
			continue
		}
		if i := slices.IndexFunc(out, func(o Named) bool { return o.Path == n.Path }); i >= 0 {
			switch old := out[i]; {
			case old.Verb == "test" && n.Verb != "delete": // the stronger promise
				continue
			case old.Verb == "create" && n.Verb == "modify":
				continue
			}
			out = slices.Delete(out, i, i+1)
		}
		out = append(out, n)
	}
	return out
}

// ticked reports whether the line is in a ticked task. A nested task counts separately.
func (b *Batch) ticked(line int) bool {
	done := false
	for _, t := range b.Tasks {
		if t.Line <= line && line <= t.EndLine {
			done = t.Done
		}
	}
	return done
}
