package briefing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner/failures"
)

// The maximum numbers of files and batches in a directive. More would hide the important ones.
const (
	namedFiles   = 6
	namedBatches = 4
)

// directives returns instructions derived from the known facts (CTX-07).
func directives(in Input) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	var read, gone []string
	for _, r := range in.Refs {
		switch {
		case r.Missing:
			gone = append(gone, r.Path)
		case r.Text != "" || r.Binary || r.Note != "":
			read = append(read, r.Path)
		}
	}
	modify := slices.DeleteFunc(slices.Clone(in.Batch.Files.Modify),
		func(p string) bool { return slices.Contains(read, p) })
	switch {
	case len(read) > 0 && len(modify) > 0:
		say("read %s before you modify %s", names(read), names(modify))
	case len(read) > 0:
		say("read %s before you change anything", names(read))
	}
	if len(gone) > 0 {
		say("do without %s: the plan refers to it, and the commit that you start from does not have it", names(gone))
	}
	if in.Digest != "" && in.Attempt > 1 {
		say("do not repeat attempt %d: the brief has its result", in.Attempt-1)
	}
	if kinds := kindsOf(in.Failures); len(kinds) > 0 {
		say("do not repeat the earlier failures of similar batches: %s", strings.Join(kinds, ", "))
	}
	named := mentioned(in.Batch)
	told := 0
	for _, e := range relevant(in, in.Earlier) {
		files := shared(e, in.Batch, named)
		if len(files) == 0 || told == namedBatches {
			continue
		}
		told++
		say("batch %s changed these files: %s; build on their present state", phrase.Cut(fence.Line(e.Number), 40),
			names(files))
	}
	var has []string
	for _, p := range in.Prior {
		if p.Makes {
			has = append(has, p.Path)
		}
	}
	if len(has) > 0 {
		say("read %s before you write new code: it defines names of this batch", names(once(has)))
	}
	also := ""
	if len(in.Protected) > 0 {
		also = ", " + names(in.Protected)
	}
	say(
		"do not change the checks of your work, unless the batch itself names the file: settings of gates, linters and CI, "+
			"`.runplan/`, lessons%s; existing tests must be neither deleted nor weakened", also)
	for _, o := range in.AtWork {
		text := fmt.Sprintf("another agent works on batch %s at the same time", phrase.Cut(fence.Line(o.Number), 40))
		if files := o.Files.All(); len(files) > 0 {
			text += fmt.Sprintf("; do not touch its files: %s", names(files))
		}
		out = append(out, text)
	}
	return out
}

// kindsOf returns the distinct failure types of the matched patterns. Anybody may write into their file, so only
// types that runplan itself assigns appear outside of a fence.
func kindsOf(list []failures.Pattern) []string {
	var out []string
	strange := false
	for _, p := range list {
		if !failures.Known(p.Type) {
			strange = true
		} else if !slices.Contains(out, p.Type) {
			out = append(out, p.Type)
		}
	}
	if strange {
		out = append(out, "the quoted text below")
	}
	return out
}

// mentioned lists the files that the batch touches or refers to.
func mentioned(b planparse.Batch) []string {
	return slices.Concat(b.Files.Modify, b.Files.Test, b.Files.Delete, b.Files.Create, b.ContextRefs)
}

// shared lists the files that an earlier batch changed and that matter to this one: all if this batch depends on it,
// else those that this batch mentions.
func shared(e Earlier, b planparse.Batch, mentioned []string) []string {
	if slices.Contains(b.DependsOn, e.Key) {
		return e.Files
	}
	return lists.Filter(e.Files, func(f string) bool { return about(mentioned, f) })
}

// about reports whether a list of files, folders and globs covers the file.
func about(list []string, file string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		return entry == file || strings.HasPrefix(file, strings.TrimSuffix(entry, "/")+"/") ||
			strings.ContainsAny(entry, "*?[{") && gates.Match([]string{entry}, file)
	})
}

// relevant sorts ended batches by their relevance to this one (CTX-03): its dependencies, then batches that changed
// its files, then those with more than one attempt; of equal ones, the latest first.
func relevant(in Input, list []Earlier) []Earlier {
	named := mentioned(in.Batch)
	score := func(e Earlier) int {
		n := 0
		if slices.Contains(in.Batch.DependsOn, e.Key) {
			n += 4
		}
		if slices.ContainsFunc(e.Files, func(f string) bool { return about(named, f) }) {
			n += 2
		}
		if e.Attempts > 1 || !e.merged() {
			n++
		}
		return n
	}
	list = slices.Clone(list)
	slices.Reverse(list)
	return byScore(list, score)
}

// byScore returns the list with the highest scores first. Equal ones keep their order.
func byScore[T any](list []T, score func(T) int) []T {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b T) int { return score(b) - score(a) })
	return list
}

// relevantCommits are the newest ones, sorted as their batches are.
func relevantCommits(in Input, n int) []Commit {
	named := mentioned(in.Batch)
	score := func(c Commit) int {
		n := 0
		if slices.Contains(in.Batch.DependsOn, c.Batch) {
			n += 2
		}
		if slices.ContainsFunc(c.Files, func(f string) bool { return about(named, f) }) {
			n++
		}
		return n
	}
	return byScore(in.Commits[:min(max(n, 0), len(in.Commits))], score)
}

// relevantRefs puts references that the batch changes first, then those that earlier batches changed. Otherwise the
// order of the plan stays.
func relevantRefs(in Input) []Ref {
	score := func(r Ref) int {
		n := 0
		if about(slices.Concat(in.Batch.Files.Modify, in.Batch.Files.Test), r.Path) {
			n += 2
		}
		if slices.ContainsFunc(in.Earlier, func(e Earlier) bool { return slices.Contains(e.Files, r.Path) }) {
			n++
		}
		return n
	}
	return byScore(in.Refs, score)
}

// expectations lists what the gates check.
func expectations(in Input) []string {
	var out []string
	for _, g := range in.Gates {
		verb := "is checked"
		if g.Blocking {
			verb = "has to pass"
		}
		if g.Command != "" {
			out = append(out, fmt.Sprintf("%s %s: `%s`", fence.Line(g.Name), verb, fence.Line(g.Command)))
		} else {
			out = append(out, fmt.Sprintf("%s %s", fence.Line(g.Name), verb))
		}
	}
	if in.Before != nil {
		out = append(out, fmt.Sprintf("at least %d tests must pass, as before this batch; do not delete or skip tests",
			in.Before.Passed))
	}
	return out
}
