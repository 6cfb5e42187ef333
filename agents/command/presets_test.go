//go:build unix

package command

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/agents/price"
	"github.com/runplan/runplan/agents/stream"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/redact"
)

// Each preset calls its CLI with exactly these arguments. Check the documentation of the CLI before you change one.
func TestArguments(t *testing.T) {
	tests := []struct {
		preset, permission, model string
		want                      string
	}{
		{"claude", "", "", "-p --output-format stream-json --verbose --permission-mode acceptEdits"},
		{"claude", "ask", "opus", "-p --output-format stream-json --verbose --permission-mode default --model opus"},
		{"claude", "full", "", "-p --output-format stream-json --verbose --permission-mode bypassPermissions"},
		{"codex", "", "gpt-5.6-sol", "exec --json -s workspace-write -m gpt-5.6-sol -"},
		{"codex", "ask", "", "exec --json -s read-only -"},
		{"codex", "full", "", "exec --json -s danger-full-access -"},
		{"gemini", "", "gemini-2.5-pro", "-p " + readStdin +
			" -o stream-json --skip-trust --approval-mode auto_edit -m gemini-2.5-pro"},
		{"gemini", "full", "", "-p " + readStdin + " -o stream-json --skip-trust --approval-mode yolo"},
		{"opencode", "", "acme/large", "run --format json --print-logs --log-level WARN -m acme/large"},
		{"opencode", "full", "", "run --format json --print-logs --log-level WARN --auto"},
		{"aider", "", "m",
			"--message-file /t/brief.md --yes-always --no-stream --no-pretty --no-check-update --no-show-release-notes " +
				"--analytics-disable --no-auto-commits --no-dirty-commits --no-gitignore --chat-history-file /t/aider.chat.md " +
				"--input-history-file /t/aider.input --no-suggest-shell-commands --model m"},
		{"goose", "", "m", "run -i /t/brief.md --no-session --output-format stream-json --model m"},
		{"crush", "", "m", "run --quiet --model m"},
		{"qwen", "", "m", "-p " + readStdin + " --output-format stream-json --approval-mode auto-edit --model m"},
		{"pi", "", "m", "--mode json -p --no-session -e /t/pi.mjs --tools read,edit,write,grep,find,ls --model m"},
		{"pi", "full", "", "--mode json -p --no-session -e /t/pi.mjs"},
	}
	for _, tt := range tests {
		p, ok := PresetOf(tt.preset)
		if !ok {
			t.Fatalf("no preset %s", tt.preset)
		}
		got, err := p.arguments(tt.permission, tt.model, "/t/brief.md", "/t")
		if d := cmp.Diff(tt.want, strings.Join(got, " ")); d != "" || err != nil {
			t.Errorf("%s %s: %v %s", tt.preset, tt.permission, err, d)
		}
	}
}

func TestArgumentsRejectFlagAsModel(t *testing.T) {
	for _, p := range Presets() {
		if args, err := p.arguments("", "--dangerously-skip-permissions", "b", "t"); err == nil {
			t.Errorf("%s is called with %v", p.Name, args)
		}
	}
}

func TestPresetsAreComplete(t *testing.T) {
	var names []string
	for _, p := range Presets() {
		names = append(names, p.Name)
		if p.Program == "" || p.Install == "" || !slices.Contains(stream.Formats(), p.Format) {
			t.Errorf("%s lacks something: %+v", p.Name, p)
		}
		if _, ok := p.Permissions[Workspace]; !ok {
			t.Errorf("%s cannot write in its workspace", p.Name)
		}
		for permission := range p.Permissions {
			if !slices.Contains(config.Permissions(), permission) {
				t.Errorf("%s has a permission %q that the configuration does not know", p.Name, permission)
			}
		}
		for _, name := range p.PassEnv {
			if strings.ContainsAny(name, "*?") {
				t.Errorf("%s passes on all variables that match %s", p.Name, name)
			}
			if strings.HasPrefix(name, "AWS_") && redact.SecretName(name) {
				t.Errorf("%s passes on %s, which is not only for the agent", p.Name, name)
			}
		}
		for _, dangerous := range []string{"--yolo", "yolo", "bypassPermissions", "danger-full-access", "--auto",
			"--dangerously-skip-permissions"} {
			if args, _ := p.arguments("", "", "b", "t"); slices.Contains(args, dangerous) {
				t.Errorf("%s is called with %s, without a request", p.Name, dangerous)
			}
		}
	}
	if d := cmp.Diff(config.Presets(), names); d != "" {
		t.Errorf("the configuration has other presets: %s", d)
	}
}

