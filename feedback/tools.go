package feedback

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/jsondoc"
	"github.com/runplan/runplan/internal/lists"
)

// Tool is a single operation of the loop: one JSON object in, one out (FIX-26). It calls the same function as the
// driver.
type Tool struct {
	Name string
	What string
	Acts bool // it writes, so it needs trust
	Do   func(ctx context.Context, d *Driver, p Parts, in []byte) (any, error)
}

// InputError reports invalid input of a tool.
type InputError struct{ Err error }

func (e *InputError) Error() string { return "read the input of the tool: " + e.Err.Error() }
func (e *InputError) Unwrap() error { return e.Err }

// tool makes a [Tool] from a function with typed input and result.
func tool[In, Out any](name, what string, acts bool, do func(context.Context, *Driver, Parts, In) (Out, error)) Tool {
	return Tool{name, what, acts, func(ctx context.Context, d *Driver, p Parts, raw []byte) (any, error) {
		var in In
		if err := jsondoc.Decode(raw, &in); err != nil {
			return nil, &InputError{err}
		}
		return do(ctx, d, p, in)
	}}
}

type byID struct {
	ID string `json:"id"`
}

// at returns a row with its story.
func (d *Driver) at(ctx context.Context, id string) (Item, story, error) {
	row, err := d.Store.Get(ctx, id)
	if err != nil {
		return Item{}, story{}, err
	}
	i, err := Read(row)
	if err != nil {
		return i, story{}, err
	}
	s, err := i.tell()
	return i, s, err
}

// onRow makes the function of a tool that takes a row.
func onRow[Out any](do func(context.Context, *Driver, Parts, Item, story) (Out, error)) func(context.Context, *Driver,
	Parts, byID) (Out, error) {
	return func(ctx context.Context, d *Driver, p Parts, in byID) (out Out, err error) {
		i, s, err := d.at(ctx, in.ID)
		if err != nil {
			return out, err
		}
		return do(ctx, d, p, i, s)
	}
}

// needs reports that a row has not reached the stage that a tool needs.
func needs(id string, what Stage) error {
	return refuse("runplan self-fix process "+id+" does that", "feedback %s has no result of %s", id, what)
}

// Verdict is the result of is_plan_large_job.
type Verdict struct {
	Large bool   `json:"large"`
	Why   string `json:"why,omitempty"`
}

