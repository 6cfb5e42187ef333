package gates

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
)

// Verdict holds the results of all gates of a [Run].
type Verdict struct {
	// Status is the worst status of the reports: fail, warn, pass, or skipped if no gate checked anything. It is
	// empty if a gate could not run, which is neither a pass nor a failure.
	Status  Status   `json:"status"`
	Reports []Report `json:"reports"`
}

// GateError reports that a gate could not run. It is never a pass and never a failure of the code.
type GateError struct {
	Gate   string
	Err    error
	Report Report // the gate's data so far: its command, its log, the relevant output
}

func (e *GateError) Error() string { return fmt.Sprintf("gate %s could not run: %v", e.Gate, e.Err) }

// Unwrap returns the cause.
func (e *GateError) Unwrap() error { return e.Err }

// ErrTimeLimit is in the chain of a [GateError] whose gate was stopped at its time limit.
var ErrTimeLimit = errors.New("time limit")

// The rules that the pipeline itself finds.
const (
	RuleFewerTests   = "fewer-tests"        // fewer tests pass than before (RUN-07)
	RuleUnknownCount = "test-count-unknown" // the number of tests was known before and no longer is
	RuleNoReason     = "no-finding"         // a gate failed without a finding

	RuleMissingTest = "missing-test"        // a test ran on the base and does not run now
	RuleEditedRed   = "edited-red-test"     // a test failed on the base, and was changed so that it passes
	RuleExpectation = "changed-expectation" // a test passes in its new version and fails in the base's version
)

const (
	maxOutput   = 4 << 10 // of Report.Output
	maxFindings = 200     // maximum of a report; more do not help a reader
	maxMessage  = 2 << 10 // of a finding
)

// Run runs the gates on s, cheap ones first (GATE-01). It passes each report to observe, which may be nil. After a
// blocking failure, the gates of the same cost class still finish, and more expensive gates are reported as skipped. A
// gate that cannot run ends the run with a [GateError]; the verdict then holds the reports so far.
//
// After the test suites and all cheaper gates, [prove] compares the tests that ran with those of the base. It does not
// if a gate has already failed: failing tests no longer pass, and a broken build hides the number of tests. The reports
// of suites, and those that fail only by [Finding.Advice], are passed to observe only after that.
func Run(ctx context.Context, gates []Gate, s Subject, observe func(Report)) (Verdict, error) {
	return run(ctx, gates, s, observe, false)
}

// run implements [Run]. With onwards, a failure of a gate that only reads files does not stop later gates.
func run(ctx context.Context, gates []Gate, s Subject, observe func(Report), onwards bool) (Verdict, error) {
	order := slices.Clone(gates)
	slices.SortStableFunc(order, func(a, b Gate) int { return int(a.Info().Cost) - int(b.Info().Cost) })
	judge := -1 // the tests are compared after this gate
	for i, g := range order {
		if g.Info().Cost <= Costly {
			judge = i
		}
	}

	v := Verdict{Reports: make([]Report, 0, len(order))}
	if observe == nil {
		observe = func(Report) {}
	}
	var waiting []int // indexes of the reports that are not shown yet
	release := func() {
		for _, i := range waiting {
			observe(v.Reports[i])
		}
		waiting = nil
	}
	early, stop := begin(ctx, order, s, onwards)
	defer stop()
	failed, failedCost := "", Cost(0)
	take := func(i int, info Info, rep Report) {
		rep = Join(rep, v.Reports)
		rep.Quiet = rep.Status == Skipped && info.Quiet
		v.Reports = append(v.Reports, rep)
		if i <= judge && (rep.Tests != nil || IsSuite(rep.Gate) || rep.Status == Fail && !rep.decided()) {
			waiting = append(waiting, len(v.Reports)-1)
		} else {
			observe(rep)
		}
		if failed == "" && rep.decided() && (!onwards || info.Cost > Instant) {
			failed, failedCost = rep.Gate, info.Cost
		}
	}
	var late []pending // gates that still run when the next one starts, and those after them that needed no program
	earlier := func() []Report {
		all := slices.Clone(v.Reports)
		for _, a := range late {
			if a.rep != nil {
				all = append(all, *a.rep)
			}
		}
		return all
	}
	for i, g := range order {
		info := g.Info()
		answer := early[i]
		if answer != nil && !info.Blocking && failed == "" && i != judge && i+1 < len(order) {
			late = append(late, pending{gate: i})
			continue
		}
		var rep Report
		var err error
		switch {
		case failed != "" && info.Cost > failedCost:
			rep = Report{Gate: info.Name, Status: Skipped, Note: failed + " failed first", Command: info.Command}
		case answer != nil:
			rep, err = answer()
		default:
			now := s
			now.Earlier = earlier()
			rep, err = check(ctx, g, info, now)
		}
		if err == nil && len(late) > 0 && info.Command == "" && !rep.decided() && i != judge && i+1 < len(order) {
			late = append(late, pending{i, &rep})
			continue
		}
		for _, a := range late {
			if a.rep == nil {
				r, lateErr := early[a.gate]()
				if lateErr != nil {
					release()
					return v, lateErr
				}
				a.rep = &r
			}
			take(a.gate, order[a.gate].Info(), *a.rep)
		}
		late = nil
		if err != nil {
			release()
			return v, err
		}
		take(i, info, rep)
		if i != judge {
			continue
		}
		if v.comparable() {
			shown := len(v.Reports)
			if err := prove(ctx, &v, s); err != nil {
				release()
				return v, err
			}
			for n := shown; n < len(v.Reports); n++ {
				waiting = append(waiting, n)
			}
		}
		release()
		for _, r := range v.Reports {
			if failed == "" && r.Status == Fail {
				failed, failedCost = r.Gate, Costly
			}
		}
	}
	v.Status = worst(v.Reports)
	return v, nil
}