// The data about each preset are complete. Without its folders a sandbox keeps it from signing
// in, and without its hosts runplan egress does not say where it sends data.
func TestPresetDataIsComplete(t *testing.T) {
	top := filepath.Join("..", "..")
	lists := map[string]string{}
	for _, file := range []string{"README.md", "docs/agents.md", "testscripts/agentsmoke/versions.txt"} {
		text, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		lists[file] = string(text)
	}
	for _, k := range config.Describe() {
		if k.Key == "agents.NAME.preset" {
			lists["the doc text of Agent in internal/config/sections.go"] = k.Doc
		}
	}
	if len(lists) != 4 {
		t.Fatal("the setting agents.NAME.preset does not exist")
	}
	for _, p := range Presets() {
		if len(p.State) == 0 {
			t.Errorf("%s has no state in presets.toml: which folders does it write?", p.Name)
		}
		if p.Hosts == "" && !p.Providers {
			t.Errorf("%s gets no keys of several providers and has no hosts in presets.toml: where does it send data?", p.Name)
		}
		for _, file := range []string{"agents/testdata/agents/" + p.Name + "/success.txt",
			"testscripts/testdata/script/agents_cli_" + p.Name + ".txtar"} {
			if _, err := os.Stat(filepath.Join(top, filepath.FromSlash(file))); err != nil {
				t.Errorf("%s has no %s", p.Name, file)
			}
		}
		for list, text := range lists {
			if !regexp.MustCompile(`\b` + p.Name + `\b`).MatchString(text) {
				t.Errorf("%s is missing in %s", p.Name, list)
			}
		}
	}
}

func TestRunRejectsUnsupportedPermission(t *testing.T) {
	p, _ := PresetOf("crush")
	_, err := New(Config{Name: "x", Preset: &p, Permission: Ask}).Run(t.Context(), task(t), nil)
	if err == nil || !strings.Contains(err.Error(), `agent x: crush has no permission "ask"; it has full or workspace`) {
		t.Errorf("got %v", err)
	}
}

func TestRootRequiresSandboxVariable(t *testing.T) {
	p, _ := PresetOf("claude")
	err := p.asRoot("x", Full, nil)
	told := p.asRoot("x", Full, []string{"IS_SANDBOX=1"})
	if os.Geteuid() == 0 && (err == nil || !strings.Contains(err.Error(), `[agents.x.env] IS_SANDBOX = "1"`)) ||
		os.Geteuid() != 0 && err != nil {
		t.Errorf("got %v", err)
	}
	if told != nil || p.asRoot("x", Workspace, nil) != nil {
		t.Errorf("got %v", told)
	}
}

