// Package baseline separates new failures of a change from failures that existed before.
//
// If a gate fails, it also runs on the change's base commit. A failing test or a finding that both sides have is known:
// it is shown, warns and does not block. The exit status does not count here: a suite that failed before may have one
// more failing test now.
package baseline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lists"
)

// ErrNoGate says that the base does not have the gate, because the checked project is new.
var ErrNoGate = errors.New("the base does not have this gate")

// Look runs a gate on the base and returns its report. name is the name of the gate.
type Look func(ctx context.Context, gate string) (gates.Report, error)

// Around wraps g: failures that look also finds on the base count as known. at is the name of the base in messages.
func Around(g gates.Gate, at string, look Look) gates.Gate {
	return gates.Wrap(g, func(ctx context.Context, s gates.Subject) (gates.Report, error) {
		return check(ctx, g, s, at, look)
	})
}

func check(ctx context.Context, g gates.Gate, s gates.Subject, at string, look Look) (gates.Report, error) {
	info := g.Info()
	rep, err := g.Check(ctx, s)
	if errors.Is(err, gates.ErrHindered) && len(info.Tools) > 0 && !gates.IsSuite(info.Name) {
		return unready(ctx, rep, err, info, look)
	}
	if err != nil || rep.Status != gates.Fail {
		return rep, err
	}
	before, err := look(ctx, info.Name)
	switch {
	case ctx.Err() != nil:
		return rep, context.Cause(ctx)
	case errors.Is(err, ErrNoGate):
		return rep, nil
	case err != nil:
		rep.AddNote(fmt.Sprintf("it is unknown whether it failed before, at %s: %v", at, err))
		return rep, nil
	}
	if said := missingPackage(rep, before, s); said != "" {
		return rep, fmt.Errorf("%w: a package is not installed, which the base, %s, needs as well: %s; install what the "+
			"project depends on, or let [workspace] setup do it", gates.ErrHindered, at,
			said)
	}
	if at, said := missingSubmodule(rep, before, s); at != "" {
		return rep, fmt.Errorf("%w: the submodule %s is not checked out, and the base needs it as well: %s; run git "+
			"submodule update --init where the network allows it", gates.ErrHindered, at, said)
	}
	if said := crash(info, rep, before, s); said != "" && !info.Untouched(s.Changed) {
		cure := "correct and commit it"
		if s.Batch.Key != "" {
			cure += ", or name the file in the batch that corrects it"
		}
		return rep, fmt.Errorf("the test command ends before any test, as it did at the base, %s, so no change can be "+
			"judged: %s; %s", at, strings.TrimSuffix(said, "."), cure)
	}
	apart := info.Untouched(s.Changed)
	if s.Batch.Key != "" && rep.Tests != nil && rep.Tests.Passed == 0 && !(apart && nonePass(before)) &&
		slices.ContainsFunc(rep.Findings, func(f gates.Finding) bool { return f.Severity == gates.Error }) {
		// If no test passes in the batch's tree, nothing shows that the code works.
		rep.AddNote("no test passes, so no earlier failure excuses it, at " + at)
		return rep, nil
	}
	// Failures of tests that the batch names always count: to fix them may be its purpose.
	from, err := moved(ctx, s)
	if err != nil {
		return rep, err
	}
	return compare(info.Name, rep, before, at, from, func(f gates.Finding) bool {
		alone := Unbuilt(f) && !concerns(s, f.Path+" "+f.Message) && !inPackage(f.Path, s.Changed)
		return (Tells(f) || apart && neverBuilt(f, rep, before) || alone) && (s.Batch.Key == "" || !s.Answers(info, f))
	}), nil
}

// unready reports a linter that cannot run, as on the base, like a linter that is not installed: as skipped.
func unready(ctx context.Context, rep gates.Report, err error, info gates.Info, look Look) (gates.Report, error) {
	if _, before := look(ctx, info.Name); !errors.Is(before, gates.ErrHindered) {
		return rep, err
	}
	return gates.Report{Gate: info.Name, Status: gates.Skipped, Note: err.Error() + ", as on the base"}, nil
}

// neverBuilt reports whether f says that code could not be built or tested, and no test ran now or before.
func neverBuilt(f gates.Finding, now, before gates.Report) bool {
	return (f.Rule == gates.RuleBuild || f.Rule == "exit") && untested(now) && untested(before)
}

// nonePass reports whether no test passed.
func nonePass(r gates.Report) bool { return r.Tests == nil || r.Tests.Passed == 0 }

// untested reports whether no test ran.
func untested(r gates.Report) bool { return r.Tests == nil || r.Tests.Total() == 0 }

// moved returns the old path of each file that the change moved.
func moved(ctx context.Context, s gates.Subject) (map[string]string, error) {
	from := map[string]string{}
	if s.Diff == nil {
		return from, nil
	}
	files, _, err := gates.Files(ctx, s.Diff, func(c gates.Change) bool { return c.Status == gates.Added })
	for _, f := range files {
		if f.From != "" {
			from[f.Path] = f.From
		}
	}
	return from, err
}

// compare marks the errors of rep that are also in before as known, and lowers them to warnings. If an error occurs
// more often in rep than in before, the surplus ones stay errors. Findings that may does not accept do not change. from
// has the old paths of moved files.
func compare(gate string, rep, before gates.Report, at string, from map[string]string,
	may func(gates.Finding) bool) gates.Report {
	had := lists.Counts(before.Findings, func(f gates.Finding) string { return f.Identity(gate) })
	known, left := 0, 0
	findings := make([]gates.Finding, len(rep.Findings))
	for i, f := range rep.Findings {
		was := f
		was.Path = cmp.Or(from[f.Path], f.Path)
		id := was.Identity(gate)
		switch {
		case f.Severity == gates.Error && had[id] > 0 && may(f):
			had[id]--
			known++
			f.Known, f.Severity = true, gates.Warning
		case f.Severity == gates.Error:
			left++
		case had[id] > 0: // an earlier warning counts among the equal findings, too
			had[id]--
		}
		findings[i] = f
	}
	if known == 0 {
		return rep
	}
	rep.Findings = findings
	if left == 0 {
		rep.Status = gates.Warn
	}
	what := "1 finding was"
	if known > 1 {
		what = fmt.Sprintf("%d findings were", known)
	}
	rep.AddNote(fmt.Sprintf("%s already there, at %s", what, at))
	return rep
}

// Tells reports whether a finding has details. If a program failed without details, the cause on the base may have been
// different. A configured gate may also fail on purpose until the work is done. A build failure hides everything else,
// so it is excused only in a project that the change does not touch. See also [Unbuilt].
func Tells(f gates.Finding) bool {
	if f.Rule == gates.RuleBuild {
		return false
	}
	return f.Test != "" || f.Path != "" && (f.Line > 0 || f.Rule != "exit")
}

// Unbuilt reports whether a finding says that a file of Python's tests could not be imported, or one of Go's not be
// compiled. That hides the tests of this file or package only.
func Unbuilt(f gates.Finding) bool {
	return f.Rule == gates.RuleBuild && (path.Ext(f.Path) == ".py" || path.Ext(f.Path) == ".go" && language.IsTest(f.Path))
}

// inPackage reports whether one of the changed files is in the Go package of a test file.
func inPackage(test string, changed []string) bool {
	return path.Ext(test) == ".go" && slices.ContainsFunc(changed, func(c string) bool {
		return path.Dir(c) == path.Dir(test) && path.Ext(c) == ".go"
	})
}
