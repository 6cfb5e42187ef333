package logged

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/agents/stream"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/training"
)

// TrajectoryVersion is the version of the Agent Trajectory Interchange Format that [Trajectories] writes.
const TrajectoryVersion = "ATIF-v1.7"

// Trajectory is one attempt of an agent at a batch, in the Agent Trajectory Interchange Format.
type Trajectory struct {
	Version string           `json:"schema_version"`
	Session string           `json:"session_id"`
	ID      string           `json:"trajectory_id"`
	Agent   TrajectoryAgent  `json:"agent"`
	Steps   []TrajectoryStep `json:"steps"`
	Final   *FinalMetrics    `json:"final_metrics,omitempty"`
	Extra   Outcome          `json:"extra"`
}

// TrajectoryAgent is the agent of a trajectory.
type TrajectoryAgent struct {
	Name    string `json:"name"`
	Version string `json:"version"` // "unknown" if its log does not have it
	Model   string `json:"model_name,omitempty"`
}

// TrajectoryStep holds the brief, or one turn of the agent with its tool calls and their results.
type TrajectoryStep struct {
	ID      int          `json:"step_id"` // from 1
	Source  string       `json:"source"`  // user, agent or system
	Message string       `json:"message"`
	Calls   []ToolCall   `json:"tool_calls,omitempty"`
	Seen    *Observation `json:"observation,omitempty"`
}

// ToolCall is a call of a tool.
type ToolCall struct {
	ID        string         `json:"tool_call_id"`
	Name      string         `json:"function_name"`
	Arguments map[string]any `json:"arguments"`
}

// Observation holds the results of tools.
type Observation struct {
	Results []ToolResult `json:"results"`
}

// ToolResult holds the output of one call.
type ToolResult struct {
	Call    string `json:"source_call_id,omitempty"`
	Content string `json:"content"`
}

// FinalMetrics holds the sums of an attempt. Unknown values are omitted.
type FinalMetrics struct {
	Prompt     *int64   `json:"total_prompt_tokens,omitempty"` // including cached tokens
	Completion *int64   `json:"total_completion_tokens,omitempty"`
	Cached     *int64   `json:"total_cached_tokens,omitempty"`
	Cost       *float64 `json:"total_cost_usd,omitempty"`
	Steps      int      `json:"total_steps"`
}

// Outcome is the result of the attempt.
type Outcome struct {
	Repo      string    `json:"repo"`
	License   string    `json:"license,omitempty"`
	Run       string    `json:"run"`
	Batch     string    `json:"batch"`
	Attempt   int       `json:"attempt"`
	Candidate int       `json:"candidate,omitempty"`
	Variant   string    `json:"variant,omitempty"`
	Base      string    `json:"base_commit"`
	Reward    *float64  `json:"reward"`  // 1 if the gates passed it, 0 if not; null: no gate judged it
	Merged    bool      `json:"merged"`  // this attempt was merged
	Receipt   string    `json:"receipt"` // sha256 of the receipt of the batch
	At        time.Time `json:"at"`
}

// Trajectories yields the attempts of agents at the batches that a receipt proves, with a name for each. format
// returns the format of an agent's log. It returns the counts of all attempts.
func Trajectories(ctx context.Context, s Source, o Options, format func(agent string) stream.Format,
	yield func(name string, t Trajectory) error) (training.Tally, error) {
	b := newBuild(ctx, s, o, nil)
	defer b.objects.Close()
	err := b.open(ctx)
	if err != nil {
		return b.tally, err
	}
	err = b.each(ctx, func(r *run, m *batch, p *proof) error {
		for _, a := range m.attempts {
			if err := b.refuse(a.where(), b.trajectory(r, m, a, p, format, yield)); err != nil {
				return err
			}
		}
		return nil
	})
	return b.tally, err
}

