// Package outcome decides how an attempt ended, for all agents in one place.
//
// It uses evidence in this order: why runplan itself ended the program; the error in the CLI's output; its final event;
// its exit status; the changes in the workspace; and last the standard error of a failed program. The agent's own text
// is not evidence.
package outcome

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/agents/stream"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/redact"
)

// Evidence is the information available after the program has exited.
type Evidence struct {
	Name   string // of the agent, for advice
	Format stream.Format
	Result proc.Result
	Limits agents.Limits
	Totals stream.Totals
	Last   string // the last line of output, for programs without events
	// Lingered means that the program reported its end but did not exit, and was stopped.
	Lingered bool
	Waits    bool   // the program kept retrying against a limit and was stopped
	Runaway  string // why the program was stopped as a runaway, "" if it was not
	Now      time.Time
}

// Verdict is the decision and its reason.
type Verdict struct {
	Outcome agents.Outcome
	Kind    agents.Kind
	Summary string // one line
	RetryAt time.Time
	Rule    string // the rule that decided
}

// Decide decides how the attempt with evidence e ended.
func Decide(e Evidence) Verdict {
	v := decide(e)
	if !v.RetryAt.IsZero() {
		v.RetryAt = v.RetryAt.UTC()
	}
	if left := e.Result.LeftBehind(); left != "" {
		v.Summary += "; " + left
	}
	if e.Lingered {
		v.Summary += "; it did not exit after its last event and was stopped"
	}
	if e.Result.LogErr != nil {
		v.Summary += "; its log is incomplete: " + redact.Clean(e.Result.LogErr.Error())
	}
	return v
}

func decide(e Evidence) Verdict {
	if e.Runaway != "" {
		return Verdict{Outcome: agents.GaveUp, Kind: agents.KindRunaway, Rule: "ended by runplan", Summary: "stopped: " +
			e.Runaway}
	}
	if f := e.Totals.Passing; e.Waits && f != nil {
		return fault(e, f, "ended by runplan")
	}
	if !e.Lingered {
		if v, ok := own(e); ok {
			return v
		}
	}
	if f := e.Totals.Fault; f != nil {
		return fault(e, f, "the reported error")
	}
	if e.Format.Terminal() && !e.Totals.Ended {
		return unfinished(e)
	}
	if v, ok := exit(e); ok {
		return v
	}
	return finished(e)
}

// own returns the verdict for a program that runplan itself ended.
func own(e Evidence) (Verdict, bool) {
	v := Verdict{Rule: "ended by runplan", Outcome: agents.TimedOut}
	switch e.Result.Ended {
	case proc.Total:
		v.Kind, v.Summary = agents.KindTotal, fmt.Sprintf("time limit reached: %s for the whole attempt", e.Limits.Total)
	case proc.Idle:
		v.Kind, v.Summary = agents.KindIdle, fmt.Sprintf("idle limit reached: it printed nothing for %s", e.Limits.Idle)
	case proc.Cancelled:
		v.Outcome, v.Kind, v.Summary = agents.GaveUp, agents.KindCancelled, fmt.Sprintf("stopped: %v", e.Result.Cause)
		return v, true
	default:
		return v, false
	}
	if f := e.Totals.Passing; f != nil && !e.Totals.Ended {
		v.Summary += "; it was retrying after: " + f.Message
	}
	return v, true
}

// cause says what a kind of fault means for the attempt.
type cause struct {
	outcome agents.Outcome
	kind    agents.Kind
	what    string
	todo    string // "" if nothing helps, or if the advice depends on the fault
}

var unknown = cause{agents.GaveUp, agents.KindExit, "it ended with an error", ""}

var causes = map[stream.FaultKind]cause{
	stream.Auth: {agents.NeedsHuman, agents.KindAuth, "not signed in", ""},
	stream.Quota: {agents.NeedsHuman, agents.KindQuota, "the account has no credit left",
		"check its plan or billing"},
	stream.MissingModel: {agents.NeedsHuman, agents.KindMissingModel, "the model does not exist or is not available", ""},
	stream.Usage: {agents.NeedsHuman, agents.KindSettings, "it refused its arguments",
		"check the installed version: runplan doctor"},
	stream.Limit:      {agents.RateLimited, agents.KindLimit, "rate limit", ""},
	stream.Overloaded: {agents.RateLimited, agents.KindOverloaded, "the provider is overloaded", ""},
	stream.Network:    {agents.RateLimited, agents.KindNetwork, "no connection to the provider", ""},
	stream.Server:     {agents.RateLimited, agents.KindServer, "the provider failed", ""},
	stream.Refused: {agents.GaveUp, agents.KindRefused, "the model refused",
		"reword the batch or give it to another agent, a stronger model is not tried"},
	stream.Loop:   {agents.GaveUp, agents.KindRunaway, "runaway attempt", ""},
	stream.Empty:  {agents.GaveUp, agents.KindNoAnswer, "it exited without output", ""},
	stream.Turns:  {agents.GaveUp, agents.KindTurns, "its turn limit was reached", ""},
	stream.Budget: {agents.GaveUp, agents.KindBudget, "its own cost limit was reached", ""},
	stream.Context: {agents.GaveUp, agents.KindContext, "too long for the model's context",
		"split the batch, or choose a model with a larger context"},
}

