package outcome

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/agents/stream"
)

// cell holds the expected outcome of one situation with one CLI. The file is one of the corpus; outcome and kind are
// written by hand here, so that the test finds a wrong .want file.
type cell struct {
	file    string
	outcome agents.Outcome
	kind    agents.Kind
	timed   bool // the time to try again is known
}

func done(file string) cell { return cell{file: file, outcome: agents.Done} }
func human(file string, k agents.Kind) cell {
	return cell{file: file, outcome: agents.NeedsHuman, kind: k}
}
func gaveUp(file string, k agents.Kind) cell {
	return cell{file: file, outcome: agents.GaveUp, kind: k}
}
func broke(file string, k agents.Kind) cell { return cell{file: file, outcome: agents.Failed, kind: k} }
func limited(file string, k agents.Kind) cell {
	return cell{file: file, outcome: agents.RateLimited, kind: k}
}
func silent(file string) cell { return cell{file, agents.TimedOut, agents.KindIdle, false} }
func until(file string) cell  { return cell{file, agents.RateLimited, agents.KindLimit, true} }

// situations lists the possible outcomes of a call and the CLIs that showed them: all measured cells, and those known
// from the documentation of a CLI. A CLI that is not listed was not observed in that situation.
func situations() []struct {
	name  string
	cells map[stream.Format][]cell
} {
	type row = struct {
		name  string
		cells map[stream.Format][]cell
	}
	type m = map[stream.Format][]cell
	return []row{
		{"success", m{
			stream.Claude: {done("success"), done("type_last")}, stream.Codex: {done("success")},
			stream.Gemini:   {done("success"), done("thought")},
			stream.OpenCode: {done("success"), done("thought")}, stream.Qwen: {done("success")}, stream.Pi: {done("success")},
			stream.Aider: {done("success")}, stream.Goose: {done("success")}, stream.Crush: {done("success")},
		}},
		{"key rejected (401)", m{
			stream.Claude: {human("auth_expired", agents.KindAuth), human("auth_retried", agents.KindAuth)},
			stream.Codex:  {human("auth_missing", agents.KindAuth)},
			stream.Gemini: {human("auth_expired", agents.KindAuth)}, stream.OpenCode: {human("auth_expired", agents.KindAuth)},
			stream.Qwen:  {human("auth_expired", agents.KindAuth), human("auth_in_error", agents.KindAuth)},
			stream.Pi:    {human("auth_expired", agents.KindAuth)},
			stream.Aider: {human("auth_missing", agents.KindAuth)}, stream.Goose: {human("auth_missing", agents.KindAuth)},
		}},
		{"not signed in at all", m{
			stream.Claude: {human("auth_missing", agents.KindAuth)}, stream.Gemini: {human("auth_missing", agents.KindAuth)},
			stream.Crush: {human("auth_missing", agents.KindAuth)},
		}},
		{"bad request, no credit", m{
			stream.Claude: {human("quota", agents.KindQuota)},
			stream.Codex:  {gaveUp("bad_request", agents.KindExit), human("quota", agents.KindQuota)},
			stream.Gemini: {human("bad_request", agents.KindAuth)}, stream.OpenCode: {human("quota", agents.KindQuota)},
			stream.Pi: {human("quota", agents.KindQuota)},
		}},
		{"429, plan used up", m{
			stream.Claude: {until("limit_with_time"), until("limit_in_text")},
			stream.Codex:  {until("limit_with_time"), until("limit_today")},
			stream.Gemini: {limited("limit_daily", agents.KindLimit)}, stream.OpenCode: {until("limit_with_time")},
		}},
		{"429, short", m{
			stream.Claude: {limited("limit_short", agents.KindLimit)}, stream.Codex: {limited("limit_short", agents.KindLimit)},
			stream.Gemini:   {until("limit_with_time"), limited("limit_waits", agents.KindLimit)},
			stream.OpenCode: {until("limit_with_time")},
			stream.Qwen:     {until("limit_short"), until("limit_retried"), until("limit_waits")},
			stream.Pi:       {limited("limit_short", agents.KindLimit)},
			stream.Aider:    {until("limit_short")}, stream.Goose: {until("limit_short")},
			stream.Crush: {limited("limit_short", agents.KindLimit)},
		}},
		{"503, 529", m{
			stream.Claude:   {limited("overloaded", agents.KindOverloaded)},
			stream.Codex:    {limited("overloaded", agents.KindOverloaded)},
			stream.Gemini:   {limited("overloaded", agents.KindOverloaded), limited("overloaded_waits", agents.KindOverloaded)},
			stream.OpenCode: {limited("overloaded", agents.KindOverloaded), silent("silent")},
			stream.Qwen:     {limited("overloaded", agents.KindOverloaded)},
			stream.Pi:       {limited("cut_before_retry", agents.KindOverloaded)},
		}},
		{"stream cut", m{
			stream.Claude: {limited("network_down", agents.KindNetwork)},
			stream.Codex:  {limited("network_down", agents.KindNetwork)},
			stream.Gemini: {limited("network_down", agents.KindNetwork)}, stream.OpenCode: {silent("network_down")},
			stream.Pi: {limited("network_down", agents.KindNetwork)},
		}},
		{"stream cut, after a start", m{
			stream.Claude: {limited("cut", agents.KindNetwork)}, stream.Gemini: {limited("cut", agents.KindNetwork)},
			stream.Qwen: {limited("cut", agents.KindNetwork)},
		}},
		{"no connection, retried without an end", m{
			stream.Codex:    {limited("network_waits", agents.KindNetwork)},
			stream.Gemini:   {limited("network_waits", agents.KindNetwork)},
			stream.OpenCode: {limited("network_waits", agents.KindNetwork)},
			stream.Qwen:     {limited("unsaid_retry", agents.KindServer)},
		}},
		{"500", m{
			stream.Claude:   {limited("server_error", agents.KindServer)},
			stream.Codex:    {limited("server_error", agents.KindOverloaded)},
			stream.Gemini:   {limited("server_error", agents.KindServer)},
			stream.OpenCode: {limited("server_error", agents.KindServer)},
			stream.Pi:       {limited("server_error", agents.KindServer)},
		}},
		{"answer is not JSON", m{
			stream.Claude: {limited("garbage", agents.KindServer)}, stream.Gemini: {limited("garbage", agents.KindServer)},
			stream.OpenCode: {limited("garbage", agents.KindServer)}, stream.Qwen: {limited("garbage", agents.KindServer)},
		}},
		{"429 with Retry-After", m{
			stream.Codex:    {limited("limit_header", agents.KindLimit)},
			stream.OpenCode: {limited("limit_header", agents.KindLimit)},
			stream.Qwen:     {until("limit_header")}, stream.Pi: {until("limit_header")},
		}},
		{"403", m{stream.Claude: {human("forbidden", agents.KindAuth)}, stream.Codex: {human("forbidden", agents.KindAuth)}}},
		{"refused by the model", m{
			stream.Claude: {gaveUp("refused", agents.KindRefused), gaveUp("refused_safeguards", agents.KindRefused)},
			stream.Codex:  {gaveUp("refused", agents.KindRefused)}, stream.OpenCode: {gaveUp("refused", agents.KindRefused)},
			stream.Pi: {gaveUp("refused", agents.KindRefused)},
		}},
		{"too long for the context", m{
			stream.Claude:   {gaveUp("context_full", agents.KindContext)},
			stream.Codex:    {gaveUp("context_full", agents.KindContext)},
			stream.Gemini:   {gaveUp("context_full", agents.KindContext)},
			stream.OpenCode: {gaveUp("context_full", agents.KindContext)},
			stream.Qwen:     {gaveUp("context_full", agents.KindContext)},
			stream.Pi:       {gaveUp("context_full", agents.KindContext)},
		}},
		{"answer cut at its length", m{
			stream.Codex:    {gaveUp("cut_answer", agents.KindContext)},
			stream.OpenCode: {gaveUp("cut_answer", agents.KindContext)},
			stream.Pi:       {gaveUp("cut_answer", agents.KindContext)},
		}},
		{"stopped by itself in a loop", m{
			stream.Gemini: {gaveUp("loop", agents.KindRunaway)}, stream.Qwen: {gaveUp("loop", agents.KindRunaway)},
		}},
		{"empty reply", m{
			stream.Claude: {gaveUp("empty_answer", agents.KindNoAnswer)},
			stream.Codex:  {gaveUp("empty_answer", agents.KindNoAnswer)},
			stream.Gemini: {gaveUp("empty_answer", agents.KindNoAnswer)},
			stream.Qwen:   {gaveUp("empty_answer", agents.KindNoAnswer)},
		}},
		{"tool denied", m{
			stream.Claude: {human("denied", agents.KindDenied)}, stream.Codex: {human("declined", agents.KindDenied)},
			stream.Gemini:   {human("denied", agents.KindDenied)},
			stream.OpenCode: {human("denied", agents.KindDenied)}, stream.Qwen: {human("denied", agents.KindDenied)},
		}},
		{"turn limit", m{
			stream.Claude: {gaveUp("max_turns", agents.KindTurns)}, stream.Gemini: {gaveUp("max_turns", agents.KindTurns)},
			stream.Qwen: {gaveUp("max_turns", agents.KindTurns)},
		}},
		{"money limit", m{stream.Claude: {gaveUp("max_budget", agents.KindBudget)}}},
		{"unknown session", m{
			stream.Claude:   {gaveUp("unknown_session", agents.KindExit)},
			stream.Codex:    {gaveUp("unknown_session", agents.KindExit)},
			stream.OpenCode: {gaveUp("unknown_session", agents.KindExit)},
		}},
		{"unknown flag", m{
			stream.Claude:   {human("unknown_flag", agents.KindSettings)},
			stream.Codex:    {human("unknown_flag", agents.KindSettings)},
			stream.OpenCode: {gaveUp("unknown_flag", agents.KindExit)},
		}},
		{"stdin open, no data", m{stream.Claude: {done("stdin_open")}, stream.Codex: {silent("stdin_open")}}},
		{"SIGTERM from outside",
			m{stream.Claude: {broke("terminated", agents.KindCrash)}, stream.Codex: {broke("killed", agents.KindCrash)}}},
		{"SIGINT from outside", m{stream.Claude: {broke("interrupted", agents.KindCut)},
			stream.Codex: {broke("interrupted", agents.KindCrash)}}},
		{"SIGHUP from outside", m{stream.Claude: {broke("hung_up", agents.KindCrash)}}},
	}
}