// pending is a gate whose report is not taken yet, so that reports keep the order of the gates.
type pending struct {
	gate int     // index
	rep  *Report // nil if it still runs
}

// maxSuites limits how many suites run at the same time, if they are [Info.Parallel].
const maxSuites = 2

// begin starts gates early: programs that read only the tree and cannot fail. No other gate depends on their answers.
// So they run in parallel with the gates before them and with the next one that runs a program.
//
// With suites, the first test suite that shares neither locks nor output with other tools runs in parallel with the
// gates before it. If it is [Info.Parallel], so do others like it, at most [maxSuites] at a time and in their order. If
// a linter fails, the suites are stopped and reported as skipped. stop ends every gate that nothing waited for.
func begin(ctx context.Context, order []Gate, s Subject, suites bool) (early map[int]func() (Report, error),
	stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	early = map[int]func() (Report, error){}
	start := func(i int) (run func()) {
		var rep Report
		var err error
		done := make(chan struct{})
		early[i] = func() (Report, error) { <-done; return rep, err }
		return func() {
			defer close(done)
			rep, err = check(ctx, order[i], order[i].Info(), s)
		}
	}
	var waiting []func() // suites, in their order
	parallel := false    // they may run at the same time
	for i, g := range order {
		info := g.Info()
		switch {
		case i == 0 || info.Command == "":
		case info.Pure && !info.Blocking && info.Cost <= Cheap:
			all.Go(start(i))
		case suites && info.WithLinters && (len(waiting) == 0 || parallel && info.Parallel):
			parallel = info.Parallel
			waiting = append(waiting, start(i))
		}
	}
	queue := make(chan func(), len(waiting))
	for _, run := range waiting {
		queue <- run
	}
	close(queue)
	for range min(maxSuites, len(waiting)) {
		all.Go(func() {
			for run := range queue {
				run()
			}
		})
	}
	return early, func() { cancel(); all.Wait() }
}

// comparable reports whether the tests can be compared with those of the base: no gate failed, or only suites did,
// because of other findings than a test or a build.
func (v Verdict) comparable() bool {
	for _, r := range v.Reports {
		if r.decided() && !covers("plan", r.Gate) &&
			(!IsSuite(r.Gate) || slices.ContainsFunc(r.Findings, func(f Finding) bool {
				return f.Severity == Error &&
					(f.Rule == ruleTest || f.Rule == RuleBuild || f.Rule == ruleExit || f.Rule == RuleNoReason)
			})) {
			return false
		}
	}
	return true
}

// decided reports whether a report fails because of more than advice.
func (r Report) decided() bool {
	return r.Status == Fail &&
		slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity == Error && !f.Advice })
}

// check runs one gate and makes its report valid, also for gates of third parties.
func check(ctx context.Context, g Gate, info Info, s Subject) (rep Report, err error) {
	if ctx.Err() != nil {
		return Report{}, &GateError{Gate: info.Name, Err: fmt.Errorf("stopped before it began: %w", context.Cause(ctx))}
	}
	began := time.Now()
	defer func() {
		if p := recover(); p != nil { // one bad gate must not take the run and its journal with it
			rep, err = Report{}, &GateError{Gate: info.Name, Err: fmt.Errorf("it crashed: %v", p)}
		}
	}()
	rep, err = g.Check(ctx, s)
	rep.Gate = info.Name
	if rep.Duration <= 0 {
		rep.Duration = time.Since(began)
	}
	rep = tidy(rep, s.Redact)
	if err != nil {
		rep.Status = "" // neither a pass nor a failure
		return Report{}, &GateError{Gate: info.Name, Err: err, Report: rep}
	}
	switch rep.Status {
	case Pass, Fail, Warn, Skipped:
	default:
		err := fmt.Errorf("it answered with the unknown status %q", rep.Status)
		return Report{}, &GateError{Gate: info.Name, Err: err, Report: rep}
	}
	return settle(rep, info.Blocking), nil
}

