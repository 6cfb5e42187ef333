package run

import (
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/report"
)

// decisions writes the decision log during a run (ROUTE-10).
type decisions struct {
	report.Decisions
	log *routing.Log
}

// openDecisions opens the log. For a new run it first writes the routing decision.
func (x *Execution) openDecisions() (*decisions, error) {
	log, err := routing.OpenLog(x.Project.Layout.DecisionLog(), x.now)
	if err != nil {
		return nil, cli.Fail(cli.ExitCannotRun, err, "")
	}
	d := &decisions{log: log}
	err = log.Begin(x.Run, x.Info.Plan)
	if err == nil {
		err = log.AddLines(x.LogLines()...)
	}
	if err != nil {
		log.Close()
		return nil, cli.Fail(cli.ExitCannotRun, err, "")
	}
	return d, nil
}

// Recall replays an event of an earlier session, which the log already has.
func (d *decisions) Recall(ev runner.Event) { d.Lines(ev) }

// Event logs the decisions of an event. It ignores write errors, because the log is for people and the journal is
// complete.
func (d *decisions) Event(ev runner.Event) { _ = d.log.AddLines(d.Lines(ev)...) }

func (d *decisions) Close() { d.log.Close() }
