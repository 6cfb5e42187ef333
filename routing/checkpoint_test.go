package routing

import (
	"fmt"
	"strings"
	"testing"
)

// Independent batches keep their order around a checkpoint: the batch that waits for the person is the last of those
// before it, and the others follow that batch.
func TestCheckpointsInTeamMode(t *testing.T) {
	task := func(n int) string {
		return fmt.Sprintf(
			"<task type=\"auto\">\n<name>Task %d: part %d</name>\n<files>dir%d/a.go</files>\n<action>Write "+
				"dir%d/a.go.</action>\n</task>\n", n, n, n, n)
	}
	const look = "<task type=\"checkpoint:human-verify\">\n<what-built>parts</what-built>\n</task>\n"
	decide := func(text, from string) string {
		t.Helper()
		d, err := Decide(parsed(t, "---\nparallel_safe: true\n---\n"+text),
			Options{Mode: string(Team), Workers: 3, From: from, Rules: DefaultRules()})
		must(t, err)
		return story(d)
	}
	const note = " (a checkpoint: a person is asked before batch %d is merged)"
	at := func(n int) string { return fmt.Sprintf(note, n) }
	for name, c := range map[string]struct{ text, from, want string }{
		"without any": {task(1) + task(2) + task(3), "", "1; 2; 3"},
		"in the midst": {task(1) + task(2) + look + task(4) + task(5) + look + task(7), "", "1; 2 needs 1; 3 needs 2" +
			at(2) + "; 4 needs 2; 5 needs 4; 6 needs 5" + at(5) + "; 7 needs 5"},
		"two in a row": {task(1) + look + look + task(4) + task(5), "", "1; 2 needs 1" + at(1) + "; 3 needs 1" + at(1) +
			"; 4 needs 1; 5 needs 1"},
		"at the start": {look + task(2) + task(3), "", "1" + at(2) + "; 2; 3 needs 2"},
		"left out": {task(1) + look + task(3), "2",
			"1 (outside --from/--to); 2 (a checkpoint without effect: batch 1, which would wait for a person, is not " +
				"run); 3"},
		"alone": {look, "", "1 (a checkpoint without effect: the plan has no other batch)"},
	} {
		got := decide(c.text, c.from)
		// The dependencies of a batch that is not run do not matter.
		if shown(got) != shown(c.want) {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
}

// shown removes the dependencies of batches that are not run.
func shown(story string) string {
	parts := strings.Split(story, "; ")
	for i, p := range parts {
		if key, rest, _ := strings.Cut(p, " "); strings.HasSuffix(p, ")") {
			_, why, _ := strings.Cut(rest, "(")
			parts[i] = key + " (" + why
		}
	}
	return strings.Join(parts, "; ")
}
