package failures

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/tables"
	"github.com/runplan/runplan/internal/wordset"
	"github.com/runplan/runplan/runner"
)

// Observer turns the failures of one run's batches into rows of a store. It is not safe for concurrent use.
//
// A failure is counted after it is in the journal. If the process is killed in between, the failure is never counted: a
// resume passes old events to [Observer.Recall], which does not count them.
type Observer struct {
	Store *Store
	// LineCounts compares two trees or commits, see [git.Repo.LineCounts].
	LineCounts func(ctx context.Context, from, to string) ([]git.LineCount, error)

	batches map[string]*course
}

type course struct {
	failed []failure // in order; each kind once, with its last failed attempt
	left   string    // tree of the current attempt
}

type failure struct{ kind, tree string }

// Recall applies an event of an earlier process, without counting it.
func (o *Observer) Recall(e runner.Event) { o.fold(e) }

// Observe applies an event about the batch with a title. It counts a failure. If a batch merges after failures, it
// stores the fix.
func (o *Observer) Observe(ctx context.Context, title string, e runner.Event) error {
	kind, won := o.fold(e)
	var errs []error
	if kind != "" {
		errs = append(errs, o.Store.Record(title, kind, e.At, Origin{LessonID: lessonOf(kind, e.Reports)}))
	}
	for _, w := range won {
		fix, err := o.fix(ctx, w, e)
		if err == nil {
			err = o.Store.Won(title, w.kind, fix)
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remember the failures of batch %s: %w", e.Batch, err)
	}
	return nil
}

// lessonRule matches the rule names of lesson findings.
var lessonRule = lazyre.New(`^lesson/([0-9]+)$`)

// lessonOf returns the id of the lesson that a failure repeats, or "".
func lessonOf(kind string, reports []gates.Report) string {
	if kind != lessonRepeated {
		return ""
	}
	for _, r := range reports {
		for _, f := range r.Findings {
			if m := lessonRule.FindStringSubmatch(f.Rule); m != nil && f.Severity == gates.Error && !f.Known {
				return m[1]
			}
		}
	}
	return ""
}

// fold returns the failure kind of an event, and the failures that it overcomes.
func (o *Observer) fold(e runner.Event) (kind string, won []failure) {
	if o.batches == nil {
		o.batches = map[string]*course{}
	}
	c := o.batches[e.Batch]
	if c == nil {
		c = &course{}
		o.batches[e.Batch] = c
	}
	switch e.Kind {
	case runner.Reopened:
		delete(o.batches, e.Batch)
	case runner.Executed, runner.Rebased, runner.Gated, runner.Committed:
		c.left = cmp.Or(e.Tree, c.left)
		if kind = TypeOf(e.Reports, e.Outcome, e.Reason); kind != "" {
			c.fail(failure{kind, cmp.Or(e.Tree, e.Base)})
		}
	case runner.Merged:
		switch e.Outcome {
		case runner.OutcomeConflict:
			kind = byOutcome[e.Outcome]
			c.fail(failure{kind, c.left})
		case runner.OutcomeOK:
			won, c.failed = c.failed, nil
		}
	}
	return kind, won
}

func (c *course) fail(f failure) {
	for i := range c.failed {
		if c.failed[i].kind == f.kind {
			c.failed[i] = f
			return
		}
	}
	c.failed = append(c.failed, f)
}

// fix describes the difference between the passed attempt and the last one with this failure.
func (o *Observer) fix(ctx context.Context, was failure, e runner.Event) (string, error) {
	to := cmp.Or(e.Tree, o.batches[e.Batch].left)
	if was.tree == "" || to == "" || o.LineCounts == nil {
		return "", nil
	}
	files, err := o.LineCounts(ctx, was.tree, to)
	if err != nil {
		return "", fmt.Errorf("compare %s with %s: %w", was.tree, to, err)
	}
	return fixOf(files), nil
}

// byOutcome maps outcomes that determine the failure type. "" is not a failure of the batch: the run was stopped, an
// agent met a limit, a person is asked, a tool could not run.
var byOutcome = map[runner.Outcome]string{
	runner.OutcomeTimedOut:  "timeout",
	runner.OutcomeUnchanged: "no change",
	runner.OutcomeConflict:  "conflict",

	runner.OutcomeOK:        "",
	runner.OutcomeChanged:   "",
	runner.OutcomeMoved:     "",
	runner.OutcomeLimited:   "",
	runner.OutcomeHuman:     "",
	runner.OutcomeCancelled: "",
	runner.OutcomeError:     "",
	runner.OutcomeRefused:   "",
}

// lessonRepeated is the failure type of a repeated lesson.
const lessonRepeated = "lesson repeated"

// kind is one entry of the table, which describes the fields. All of its set fields must match.
type kind struct {
	Is, Gate   string
	Rule, Text *lazyre.Regexp
}

//go:embed kinds.toml
var kindTable string

// kinds returns the table.
var kinds = sync.OnceValue(func() []kind {
	var t struct{ Kind []kind }
	tables.Read(kindTable, &t)
	return t.Kind
})

// gateKind is the kind of failure of a gate that is not in the table.
var gateKind = lazyre.New(`^gate [A-Za-z0-9_./:-]+$`)

// Known reports whether [TypeOf] can return a failure type. Anyone may edit the store's file, so other values are
// untrusted text.
func Known(failureType string) bool {
	if failureType == "other" || gateKind.MatchString(failureType) {
		return true
	}
	return slices.ContainsFunc(kinds(), func(k kind) bool { return k.Is == failureType }) ||
		failureType != "" && slices.Contains(slices.Collect(maps.Values(byOutcome)), failureType)
}

// TypeOf returns the failure type of an attempt from its gate reports, its outcome and its reason, by the table in kinds.toml.
// For a failed gate without an entry, the type is the gate's name. "" means that the batch did not fail.
func TypeOf(reports []gates.Report, outcome runner.Outcome, reason string) string {
	if t, ok := byOutcome[outcome]; ok {
		return t
	}
	failed := lists.Filter(reports, func(r gates.Report) bool { return r.Status == gates.Fail })
	for _, k := range kinds() {
		if slices.ContainsFunc(failed, k.holds) {
			return k.Is
		}
	}
	if len(failed) > 0 {
		return line("gate "+failed[0].Gate, maxType)
	}
	for _, k := range kinds() {
		if k.Gate == "" && k.Rule == nil && k.Text.MatchString(reason) {
			return k.Is
		}
	}
	return "other"
}

func (k kind) holds(r gates.Report) bool {
	if k.Gate != "" && r.Gate != k.Gate && !strings.HasPrefix(r.Gate, k.Gate+":") {
		return false
	}
	if k.Rule == nil && k.Text == nil {
		return true
	}
	if k.Text != nil && (k.Text.MatchString(r.Note) || k.Text.MatchString(r.Output)) {
		return true
	}
	for _, f := range r.Findings {
		if f.Severity != gates.Error || f.Known {
			continue
		}
		if k.Rule != nil && k.Rule.MatchString(f.Rule) || k.Text != nil && k.Text.MatchString(f.Message) {
			return true
		}
	}
	return false
}

const namedFiles = 4

// fixOf describes in one line how the passed attempt differs from the failed one: the files and the number of lines. The
// line is empty if no file differs. Binary files count only as files.
func fixOf(files []git.LineCount) string {
	if len(files) == 0 {
		return ""
	}
	names := lists.Map(files, func(f git.LineCount) string { return f.Path })
	slices.Sort(names)
	return line(fmt.Sprintf("with changes in %s (+%d -%d lines)", phrase.Few(names, namedFiles),
		lists.Sum(files, func(f git.LineCount) int { return f.Added }),
		lists.Sum(files, func(f git.LineCount) int { return f.Removed })), maxFix)
}

// Generalise makes a pattern of a batch title: its words in lower case and in their order, without numbers of batches
// and without meaningless words. "Batch 4b: Integration wiring for the API" is "integration wiring api". The title "A"
// counts as a name. A title without meaningful words gives "".
func Generalise(title string) string { return strings.Join(words(title), " ") }

// stopWords lists words without information about the work.
var stopWords = wordset.New("a an and as at by for from in into its of on or our so that the their then this to up via with " +
	"batch batches chunk part phase step task tasks wave")

// words returns the meaningful words of a title in their order.
func words(title string) []string {
	var out []string
	all := strings.FieldsFunc(strings.ToLower(title),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
	for _, w := range all {
		if !stopWords.Has(w) && !batchNumber(w) {
			out = append(out, w)
		}
	}
	if len(out) == 0 && len(all) == 1 && stopWords.Has(all[0]) && len(all[0]) == 1 { // "A" is a name
		return all
	}
	return out
}

// batchNumber reports whether a word is only a number of a batch or task: "3", "4b", "p5" and "t001" are, "404",
// "utf8" and "sha256" are not.
func batchNumber(w string) bool {
	digits := strings.TrimLeftFunc(w, unicode.IsLetter)
	before := len([]rune(w)) - len([]rune(digits))
	number := strings.TrimRightFunc(digits, unicode.IsLetter)
	after := len([]rune(digits)) - len([]rune(number))
	if number == "" || strings.ContainsFunc(number, func(r rune) bool { return !unicode.IsDigit(r) }) || before+after > 1 {
		return false
	}
	return len(number) <= 2 || before == 1 && number[0] == '0'
}

// similarity returns the similarity of two titles by their sorted words, from 0 to 1: the share of common words.
// Titles without words match none.
func similarity(a, b []string) float64 {
	common := 0
	for _, w := range a {
		if _, ok := slices.BinarySearch(b, w); ok {
			common++
		}
	}
	all := len(a) + len(b) - common
	if all == 0 {
		return 0
	}
	return float64(common) / float64(all)
}