// cells is the expected number of cells, so that none gets lost.
const cells = 126

// Each CLI has the expected outcome in each situation. go test -v -run TestMatrix ./agents/outcome prints the table.
func TestMatrix(t *testing.T) {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	heads := []string{"situation"}
	for _, f := range stream.Formats() {
		heads = append(heads, string(f))
	}
	fmt.Fprintln(w, strings.Join(heads, "\t"))
	n := 0
	for _, s := range situations() {
		line := []string{s.name}
		for _, f := range stream.Formats() {
			var got []string
			for _, c := range s.cells[f] {
				n++
				v := meaningOf(t, f, c)
				got = append(got, v)
			}
			line = append(line, strings.Join(slices.Compact(got), ", "))
		}
		fmt.Fprintln(w, strings.Join(line, "\t"))
	}
	w.Flush()
	t.Log("\n" + b.String())
	if n != cells {
		t.Errorf("%d cells, there were %d", n, cells)
	}
}

// meaningOf decides the outcome of the file of one cell and compares it with the cell.
func meaningOf(t *testing.T, f stream.Format, c cell) string {
	t.Helper()
	path := filepath.Join(corpus, string(f), c.file+".txt")
	if _, err := os.Stat(path); err != nil {
		t.Errorf("%s/%s: %v", f, c.file, err)
		return "?"
	}
	s := read(t, path)
	s.evidence.Totals, _ = s.parse(1 << 16)
	v := Decide(s.evidence)
	if v.Outcome != c.outcome || v.Kind != c.kind || c.timed != !v.RetryAt.IsZero() {
		t.Errorf("%s/%s is %s %q, time %v; it has to be %s %q, time known: %v\n%s", f, c.file, v.Outcome, v.Kind, v.RetryAt,
			c.outcome, c.kind, c.timed, v.Summary)
	}
	text := string(v.Outcome)
	if v.Kind != "" {
		text += "/" + string(v.Kind)
	}
	if !v.RetryAt.IsZero() {
		text += "+time"
	}
	return text
}