// fault returns the verdict for an error in the CLI's events or on its standard error.
func fault(e Evidence, f *stream.Fault, rule string) Verdict {
	c, ok := causes[f.Kind]
	if !ok {
		c = unknown
	}
	v := Verdict{Outcome: c.outcome, Kind: c.kind, Rule: rule}
	switch f.Kind {
	case stream.Auth:
		if f.Status == 403 {
			c.what = "no access with this sign-in"
		}
		c.todo = cmp.Or(signIn[e.Format], "set the key of its provider")
	case stream.MissingModel:
		c.todo = "name another in [agents." + cmp.Or(e.Name, "NAME") + ".models]"
	case stream.Limit, stream.Overloaded:
		if v.RetryAt = retryAt(e, f); !v.RetryAt.IsZero() {
			c.todo = "try again at " + v.RetryAt.In(e.Now.Location()).Format("2006-01-02 15:04:05 MST")
		}
	}
	v.Summary = c.what + ": " + f.Message
	if c.todo != "" {
		v.Summary += "; " + c.todo
	}
	return v
}

// retryAt returns when to try again. If f has no time, another fault of the same kind may have one: from an
// earlier try or on standard error.
func retryAt(e Evidence, f *stream.Fault) time.Time {
	if !f.RetryAt.IsZero() {
		return f.RetryAt
	}
	for _, told := range []*stream.Fault{e.Totals.Fault, e.Totals.Passing, stream.FaultInText(complaint(e), e.Now)} {
		if told != nil && told.Kind == f.Kind && told.RetryAt.After(e.Now) {
			return told.RetryAt
		}
	}
	return time.Time{}
}

// unfinished returns the verdict for a CLI that exited without its final event.
func unfinished(e Evidence) Verdict {
	if len(e.Totals.Denials) > 0 && e.Result.OK() {
		return denied(e)
	}
	if v, ok := exit(e); ok {
		return v
	}
	if f := stream.FaultInText(e.Totals.OtherLines, e.Now); f != nil {
		return fault(e, f, "its standard error")
	}
	v := Verdict{Outcome: agents.Failed, Kind: agents.KindCut, Rule: "its last event is missing"}
	v.Summary = "it exited with status 0 but without its last event, so its work may be incomplete"
	if e.Totals.Events == 0 {
		v.Summary = "it exited with status 0 without printing an event"
	}
	if f := e.Totals.Passing; f != nil {
		v.Summary += "; before that: " + f.Message
	}
	return v
}

// exit returns the verdict of the exit status; false if the status decides nothing.
func exit(e Evidence) (Verdict, bool) {
	v := Verdict{Outcome: agents.GaveUp, Rule: "exit status"}
	switch {
	case e.Lingered || e.Result.OK():
		return v, false
	case e.Result.Ended == proc.Signaled:
		v.Summary = "killed by " + e.Result.Signal
		if e.Format != stream.Plain {
			v.Outcome, v.Kind = agents.Failed, agents.KindCrash
		}
		return v, true
	}
	v.Summary = fmt.Sprintf("exited with status %d", e.Result.Exit)
	if e.Format == stream.Plain {
		return v, true
	}
	if f := meaning(e.Format, e.Result.Exit); f != nil {
		if said := stream.FaultInText(e.Totals.OtherLines, e.Now); said != nil &&
			(said.Kind == f.Kind || f.Kind == stream.Other) {
			f = said
		} else if n := len(e.Totals.OtherLines); n > 0 {
			f.Message += ": " + phrase.Line(e.Totals.OtherLines[n-1])
		}
		return fault(e, f, "exit status"), true
	}
	if f := stream.FaultInText(complaint(e), e.Now); f != nil {
		return fault(e, f, "its standard error"), true
	}
	if f := e.Totals.Passing; f != nil && !e.Totals.Ended {
		return fault(e, f, "the last error it reported"), true
	}
	v.Kind = agents.KindExit
	if !e.Totals.Ended && e.Format.Terminal() && e.Totals.Events > 0 {
		v.Outcome, v.Kind = agents.Failed, agents.KindCrash
		v.Summary += ", in the middle of its work"
	}
	if n := len(e.Totals.OtherLines); n > 0 {
		v.Summary += ": " + e.Totals.OtherLines[n-1]
	}
	return v, true
}

// complaint returns the lines in which a failed program may explain its failure. A CLI without events mixes them
// with the agent's text, so only the last three lines count.
func complaint(e Evidence) []string {
	lines := e.Totals.OtherLines
	if !e.Format.Lines() {
		lines = lines[max(len(lines)-3, 0):]
	}
	return lines
}

