package testscripts

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"github.com/rogpeppe/go-internal/testscript"
)

// peerCase is something that similar programs get wrong, with the behavior of runplan and the scripts that show it.
// It holds if all of them pass.
type peerCase struct {
	name, expect string
	scripts      string
}

func peerCases() []peerCase {
	return []peerCase{
		{"agent ticks all boxes, changes nothing", "not done, names the proof missing", "agent_ticks_only"},
		{"tasks without boxes; agent prints any sentinel", "gates decide, sentinel is ignored",
			"agent_claims peer_lying_agent"},
		{"## Task 1 and ### Task 10a mixed", "all 23 units, ids kept as text", "peer_mixed_headings peer_task_headings"},
		{"70 kB line, CRLF, BOM, fences in fences, headings in them", "parsed", "peer_odd_text peer_fenced_samples"},
		{"### Task 2 — no colon, * [ ], 1. [ ]", "taken", "peer_dash_headings"},
		{"claude: success + is_error + 429 + resetsAt", "paused until then, one retry",
			"peer_limits agents_limit agents_cli_claude"},
		{"codex: U+2019 text + resets_at in the file of the session", "paused until then, one retry", "peer_limits"},
		{"the text of a doc task says \"You've hit your limit\"", "no pause", "peer_limits"},
		{"claude: result \"\", status 0", "not done, tried again with a note", "peer_empty_answer agents_error_inside"},
		{"claude: permission_denials, status 0", "denied, with the rule to add", "agents_denied"},
		{"claude: background task killed after the result", "unfinished background", "agents_background"},
		{"SIGINT at the child, status 0, no result", "cancelled by runplan, else not done", "peer_interrupted"},
		{"qwen: [API Error: 401 …], is_error false, status 0", "auth", "agents_sign_in agents_cli_qwen"},
		{"pi: agent_end, auto_retry_start, error, status 0", "limited", "peer_limits agents_cli_pi"},
		{"opencode: last step_finish is tool-calls, status 0", "denied", "agents_denied"},
		{"gemini: status 173", "limited, not killed by signal 45", "peer_limits agents_cli_gemini"},
		{"a grandchild holds standard output after the exit", "returns, group killed",
			"agent_leaves_children agents_background"},
		{"agent floods one 100 MB line", "memory bounded, outcome decided", "peer_100mb_line agent_floods agent_long_line"},
		{"agent reads standard input", "gets its end at once", "agent_stdin"},
		{"runplan killed with -9 in the middle, restarted", "resumed, no double commit", "resume_killed"},
		{"two runplans, one repository", "second refuses, names the process", "bad_second_run"},
		{"commit hook fails; gpg cannot sign", "not done, reason shown, no hang",
			"run_hook_refuses run_hook_hangs run_signing"},
		{"tests already red; flaky test; agent deletes the test", "shown, shown, refused",
			"gate_baseline gate_baseline_run gate_flaky cheat_deletes_test"},
		{"two batches green alone, red together", "branch green, second tried again", "team_red_together"},
		{"workspace left behind with unmerged commits", "gc keeps it and says so", "workspace_gc"},
		{".env needed, submodule present", "set up before the baseline gate",
			"workspace_copy workspace_setup workspace_submodule"},
		{"canary secret in the environment, echoed", "not in log, events, receipt, data",
			"secrets_canary agents_canary agent_secret secrets_copied"},
		{".runplan/config changed by a pull request", "not executed without trust", "trust_config"},
	}
}

// recorder is a test that records the results of its scripts.
type recorder struct {
	*testing.T
	ended *ended
}

type ended struct {
	mu sync.Mutex
	as map[string]string
}

// Verbose adds to testing.T the method that testscript needs.
func (r recorder) Verbose() bool { return testing.Verbose() }

// Run runs one script.
func (r recorder) Run(name string, f func(testscript.T)) {
	r.T.Run(name, func(t *testing.T) {
		t.Cleanup(func() {
			as := "holds"
			switch {
			case t.Failed():
				as = "FAILS"
			case t.Skipped():
				as = "skipped"
			}
			r.ended.mu.Lock()
			defer r.ended.mu.Unlock()
			r.ended.as[name] = as
		})
		f(recorder{t, r.ended})
	})
}

// record returns a recorder that logs at the end which cases hold: go test -v -run TestScripts ./testscripts prints
// it.
func record(t *testing.T) recorder {
	r := recorder{t, &ended{as: map[string]string{}}}
	t.Cleanup(func() { t.Log("\n" + r.ended.table(t)) })
	return r
}

func (e *ended) table(t *testing.T) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "case\texpected\tresult\tscripts")
	for _, c := range peerCases() {
		results := []string{}
		for _, s := range strings.Fields(c.scripts) {
			if _, err := os.Stat(filepath.Join("testdata", "script", s+".txtar")); err != nil {
				t.Errorf("case %q: %v", c.name, err)
			}
			as, ran := e.as[s]
			if !ran {
				as = "not run"
			}
			results = append(results, as)
		}
		slices.SortFunc(results, func(a, b string) int { return worse(b) - worse(a) })
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", c.name, c.expect, results[0], c.scripts)
	}
	w.Flush()
	return b.String()
}

// worse orders results: a case has the result of its worst script.
func worse(as string) int { return slices.Index([]string{"holds", "skipped", "not run", "FAILS"}, as) }