// trajectory yields the trajectory of one attempt, or returns why there is none.
func (b *build) trajectory(r *run, m *batch, a *attempt, p *proof, format func(string) stream.Format,
	yield func(string, Trajectory) error) error {
	brief, err := b.brief(a)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%s-%s-a%d", r.id, m.key, a.made.Attempt)
	if a.made.Candidate > 0 {
		name += fmt.Sprintf("-c%d", a.made.Candidate)
	}
	t := Trajectory{
		Version: TrajectoryVersion, Session: r.id + "/" + m.key, ID: name,
		Agent: TrajectoryAgent{Name: cmp.Or(a.made.Agent, r.info.Agent, "unknown"), Version: "unknown", Model: a.made.Model},
		Steps: []TrajectoryStep{{ID: 1, Source: "user", Message: b.hide(brief)}},
		Extra: Outcome{Repo: b.Name, License: b.License, Run: r.id, Batch: m.key, Attempt: a.made.Attempt,
			Candidate: a.made.Candidate, Variant: a.made.Variant, Base: a.made.Base, Reward: verdictOf(a.passed),
			Merged: a == m.winner(), Receipt: p.sum, At: a.made.At},
	}
	log, err := b.Journal.Attached(a.made, journal.LogFile, journal.MaxFile)
	switch {
	case errors.Is(err, journal.ErrFileChanged):
		return fileChanged
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if b.follow(&t, log, format(t.Agent.Name)); len(t.Steps) == 1 {
		return noLog
	}
	t.Final = sums(a.made.Usage, len(t.Steps))
	text, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("%s: %w", a.where(), err)
	}
	if found, ok := b.Guard.Canary.Find(string(text)); ok {
		return &training.LeakError{Name: found, Example: name, Place: "trajectory"}
	}
	b.tally.Examples++
	return yield(name, t)
}

// hide removes control codes, secrets and mail addresses.
func (b *build) hide(text string) string {
	return training.HideAddresses(b.Guard.Redact(redact.Clean(text)))
}

// follow reads the log of an agent into steps. The log of a program whose output runplan cannot read is one message.
func (b *build) follow(t *Trajectory, log []byte, format stream.Format) {
	p := stream.New(format, time.Now).WithOutput()
	_, _ = p.Write(log) // it never fails
	p.Close()
	for _, e := range p.Take() {
		b.event(t, e)
	}
	totals := p.Totals()
	t.Agent.Version, t.Agent.Model = cmp.Or(totals.Version, t.Agent.Version), cmp.Or(totals.Model, t.Agent.Model)
}

// event adds an agent's event to the steps: each text begins a turn, and so does a call after a result.
func (b *build) event(t *Trajectory, e stream.Event) {
	turn := func(message string) *TrajectoryStep {
		t.Steps = append(t.Steps, TrajectoryStep{ID: len(t.Steps) + 1, Source: "agent", Message: message})
		return &t.Steps[len(t.Steps)-1]
	}
	last := &t.Steps[len(t.Steps)-1]
	switch e.Kind {
	case stream.Text:
		text := b.hide(e.Text)
		if last.Source == "agent" && len(last.Calls) == 0 { // a message in pieces
			last.Message += "\n" + text
			return
		}
		turn(text)
	case stream.Tool:
		if last.Source != "agent" || last.Seen != nil {
			last = turn("")
		}
		last.Calls = append(last.Calls, ToolCall{Name: b.hide(e.Tool), Arguments: b.arguments(e),
			ID: cmp.Or(e.Call, fmt.Sprintf("call-%d-%d", len(t.Steps), len(last.Calls)+1))})
	case stream.Output:
		for i := len(t.Steps) - 1; i > 0; i-- {
			s := &t.Steps[i]
			for _, c := range s.Calls {
				if c.ID != e.Call {
					continue
				}
				if s.Seen == nil {
					s.Seen = &Observation{}
				}
				s.Seen.Results = append(s.Seen.Results, ToolResult{c.ID, b.hide(e.Text)})
				return
			}
		}
	}
}

// arguments returns the arguments of a call as an object.
func (b *build) arguments(e stream.Event) map[string]any {
	out := map[string]any{}
	if text := b.hide(e.Input); json.Unmarshal([]byte(text), &out) != nil || len(out) == 0 && text != "{}" && text != "" {
		return map[string]any{"input": text}
	}
	if out == nil { // null
		out = map[string]any{}
	}
	return out
}

// sums converts the usage of an attempt. It omits unknown values.
func sums(u *agents.Usage, steps int) *FinalMetrics {
	f := &FinalMetrics{Steps: steps}
	if u == nil {
		return f
	}
	for _, n := range []*int64{u.InputTokens, u.CacheReadTokens, u.CacheWriteTokens} {
		if n == nil {
			continue
		}
		if f.Prompt == nil {
			f.Prompt = new(int64)
		}
		*f.Prompt += *n
	}
	f.Completion, f.Cached, f.Cost = u.OutputTokens, u.CacheReadTokens, u.CostUSD
	return f
}
