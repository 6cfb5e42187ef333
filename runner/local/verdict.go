package local

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/held"
	"github.com/runplan/runplan/gates/promise"
	"github.com/runplan/runplan/gates/suite"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/room"
)

// lateRooms holds the rooms of a run, made on first use.
type lateRooms struct {
	once   sync.Once
	made   *Rooms
	err    error
	closed sync.Once
}

// sealed returns the rooms of the run. The first call must come before the first agent, so that only the user's
// state goes into the rooms.
func (w *work) sealed(ctx context.Context) (*Rooms, error) {
	w.rooms.once.Do(func() {
		w.rooms.made, w.rooms.err = NewRooms(context.WithoutCancel(ctx), w.Home, w.Repo, w.Layout, w.pool.setup,
			redact.AgentEnv(w.Environ, []string{"RUNPLAN_GATE_GOCACHE"}), w.Note)
	})
	return w.rooms.made, w.rooms.err
}

// closeRooms removes the rooms of the run, once.
func (w *work) closeRooms(ctx context.Context) {
	w.rooms.once.Do(func() { w.rooms.err = errors.New("the run has ended") })
	w.rooms.closed.Do(func() {
		if err := w.rooms.made.Close(ctx); err != nil {
			w.Note("the rooms of the gates could not be removed: " + err.Error())
		}
	})
}

// envOf returns the environment of programs in a room, with the caller's RUNPLAN_ variables. These identify processes
// that outlive a killed runplan.
func envOf(own, caller []string) []string {
	return append(git.NoUpkeep(slices.Clone(own)),
		lists.Filter(caller, func(kv string) bool { return strings.HasPrefix(kv, "RUNPLAN_") })...)
}

// Gates checks the candidate's tree in a room. If files of the room changed while other agents ran, it runs the gates
// once more.
func (w *work) Gates(ctx context.Context, c runner.Command, p runner.Progress) (runner.Event, error) {
	e := runner.Event{Base: c.Base, Tree: c.Tree}
	b := w.batch(c)
	if w.info.Workers > 1 {
		w.starting.yield(ctx)
	}
	rooms, err := w.sealed(ctx)
	if err != nil {
		return e, err
	}
	verdict, d, err := w.gateIn(ctx, rooms, c, b, p)
	if err == nil && !d.Empty() && !w.alone(c) {
		w.Note(fmt.Sprintf("the gates of batch %s run again: %s changed in their room while others were running", c.Place(),
			slices.Concat(d.Changed, d.Touched, d.Made)[0]))
		verdict, d, err = w.gateIn(ctx, rooms, c, b, p)
	}
	if ctx.Err() != nil {
		return e, context.Cause(ctx)
	}
	if err != nil {
		return e, err
	}
	if rep, bad := roomReport(d); bad {
		verdict.Reports = append(verdict.Reports, rep)
		if rep.Status == gates.Fail {
			verdict.Status = gates.Fail
		}
	}
	w.proofs.remember(c.Tree, verdict)
	e.Reports, e.Tests = w.trim(slices.Concat(verdict.Reports, w.seenOutside(c.Place()), w.critique(c))), verdict.Tests()
	e.Outcome = runner.OutcomeOK
	if !verdict.OK() {
		e.Outcome, e.Reason, e.Fingerprint = runner.OutcomeFailed, w.redact.String(reasonOf(verdict)), verdict.Fingerprint()
		w.keepPatch(ctx, c, c.Tree)
	}
	return e, nil
}