// Tools lists the operations.
func Tools() []Tool {
	return []Tool{
		tool("triage_feedback", `{"body"}: the kind of fix that a text needs; asks a model`, false,
			func(ctx context.Context, d *Driver, _ Parts, in struct {
				Body string `json:"body"`
			}) (Triage, error) {
				return d.Stages.Triage(ctx, Item{Body: in.Body})
			}),
		tool("localise_feedback", `{"body", "candidate_files"}: the places that it concerns`, false,
			func(ctx context.Context, d *Driver, _ Parts, in struct {
				Body  string   `json:"body"`
				Files []string `json:"candidate_files"`
			}) (Places, error) {
				return d.Stages.Localise(ctx, Item{Body: in.Body}, Triage{CandidateFiles: in.Files})
			}),
		tool("draft_fix_plan", `{"id"}: a plan for a feedback that is triaged and localised; asks a model`, true,
			onRow(func(ctx context.Context, d *Driver, _ Parts, i Item, s story) (Plan, error) {
				if s.triage == nil || s.places == nil || i.Status != Triaged {
					return Plan{}, needs(i.ID, StageLocalise)
				}
				if s.plan != nil {
					return *s.plan, nil
				}
				return d.Stages.Plan(ctx, i,
					PlanRequest{Triage: *s.triage, Places: *s.places, Round: s.rounds + 1, Refused: s.refusals})
			})),
		tool("is_plan_large_job", `a plan: whether its owner has to approve it`, false,
			func(_ context.Context, _ *Driver, _ Parts, in Plan) (Verdict, error) {
				large, why := IsLarge(in)
				return Verdict{large, why}, nil
			}),
		tool("apply_self_fix", `{"id"}: run the plan of a feedback that is ready`, true,
			onRow(func(ctx context.Context, d *Driver, _ Parts, i Item, s story) (Fix, error) {
				if s.plan == nil {
					return Fix{}, needs(i.ID, StagePlan)
				}
				by, err := d.Stages.Agreed(ctx, i, *s.plan)
				if err != nil {
					return Fix{}, err
				}
				if large, why := IsLarge(*s.plan); large && by == "" {
					return Fix{}, refuse("runplan self-fix approve "+i.ID,
						"the plan is a large job (%s), and its owner did not approve it", why)
				}
				return d.Stages.Fix(ctx, i, *s.plan)
			})),
		tool("write_self_fix_regression_test", `{"id"}: the plan for the runner, which asks for the regression test first`,
			true, onRow(func(ctx context.Context, d *Driver, p Parts, i Item, s story) (Written, error) {
				if s.plan == nil {
					return Written{}, needs(i.ID, StagePlan)
				}
				file, err := p.Fixer.Write(i.Body, *s.plan)
				return Written{Branch(i.ID), s.plan.Test.Path, file}, err
			})),
		tool("verify_differential", `{"base", "tip", "test"}: whether a test fails on one commit and passes on the other`,
			false, func(ctx context.Context, _ *Driver, p Parts, in struct {
				Base string `json:"base"`
				Tip  string `json:"tip"`
				Test string `json:"test"`
			}) (Differential, error) {
				base, err := resolve(ctx, p, in.Base)
				if err != nil {
					return Differential{}, err
				}
				tip, err := resolve(ctx, p, in.Tip)
				if err != nil {
					return Differential{}, err
				}
				return CheckDifferential(ctx, p.Differ, base, tip, in.Test)
			}),
		tool("publish_self_fix_pr", `{"id"}: open the draft change request of a reviewed fix`, true,
			onRow(func(ctx context.Context, d *Driver, _ Parts, i Item, s story) (Published, error) {
				if s.review == nil || !s.review.ok() {
					return Published{}, needs(i.ID, StageReview)
				}
				return d.Stages.Publish(ctx, i, Change{*s.triage, *s.plan, *s.fix, *s.differ, *s.review})
			})),
		tool("record_self_fix_pr", `{"id", "url"}: record a change request that was opened by hand`, true,
			func(ctx context.Context, d *Driver, _ Parts, in struct {
				ID  string `json:"id"`
				URL string `json:"url"`
			}) (Item, error) {
				return d.RecordPR(ctx, in.ID, in.URL)
			}),
		tool("critique_turn_output",
			`{"task", "tool", "input"}: one actionable finding about a step of an agent, or none; asks a model`, false,
			func(ctx context.Context, _ *Driver, p Parts, in Turn) (Critique, error) {
				return p.Critique(ctx, in)
			}),
	}
}

// Turn is a step of an agent, for critique_turn_output.
type Turn struct {
	Task  string          `json:"task"`
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
}

// Critique holds a critic's findings about a step: certain ones, and those kept for a review (FIX-29).
type Critique struct {
	High   []gates.Finding `json:"high_confidence_findings"`
	Kept   []gates.Finding `json:"kept"`
	Looked bool            `json:"looked"` // false for a step that changes nothing
	Note   string          `json:"note"`
}

// Written names the branch, the regression test and the plan file.
type Written struct {
	Branch string `json:"branch"`
	Test   string `json:"regression_test_path"`
	Plan   string `json:"plan"`
}

// ToolNamed finds an operation.
func ToolNamed(name string) (Tool, bool) {
	return lists.Find(Tools(), func(t Tool) bool { return t.Name == name })
}

func resolve(ctx context.Context, p Parts, name string) (string, error) {
	if name == "" || name[0] == '-' {
		return "", &InputError{fmt.Errorf("%q is not a commit", name)}
	}
	commit, err := p.Fixer.Repo.Resolve(ctx, name)
	if err == nil && commit == "" {
		err = &InputError{fmt.Errorf("commit %q not found", name)}
	}
	return commit, err
}