// settle makes status and findings consistent: an error blocks, and a failure has a reason.
func settle(rep Report, blocking bool) Report {
	errs := slices.ContainsFunc(rep.Findings, func(f Finding) bool { return f.Severity == Error })
	if errs && rep.Status != Skipped {
		rep.Status = Fail
	}
	if rep.Status == Fail && !errs {
		rep.Findings = append(rep.Findings,
			Finding{Rule: RuleNoReason, Severity: Error, Message: cmp.Or(rep.Note, "failed without a finding")})
	}
	if rep.Status == Fail && !blocking {
		rep.Status = Warn
		rep.AddNote("advisory: it failed but does not block")
		for i := range rep.Findings {
			if rep.Findings[i].Severity == Error {
				rep.Findings[i].Severity = Warning
			}
		}
	}
	if rep.Status == Skipped && rep.Note == "" {
		rep.Note = "no reason given"
	}
	return rep
}

// Join removes a finding from rep if another gate has reported it for the same line. See [Finding.Same].
func Join(rep Report, others []Report) Report {
	n := len(rep.Findings)
	rep.Findings = slices.DeleteFunc(slices.Clone(rep.Findings), func(f Finding) bool {
		return f.Same != "" && slices.ContainsFunc(others, func(o Report) bool {
			return slices.ContainsFunc(o.Findings,
				func(g Finding) bool { return g.Rule == f.Same && g.Path == f.Path && g.Line == f.Line })
		})
	})
	if n > len(rep.Findings) && rep.Status == Warn &&
		!slices.ContainsFunc(rep.Findings, func(f Finding) bool { return f.Severity != Note }) {
		rep.Status = Pass
	}
	return rep
}

// tidy limits the size of a report and removes secrets and control codes.
func tidy(rep Report, hide func(string) string) Report {
	clean := func(s string, n int) string {
		if hide != nil {
			s = hide(s)
		}
		return phrase.Fit(redact.Clean(s), n)
	}
	rep.Note = clean(rep.Note, maxMessage)
	rep.Output = clean(rep.Output, maxOutput)
	rep.Command = clean(rep.Command, maxMessage)
	rep.Findings = slices.Clone(rep.Findings)
	if n := len(rep.Findings); n > maxFindings {
		slices.SortStableFunc(rep.Findings, func(a, b Finding) int { return a.Severity.Rank() - b.Severity.Rank() })
		rep.Findings = rep.Findings[:maxFindings]
		rep.AddNote(fmt.Sprintf("%s omitted", phrase.Count(n-maxFindings, "more finding is", "more findings are")))
	}
	for i := range rep.Findings {
		f := &rep.Findings[i]
		f.Rule, f.Message, f.Fix = clean(f.Rule, 200), clean(f.Message, maxMessage), clean(f.Fix, maxMessage)
		f.Test = clean(f.Test, maxMessage)
		if hide != nil {
			f.Path = hide(f.Path) // an agent chooses the names of files
		}
		if f.Path = redact.Clean(f.Path); path.IsAbs(f.Path) || strings.HasPrefix(f.Path, "../") {
			f.Path = "" // not a place in the tree
		}
		if f.Severity != Error && f.Severity != Warning && f.Severity != Note {
			f.Severity = Error // an unknown severity blocks
		}
		f.Line, f.Col = max(0, f.Line), max(0, f.Col)
	}
	return rep
}

func worst(reports []Report) Status {
	out := Skipped
	for _, r := range reports {
		if statusRank(r.Status) > statusRank(out) {
			out = r.Status
		}
	}
	return out
}

func statusRank(s Status) int { return slices.Index([]Status{Skipped, Pass, Warn, Fail}, s) }

// Rank orders severities, the worst first. An unknown one blocks.
func (s Severity) Rank() int { return max(0, slices.Index([]Severity{Error, Warning, Note}, s)) }

// OK reports whether the tree may be kept: no gate failed, and each gate ran or was skipped with a reason.
func (v Verdict) OK() bool { return v.Status == Pass || v.Status == Warn || v.Status == Skipped }

// Blocking returns the findings that stop the batch.
func (v Verdict) Blocking() []Finding {
	var out []Finding
	for _, r := range v.Reports {
		out = append(out, r.blocking()...)
	}
	return out
}

func (r Report) blocking() []Finding {
	if r.Status != Fail {
		return nil
	}
	return lists.Filter(r.Findings, func(f Finding) bool { return f.Severity == Error })
}

// Tests adds up the test counts of all reports; nil if no report has one.
func (v Verdict) Tests() *TestCount {
	var sum *TestCount
	for _, r := range v.Reports {
		if r.Tests == nil {
			continue
		}
		if sum == nil {
			sum = &TestCount{}
		}
		sum.Passed += r.Tests.Passed
		sum.Failed += r.Tests.Failed
		sum.Skipped += r.Tests.Skipped
	}
	return sum
}