// gateIn runs the gates in a room and returns the changes to the room.
func (w *work) gateIn(ctx context.Context, rooms *Rooms, c runner.Command, b *planparse.Batch,
	p runner.Progress) (gates.Verdict, room.Difference, error) {
	if err := rooms.untouched(); err != nil {
		return gates.Verdict{}, room.Difference{}, err
	}
	rm, err := rooms.Take(ctx, c.Base, c.Tree)
	if err != nil {
		return gates.Verdict{}, room.Difference{}, err
	}
	defer rm.Release()
	compared, changed, err := w.changesOf(ctx, c)
	if err != nil {
		return gates.Verdict{}, room.Difference{}, err
	}
	s := w.on(c.Base)
	s.Dir, s.Tree, s.Changed, s.Batch, s.Before, s.Sealed = rm.Dir, c.Tree, changed, *b, c.Before, true
	s.Env, s.LogDir, s.Diff = envOf(rm.Env, s.Env), w.attemptDir(c), gates.GitCompared(compared)
	s.Literal = literal(w.Agent)
	base := w.baseline(s)
	defer func() {
		if err := base.Close(ctx); err != nil {
			w.Note(err.Error())
		}
	}()
	apart, leave := w.apart(c.Base)
	defer leave()
	list := suite.All(rm.Dir,
		w.promising(b, promise.Options{Tree: rm, Room: apart, Base: w.room(c.Base), Suites: w.commandsOf(rm.Dir),
			RedBefore: w.redBefore(base, rm.Dir), Since: gates.GitDiff(w.Repo, w.info.Base, c.Tree)}))
	if w.Baseline {
		list = base.Around(list)
	}
	list = append(list, w.asked(b, c.Base)...)
	var planted planted
	s.Planted = planted.note
	s, unprove := w.prove(s, base)
	defer unprove()
	idle := !w.Repo.HasUpkeepLock()
	at := &shift{of: fmt.Sprintf("the gates of batch %s", c.Place()), dir: w.attemptDir(c),
		own: w.ownSettings(rm.GitDir())}
	w.begin(at, false)
	s.Fresh = func() ([]string, error) {
		w.told(c, at)
		w.begin(at, false)
		env, err := rm.Fresh()
		return envOf(env, w.marked(nil)), err
	}
	verdict, err := gates.Run(ctx, list, s, func(r gates.Report) { p(c.Batch, fmt.Sprintf("%s: %s", r.Gate, r.Status)) })
	w.dropUpkeepLock(idle)
	w.told(c, at)
	if err != nil || ctx.Err() != nil {
		return verdict, room.Difference{}, err
	}
	if err := rooms.untouched(); err != nil {
		return verdict, room.Difference{}, err
	}
	w.calibrationLost(ctx, s, base, &verdict)
	d, err := rm.Check(ctx)
	if err != nil {
		return verdict, d, err
	}
	if d = rooms.Unexpected(planted.off(d)); !d.Empty() {
		w.habits(ctx, base, verdict)
		d = rooms.Unexpected(d)
	}
	return verdict, d, nil
}

// told ends the shift of the gates and notes their changes outside the room.
func (w *work) told(c runner.Command, at *shift) {
	for _, f := range sharedFindings(w.end(at), "they ran") {
		w.Note("the gates of batch " + c.Batch + ": " + f.Message)
	}
}

// planted collects the files in which gates inserted tests.
type planted struct{ sync.Map }

func (p *planted) note(path string) { p.Store(path, true) }

// off returns d without the files in which gates inserted tests.
func (p *planted) off(d room.Difference) room.Difference {
	d.Touched = lists.Filter(d.Touched, func(path string) bool { _, ours := p.Load(path); return !ours })
	return d
}

// calibrationLost fails suites that were calibrated at the base and no longer are: the change removed the evidence
// that they report failures. If the plan changes the test configuration, it only warns.
func (w *work) calibrationLost(ctx context.Context, s gates.Subject, base *Baseline, v *gates.Verdict) {
	for i := range v.Reports {
		r := &v.Reports[i]
		if r.Proof == nil || r.Proof.Calibration != gates.Uncalibrated || r.Status == gates.Fail ||
			r.Status == gates.Skipped {
			continue
		}
		before, err := base.look(ctx, gates.Info{Name: r.Gate})
		if err != nil || before.Proof == nil || before.Proof.Calibration != gates.Calibrated {
			continue
		}
		f := gates.Finding{
			Rule: "calibration-lost", Severity: gates.Error,
			Message: "the suite no longer shows that it reports failures, as it did before this change: " + r.Proof.Why,
			Fix:     "run the tests in the same way as before",
		}
		if slices.ContainsFunc(s.Changed, func(path string) bool { return DecidesTests(path) && s.Names(path) }) {
			f.Severity = gates.Warning
		}
		r.Findings = append(r.Findings, f)
		if f.Severity == gates.Error {
			r.Status, v.Status = gates.Fail, gates.Fail
		} else if r.Status == gates.Pass {
			r.Status = gates.Warn
		}
	}
}

// habits runs the programs of gates at the base. Files that they also rewrite there do not count as changes.
func (w *work) habits(ctx context.Context, base *Baseline, v gates.Verdict) {
	for _, r := range v.Reports {
		if r.Command == "" {
			continue
		}
		if _, err := base.fresh(ctx, gates.Info{Name: r.Gate}); err != nil {
			w.Note(fmt.Sprintf("it is unknown which files %s rewrites at the base: %v", r.Gate, err))
		}
	}
}