// statuses are the exit statuses of Gemini and Qwen. Some are HTTP statuses, which the system reduces modulo 256.
var statuses = map[int]stream.Fault{
	41: {Kind: stream.Auth}, 42: {Kind: stream.Usage}, 52: {Kind: stream.Usage}, 53: {Kind: stream.Turns},
	55: {Kind: stream.Usage}, 401 % 256: {Kind: stream.Auth, Status: 401}, 429 % 256: {Kind: stream.Limit, Status: 429},
	503 % 256: {Kind: stream.Overloaded}, 529 % 256: {Kind: stream.Overloaded},
}

// meaning returns the fault behind a CLI's exit status; nil if there is none.
func meaning(format stream.Format, code int) *stream.Fault {
	var f stream.Fault
	switch {
	case format == stream.Gemini || format == stream.Qwen:
		f = statuses[code]
	case format == stream.Codex && code == 2:
		f.Kind = stream.Usage
	}
	if f.Kind == "" {
		return nil
	}
	f.Message = fmt.Sprintf("exit status %d", code)
	return &f
}

// finished returns the verdict for a program that reports success. The report alone is not sufficient.
func finished(e Evidence) Verdict {
	v := Verdict{Outcome: agents.Done, Rule: "it says that it is done"}
	if e.Format == stream.Plain {
		v.Rule = "exit status"
		v.Summary = word(e.Last)
		return v
	}
	t := e.Totals
	switch {
	case len(t.Denials) > 0:
		return denied(e)
	case len(t.Pending) > 0:
		v.Outcome, v.Kind, v.Rule = agents.GaveUp, agents.KindBackground, "work in the background"
		v.Summary = "it exited while its background work was still running, which was killed: " +
			strings.Join(t.Pending, ", ")
		return v
	case t.Text == "" && t.Tools == 0:
		v.Outcome, v.Kind, v.Rule = agents.GaveUp, agents.KindNoAnswer, "it printed nothing and changed nothing"
		v.Summary = "it exited without output and without a change"
		return v
	}
	v.Summary = word(phrase.LastLine(redact.Clean(t.Text)))
	return v
}

// denied returns the verdict for an agent that was denied a tool.
func denied(e Evidence) Verdict {
	d := e.Totals.Denials[0]
	what := d.Tool
	if d.Args != "" {
		what += " (" + d.Args + ")"
	}
	if n := len(e.Totals.Denials); n > 1 {
		what += fmt.Sprintf(" and %d more", n-1)
	}
	return Verdict{
		Outcome: agents.NeedsHuman, Kind: agents.KindDenied, Rule: "a tool was not allowed",
		Summary: fmt.Sprintf("it had no permission to use %s; %s", what, allow(e, d)),
	}
}

// word returns a program's last line, cut to 200 bytes: for most agents it is a summary.
func word(last string) string {
	return cmp.Or(phrase.CutBytes(last, 200), "exited without output")
}

func allow(e Evidence, d stream.Denial) string {
	name := cmp.Or(e.Name, "NAME")
	switch e.Format {
	case stream.Claude:
		rule := d.Tool
		if first, _, _ := strings.Cut(d.Args, " "); d.Tool == "Bash" && first != "" {
			rule = "Bash(" + first + ":*)"
		}
		return fmt.Sprintf("allow it in the repository's .claude/settings.json: {\"permissions\": {\"allow\": [%q]}}, or "+
			"set agents.%s.permission = \"full\"", rule, name)
	case stream.OpenCode:
		// The preset's permissions override opencode.json.
		return fmt.Sprintf("set agents.%s.permission = \"ask\" and allow it in opencode.json: {\"permission\": {%q: "+
			"\"allow\"}}, or set agents.%s.permission = \"full\"", name, d.Tool, name)
	case stream.Gemini, stream.Qwen:
		return fmt.Sprintf("allow it in the CLI's settings.json: {\"tools\": {\"allowed\": [%q]}}, or set "+
			"agents.%s.permission = \"full\"", d.Tool, name)
	}
	return fmt.Sprintf("allow it in the CLI's settings, or set agents.%s.permission = \"full\"", name)
}

var signIn = map[stream.Format]string{
	stream.Claude:   "sign in: claude, then /login; or set ANTHROPIC_API_KEY",
	stream.Codex:    "sign in: codex login; or set CODEX_API_KEY",
	stream.Gemini:   "sign in: gemini, then /auth; or set GEMINI_API_KEY",
	stream.OpenCode: "sign in: opencode auth login",
	stream.Goose:    "set it up: goose configure",
	stream.Crush:    "set up a provider: crush",
	stream.Qwen:     "sign in: qwen, then /auth; or set OPENAI_API_KEY and OPENAI_BASE_URL",
	stream.Pi:       "sign in: pi, then /login; or set the key of its provider",
}