func TestModelOfTier(t *testing.T) {
	claude, _ := PresetOf("claude")
	codex, _ := PresetOf("codex")
	for name, tt := range map[string]struct {
		c    Config
		tier string
		want string
	}{
		"a name that stays":       {Config{Preset: &claude}, "small", "haiku"},
		"the user's goes first":   {Config{Preset: &claude, Models: map[string]string{"small": "mine"}}, "small", "mine"},
		"no name that would stay": {Config{Preset: &codex}, "small", ""},
		"the user's, for others":  {Config{Preset: &codex, Models: map[string]string{"large": "big"}}, "large", "big"},
		"of an unknown program":   {Config{}, "large", ""},
	} {
		if got := New(tt.c).ModelOf(tt.tier); got != tt.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// play returns an agent of a preset that runs a script in place of the CLI.
func play(t *testing.T, preset, script string) *Agent {
	t.Helper()
	p, _ := PresetOf(preset)
	return New(Config{Name: "x", Preset: &p, Command: []string{"bash", "-c", script}})
}

func TestCommandKeepsPresetParser(t *testing.T) {
	a := play(t, "codex", `cat >/dev/null; echo '{"type":"thread.started","thread_id":"0000-1111-2222"}'
echo '{"type":"item.completed","item":{"type":"agent_message","text":"all done"}}'
echo '{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":3}}'
echo 'a word on standard error' >&2`)
	var lines []string
	res, err := a.Run(t.Context(), task(t), agents.ObserverFunc(func(s string) { lines = append(lines, s) }))
	if err != nil || res.Outcome != agents.Done || res.Summary != "all done" {
		t.Fatalf("got %+v, %v", res, err)
	}
	if u := res.Usage; *u.InputTokens != 6 || *u.CacheReadTokens != 4 || *u.OutputTokens != 3 || u.CostUSD != nil ||
		u.Source != agents.SourceUnknown {
		t.Errorf("used %+v", u)
	}
	slices.Sort(lines)
	if d := cmp.Diff([]string{"a word on standard error", "all done"}, lines); d != "" {
		t.Error(d)
	}
	if strings.Contains(res.Detail, "{") || !strings.Contains(res.Detail, "all done") {
		t.Errorf("the detail must be readable text: %q", res.Detail)
	}
}

func TestRunParsesLongEvents(t *testing.T) {
	a := play(t, "claude", `printf '{"type":"result","subtype":"success","is_error":false,"result":"'; head -c 200000 /dev/zero | tr '\0' x
printf '","total_cost_usd":0.5,"usage":{"input_tokens":3,"output_tokens":4},"session_id":"late"}\n'`)
	res, err := a.Run(t.Context(), task(t), nil)
	if err != nil || res.Outcome != agents.Done || res.Usage.CostUSD == nil ||
		*res.Usage.CostUSD != 0.5 {
		t.Errorf("got %+v, %v", res, err)
	}
}

func TestRunRedactsEventText(t *testing.T) {
	tk := task(t)
	tk.Redact = func(s string) string { return strings.ReplaceAll(s, "tweet-tweet", "[redacted]") }
	tk.LogPath = filepath.Join(t.TempDir(), "log")
	a := play(t, "claude", `echo '{"type":"assistant","message":{"model":"m","content":[{"type":"tool_use","name":"Bash","input":{"command":"echo tweet-tweet"}}]}}'
echo '{"type":"result","subtype":"success","is_error":true,"result":"failed with tweet-tweet"}'; exit 1`)
	var all string
	res, err := a.Run(t.Context(), tk, agents.ObserverFunc(func(s string) { all += s + "\n" }))
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(tk.LogPath)
	if err != nil {
		t.Fatal(err)
	}
	all += res.Summary + res.Detail + string(log)
	if strings.Contains(all, "tweet-tweet") || strings.Count(all, "[redacted]") < 5 {
		t.Errorf("got %s", all)
	}
}

func TestRunEndsLingeringCLI(t *testing.T) {
	defer func(d time.Duration) { linger = d }(linger)
	linger = 100 * time.Millisecond
	a := play(t, "claude",
		`echo '{"type":"result","subtype":"success","is_error":false,"result":"all done","usage":{}}'; sleep 3600`)
	res, err := a.Run(t.Context(), task(t), nil)
	if err != nil || res.Outcome != agents.Done ||
		!strings.Contains(res.Summary, "all done; it did not exit after its last event") {
		t.Errorf("got %+v, %v", res, err)
	}
}

// gemini would retry for minutes and qwen for an hour. runplan ends them, reports the rate limit, and keeps the retry
// time if the CLI printed one.
func TestRunEndsCLIRetryingAgainstLimit(t *testing.T) {
	for preset, tt := range map[string]struct {
		script string
		kind   agents.Kind
		timed  bool
	}{
		"gemini": {`for i in 1 2 3; do echo "Attempt $i failed with status 503. Retrying with backoff... _ApiError: {}" >&2; done; sleep 3600`, agents.KindOverloaded, false},
		"qwen":   {`echo 'Retrying in 60s (attempt 1/10): [API Error: 429 Rate limit reached. Please try again in 20s.]' >&2; sleep 3600`, agents.KindLimit, true},
	} {
		res, err := play(t, preset, tt.script).Run(t.Context(), task(t), nil)
		if err != nil || res.Outcome != agents.RateLimited || res.Kind != tt.kind || tt.timed != !res.RetryAt.IsZero() {
			t.Errorf("%s: %+v, %v", preset, res, err)
		}
	}
	// A CLI that recovers from a limit is not ended.
	res, err := play(t, "gemini", `echo "Attempt 1 failed: rate limit" >&2; echo "Attempt 2 failed: rate limit" >&2; sleep 0.2
echo '{"type":"message","role":"assistant","content":"It works again."}'; sleep 0.2; echo "Attempt 1 failed: rate limit" >&2
echo '{"type":"result","status":"success"}'`).Run(t.Context(), task(t), nil)
	if err != nil || res.Outcome != agents.Done {
		t.Errorf("got %+v, %v", res, err)
	}
}

// TestRunEndsStalledRetries covers CLIs that retry for a long time or stay silent after one retry: runplan ends
// them.
func TestRunEndsStalledRetries(t *testing.T) {
	defer func(d time.Duration) { patience = d }(patience)
	patience = 300 * time.Millisecond
	for preset, tt := range map[string]struct {
		script string
		kind   agents.Kind
		words  string
	}{
		"codex":    {`echo '{"type":"error","message":"Reconnecting... waiting for network (Connection failed: error sending request)"}'; sleep 3600`, agents.KindNetwork, "no connection"},
		"opencode": {`echo 'timestamp=t level=ERROR message="stream error" small=false agent=build error.error="AI_APICallError: Rate limit reached."' >&2; sleep 3600`, agents.KindLimit, "rate limit"},
		"qwen":     {`echo '{"type":"system","subtype":"retry"}'; sleep 3600`, agents.KindServer, "does not report why"},
	} {
		res, err := play(t, preset, tt.script).Run(t.Context(), task(t), nil)
		if err != nil || res.Outcome != agents.RateLimited || res.Kind != tt.kind ||
			!strings.Contains(res.Summary, tt.words) {
			t.Errorf("%s: %+v, %v", preset, res, err)
		}
	}
	// Progress after a retry stops the timer.
	res, err := play(t, "codex", `echo '{"type":"error","message":"Reconnecting... 1/5 (stream disconnected)"}'
echo '{"type":"item.completed","item":{"type":"agent_message","text":"It works again."}}'; sleep 1; echo '{"type":"turn.completed","usage":{}}'`).Run(t.Context(), task(t), nil)
	if err != nil || res.Outcome != agents.Done {
		t.Errorf("got %+v, %v", res, err)
	}
}

// TestPresetFileVariable checks that a variable names the file of the preset to the CLI, and that a variable set
// by the user takes precedence.
func TestPresetFileVariable(t *testing.T) {
	say := `printf '{"type":"result","subtype":"success","result":"%s"}\n' "$(tr -d '"{} ' <"$QWEN_CODE_SYSTEM_DEFAULTS_PATH")"`
	res, err := play(t, "qwen", say).Run(t.Context(), task(t), nil)
	if err != nil || res.Summary != "model:generationConfig:maxRetries:0" {
		t.Errorf("got %+v, %v", res, err)
	}
	own := filepath.Join(t.TempDir(), "own.json")
	if err := os.WriteFile(own, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := play(t, "qwen", say)
	a.cfg.Environ = append(os.Environ(), "QWEN_CODE_SYSTEM_DEFAULTS_PATH="+own)
	if res, err = a.Run(t.Context(), task(t), nil); err != nil || res.Summary != "mine" {
		t.Errorf("got %+v, %v", res, err)
	}
}

func TestRunReadsCodexLimitFromRollout(t *testing.T) {
	tk := task(t)
	home := t.TempDir()
	dir := filepath.Join(home, "sessions", "2026", "11", "20")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	text := `{"type":"turn_context","payload":{"model":"gpt-5.6-sol"}}
{"type":"event_msg","payload":{"type":"token_count","rate_limits":{"primary":{"used_percent":100,"resets_at":4102444800}}}}
`
	if err := os.WriteFile(filepath.Join(dir, "rollout-2026-11-20-abcd-1234-ef.jsonl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	tk.Env = append(tk.Env, "CODEX_HOME="+home)
	a := play(t, "codex",
		`echo '{"type":"thread.started","thread_id":"abcd-1234-ef"}'; echo '{"type":"turn.failed","error":{"message":"You’ve hit your usage limit."}}'; exit 1`)
	res, err := a.Run(t.Context(), tk, nil)
	if err != nil || res.Outcome != agents.RateLimited || res.Kind != agents.KindLimit || res.Model != "gpt-5.6-sol" ||
		res.RetryAt.Unix() != 4102444800 {
		t.Errorf("got %+v, %v", res, err)
	}
}

func TestUsageNamesCostSource(t *testing.T) {
	one, table := int64(1e6), &price.Table{Models: map[string]price.Price{}}
	p := 2.0
	table.Models["priced"] = price.Price{Input: &p, Output: &p}
	tokens := stream.Tokens{Input: &one, Output: &one}
	cost := 0.25
	claude, _ := PresetOf("claude")
	for name, tt := range map[string]struct {
		totals stream.Totals
		model  string
		args   []string
		want   agents.Source
		cost   float64
	}{
		"reported": {stream.Totals{Tokens: tokens, CostUSD: &cost}, "priced", nil, agents.SourceReported,
			0.25},
		"at list price": {stream.Totals{Tokens: tokens, CostUSD: &cost, OnPlan: true}, "priced", nil,
			agents.SourcePlan, 0.25},
		"computed":               {stream.Totals{Tokens: tokens, Ended: true}, "priced", nil, agents.SourceComputed, 4},
		"stopped before its end": {stream.Totals{Tokens: tokens}, "priced", nil, agents.SourceSummed, 4},
		"no price":               {stream.Totals{Tokens: tokens}, "other", nil, agents.SourceUnknown, -1},
		"no tokens":              {stream.Totals{}, "priced", nil, agents.SourceUnknown, -1},
		"tokens, and none used": {stream.Totals{Tokens: stream.Tokens{Input: new(int64), Output: new(int64)}}, "other",
			nil, agents.SourceComputed, 0},
		"of this machine":                    {stream.Totals{Tokens: tokens}, "ollama/qwen3", nil, agents.SourceLocal, 0},
		"a model name that only looks local": {stream.Totals{Tokens: tokens}, "ollama", nil, agents.SourceUnknown, -1},
		"a flag of another's": {stream.Totals{Tokens: tokens}, "x", []string{"--oss"}, agents.SourceUnknown,
			-1},
	} {
		u := New(Config{Preset: &claude, Prices: table}).usage(tt.totals, tt.model, tt.args)
		got := -1.0
		if u.CostUSD != nil {
			got = *u.CostUSD
		}
		if u.Source != tt.want || got != tt.cost {
			t.Errorf("%s: %v from %s", name, got, u.Source)
		}
	}
	codex, _ := PresetOf("codex")
	if u := New(Config{Preset: &codex}).usage(stream.Totals{}, "",
		[]string{"codex", "exec", "--oss"}); u.Source != agents.SourceLocal {
		t.Errorf("codex --oss: %+v", u)
	}
}

func TestPresetPassesOnlyItsVariables(t *testing.T) {
	p, _ := PresetOf("gemini")
	a := New(Config{Name: "x", Preset: &p, Env: map[string]string{"GEMINI_API_KEY": "of-the-config"},
		Environ: []string{"GEMINI_API_KEY=g", "GOOGLE_API_KEY=k", "OPENAI_API_KEY=o", "AWS_SECRET_ACCESS_KEY=a"}})
	env := a.environ(task(t), "/b")
	for name, want := range map[string]string{"GEMINI_API_KEY": "of-the-config", "GOOGLE_API_KEY": "k",
		"OPENAI_API_KEY": "", "AWS_SECRET_ACCESS_KEY": ""} {
		if got := proc.Getenv(env, name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
}

func TestMissingCLIErrorNamesInstallCommand(t *testing.T) {
	p, _ := PresetOf("codex")
	tk := task(t)
	tk.Env = []string{"PATH=" + t.TempDir()}
	_, err := New(Config{Name: "x", Preset: &p}).Run(t.Context(), tk, nil)
	if err == nil || !strings.Contains(err.Error(), "install it: npm install -g @openai/codex") {
		t.Errorf("got %v", err)
	}
}