// untouched fails if the linked dependencies of the rooms changed since the start of the run.
func (r *Rooms) untouched() error {
	path, err := r.Watched()
	if err != nil {
		return err
	}
	if path != "" {
		return &gates.GateError{Gate: "room", Err: fmt.Errorf(
			"%s changed since the run began, so the gates have no result, and no failure counts; resume the run to "+
				"use the present dependencies, or set a command in [workspace] setup that installs them", path)}
	}
	return nil
}

// changesOf compares a candidate with its base. Usually the workspace already has the list of changes.
func (w *work) changesOf(ctx context.Context, c runner.Command) (*git.Compared, []string, error) {
	if s := w.pool.peek(c.Place()); s != nil && s.Base == c.Base && s.Tree == c.Tree {
		return s.Compared(c.Base, c.Tree), s.Paths, nil
	}
	compared := w.Repo.Compare(c.Base, c.Tree)
	entries, err := compared.Entries(ctx)
	paths := lists.Map(entries, func(e git.Entry) string { return e.Path })
	return compared, lists.Unique(paths), err
}

// roomReport reports the changes to the files of a room during its gates.
func roomReport(d room.Difference) (gates.Report, bool) {
	rep := gates.Report{Gate: "room", Status: gates.Warn}
	add := func(paths []string, sev gates.Severity, rule, what, fix string) {
		for _, p := range paths[:min(len(paths), 20)] {
			rep.Findings = append(rep.Findings, gates.Finding{Rule: rule, Path: p, Severity: sev, Message: what, Fix: fix})
			if sev == gates.Error {
				rep.Status = gates.Fail
			}
		}
	}
	add(d.Changed, gates.Error, "room/changed",
		"it changed while the gates ran, so they did not check the tree that would be merged",
		"make tests and scripts write to a temporary folder, or commit the files that they write")
	add(d.Made, gates.Error, "room/dependency", "this file of the dependencies changed while the gates ran",
		"do not write to installed dependencies")
	for _, p := range d.Touched {
		sev := gates.Warning
		if DecidesTests(p) {
			sev = gates.Error
		}
		add([]string{p}, sev, "room/rewritten", "it was rewritten while the gates ran, and then restored",
			"do not rewrite files that control how tests run")
	}
	return rep, len(rep.Findings) > 0
}

// DecidesTests reports whether a file contains tests or configures them.
func DecidesTests(path string) bool {
	return language.IsTest(path) || held.Decides(path) ||
		slices.Contains([]string{"package.json", "go.mod", "pyproject.toml", "tox.ini", "setup.cfg", "cargo.toml"},
			strings.ToLower(filepath.Base(path)))
}

// withoutSource removes source files from d. Suites often rewrite data but rarely source code: such a change more
// likely comes from another agent.
func withoutSource(d room.Difference) room.Difference {
	code := func(p string) bool { // suites often rewrite schemas of databases and APIs
		return language.IsCode(p) && !slices.Contains([]string{".sql", ".graphql", ".proto"}, filepath.Ext(p))
	}
	d.Changed = slices.DeleteFunc(slices.Clone(d.Changed), code)
	d.Touched = slices.DeleteFunc(slices.Clone(d.Touched), code)
	return d
}

// on returns the fields that the subjects of all gates share, for changes of base.
func (w *work) on(base string) gates.Subject {
	return gates.Subject{Base: base, Env: w.marked(nil), Timeout: w.GateTimeout, Redact: w.redact.String,
		Reaper: w.Reaper}
}

// baseline returns the checks of a batch's base commit. It caches their results by tree for later attempts.
func (w *work) baseline(s gates.Subject) *Baseline {
	key := func(info gates.Info, s gates.Subject) string { return s.Tree + " " + info.Name }
	remember := func(info gates.Info, s gates.Subject, r gates.Report) { w.before.Put(key(info, s), r) }
	b := &Baseline{
		Repo: w.Repo, Layout: w.Layout, Home: w.Home, Setup: w.pool.setup, Environ: w.Environ, Note: w.Note,
		Settings: w.GateConfig, Subject: s, rooms: w.rooms.made,
		Recall:   func(info gates.Info, s gates.Subject) (gates.Report, bool) { return w.before.Get(key(info, s)) },
		Remember: remember,
	}
	if len(w.GateConfig.When) == 0 && !w.GateConfig.Affected { // else a report may cover only a part
		b.Learn = func(info gates.Info, s gates.Subject, r gates.Report) {
			r.Output = "" // only findings and tests of the base are compared
			remember(info, s, r)
		}
	}
	return b
}
