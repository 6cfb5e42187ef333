package config

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// files writes a file for each text and returns their paths, the user's first.
func files(t *testing.T, texts ...string) []string {
	t.Helper()
	dir := t.TempDir()
	var out []string
	for i, text := range texts {
		path := filepath.Join(dir, []string{"user.toml", "repo.toml"}[i])
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		out = append(out, path)
	}
	return out
}

// env returns a function that looks up variables in pairs "NAME=value".
func env(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, kv := range pairs {
			if v, ok := strings.CutPrefix(kv, name+"="); ok {
				return v, true
			}
		}
		return "", false
	}
}

// source names the file that a value came from, without the folder.
func source(l *Loaded, key string) string { return filepath.Base(l.Source(key)) }

func TestLaterSourcesWin(t *testing.T) {
	tests := map[string]struct {
		user, repo string
		env        []string
		attempts   int
		source     string
	}{
		"nothing is set": {attempts: 3, source: "default"},
		"the user":       {user: "run.max_attempts = 4", attempts: 4, source: "user.toml"},
		"the repository": {repo: "[run]\nmax_attempts = 5", attempts: 5, source: "repo.toml"},
		"the repository over the user": {user: "run.max_attempts = 4", repo: "run.max_attempts = 5", attempts: 5,
			source: "repo.toml"},
		"a variable over both": {
			user: "run.max_attempts = 4", repo: "run.max_attempts = 5", env: []string{"RUNPLAN_MAX_ATTEMPTS=6"}, attempts: 6,
			source: "RUNPLAN_MAX_ATTEMPTS",
		},
		"a variable over the default": {env: []string{"RUNPLAN_MAX_ATTEMPTS=6"}, attempts: 6,
			source: "RUNPLAN_MAX_ATTEMPTS"},
		"an empty variable has no effect": {user: "run.max_attempts = 4", env: []string{"RUNPLAN_MAX_ATTEMPTS="},
			attempts: 4, source: "user.toml"},
		"another key leaves this one alone": {user: "run.max_attempts = 4", repo: "run.land = 'ff'", attempts: 4,
			source: "user.toml"},
		"the default, set by hand": {user: "run.max_attempts = 4", repo: "run.max_attempts = 3", attempts: 3,
			source: "repo.toml"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l, err := Load(files(t, tt.user, tt.repo), env(tt.env...))
			if err != nil {
				t.Fatal(err)
			}
			if l.Run.MaxAttempts != tt.attempts || source(l, "run.max_attempts") != tt.source {
				t.Errorf("%d from %s, want %d from %s", l.Run.MaxAttempts, l.Source("run.max_attempts"), tt.attempts, tt.source)
			}
		})
	}
}

// Lists and inline tables are replaced as a whole, other tables are merged key by key.
func TestMergeListsAndTables(t *testing.T) {
	l, err := Load(files(t, `
[agents.claude]
command = ["claude", "--print"]
pass_env = ["ANTHROPIC_API_KEY"]
env = { A = "user", B = "user" }
[agents.codex]
command = ["codex"]
[agents.codex.env]
A = "user"
B = "user"
[gates]
disable = ["one", "two"]
[[gates.command]]
name = "a"
run = "user a"
[[gates.command]]
name = "b"
run = "user b"
`, `
[agents.claude]
command = ["mine"]
env = { B = "repo" }
[agents.codex.env]
B = "repo"
[gates]
disable = ["three"]
[[gates.command]]
name = "c"
run = "repo c"
`), env())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Agent{
		"claude": {Command: []string{"mine"}, PassEnv: []string{"ANTHROPIC_API_KEY"}, Env: map[string]string{"B": "repo"}},
		"codex":  {Command: []string{"codex"}, Env: map[string]string{"A": "user", "B": "repo"}},
	}
	if d := cmp.Diff(want, l.Agents); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"three"}, l.Gates.Disable); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]Gate{{Name: "c", Run: "repo c"}}, l.Gates.Command); d != "" {
		t.Error(d)
	}
	for key, want := range map[string]string{
		"agents.claude.command": "repo.toml", "agents.claude.pass_env": "user.toml", "agents.codex.command": "user.toml",
		"gates.disable": "repo.toml", "gates.command": "repo.toml", "gates.timeout": "default",
	} {
		if got := source(l, key); got != want {
			t.Errorf("%s is from %s, want %s", key, got, want)
		}
	}
}

// The digest changes when a file changes; missing files do not count.
func TestDigest(t *testing.T) {
	digest := func(texts ...string) string {
		l, err := Load(append(files(t, texts...), "/nonexistent/config.toml", ""), env("RUNPLAN_LAND=ff"))
		if err != nil {
			t.Fatal(err)
		}
		if len(l.Files) != len(texts) {
			t.Errorf("read %v", l.Files)
		}
		return l.Digest
	}
	a, b := "run.land = 'ff'\n", "# nothing\n"
	//lint:ignore SA4000 twice is the point
	if digest(a, b) != digest(a, b) {
		t.Error("the same files have two digests")
	}
	seen := map[string]bool{}
	for _, texts := range [][]string{nil, {a}, {b}, {a, b}, {b, a}, {a + b}, {"", a}} {
		d := digest(texts...)
		if seen[d] {
			t.Errorf("%q has the same digest as another list", texts)
		}
		seen[d] = true
	}
}

// An invalid setting is refused with its place and with the setting that was probably meant (CFG-07).
func TestInvalidSettingsAreRefused(t *testing.T) {
	tests := map[string]struct {
		text string
		env  string
		want []string
	}{
		"an unknown key": {text: "[run]\nland = 'ff'\nmax_atempts = 3\n",
			want: []string{"repo.toml:3: ", `unknown key "run.max_atempts"`, `did you mean "run.max_attempts"?`}},
		"a key in the wrong section": {text: "[run]\nsetup = 'make'\n",
			want: []string{"repo.toml:2: ", `did you mean "workspace.setup"?`}},
		"an unknown section": {text: "\n[gate]\ntimeout = '1m'\n",
			want: []string{"repo.toml:", `did you mean "gates`}},
		"a key of an agent": {text: "[agents.claude]\ncomand = ['x']\n",
			want: []string{"repo.toml:2: ", `"agents.claude.comand"`, `did you mean "agents.claude.command"?`}},
		"a key of a gate": {text: "[[gates.command]]\nname = 'x'\nrun = 'y'\nblocks = true\n",
			want: []string{"repo.toml:4: ", `"gates.command.blocks"`}},
		"a key like no other": {text: "xyzzyplugh = 1\n",
			want: []string{"repo.toml:1: ", `unknown key "xyzzyplugh"`}},
		"a text for a number":   {text: "[run]\nmax_attempts = 'many'\n", want: []string{"repo.toml:2:"}},
		"a number for a text":   {text: "[run]\n\nagent = 5\n", want: []string{"repo.toml:3:"}},
		"a number for a switch": {text: "gates.detect = 1\n", want: []string{"repo.toml:1:"}},
		"a pattern that is no glob": {text: "[gates]\nprotected = ['[']\n",
			want: []string{"repo.toml:2: ", `gates.protected has "[", which is not a glob`}},
		"a text for a list":    {text: "gates.disable = 'all'\n", want: []string{"repo.toml:1:"}},
		"a text for a section": {text: "run = 'fast'\n", want: []string{"repo.toml:1:"}},
		"a duration without a unit": {text: "[run]\nagent_timeout = '90'\n",
			want: []string{"repo.toml:2:", `"90" is not a duration such as 90s or 30m`}},
		"a duration that is a number": {text: "[run]\nagent_timeout = 90\n",
			want: []string{"repo.toml", "run.agent_timeout is 90, which is not a duration"}},
		"a switch for a duration": {text: "[run]\n\ngrace = true\n",
			want: []string{"repo.toml:3: ", "run.grace is true, which is not a duration"}},
		"a number too large for any type": {text: "[run]\nmax_cost_usd = 99999999999999999999\n",
			want: []string{"repo.toml:2:"}},
		"less than no limit": {text: "[run]\nmax_repeats = -1\nmax_attempt_tokens = -1\nmax_attempt_cost_usd = -0.5\n" +
			"[gates]\nmax_file_lines = -1\nmin_memory_mb = -1\n", want: []string{
			"repo.toml:4: run.max_attempt_cost_usd is -0.5", "repo.toml:3: run.max_attempt_tokens is -1",
			"repo.toml:2: run.max_repeats is -1", "repo.toml:6: gates.max_file_lines is -1",
			"repo.toml:7: gates.min_memory_mb is -1"}},
		"less than no lines": {text: "context.ref_lines = -1\ncontext.commits = -1\n",
			want: []string{"repo.toml:1: context.ref_lines is -1", "repo.toml:2: context.commits is -1"}},
		"a number for a gate's time": {text: "[[gates.command]]\nname = 'x'\nrun = 'y'\ntimeout = 3\n",
			want: []string{"repo.toml", "gates.command.timeout is 3"}},
		"a duration below zero": {text: "[run]\nidle_timeout = '-1s'\n",
			want: []string{"repo.toml:2:", `"-1s" is not a duration`}},
		"a budget of mutants in prose": {text: "[gates.mutants]\nbudget = 'a quarter'\n",
			want: []string{"repo.toml:2:", `"a quarter" is neither a duration such as 1m nor a percentage such as 25%`}},
		"a budget of mutants that is a number": {text: "[gates.mutants]\nbudget = 25\n",
			want: []string{"repo.toml:2:", `is 25, which is not a duration such as "1m" or a percentage such as "25%"`}},
		"a budget of mutants below zero": {text: "gates.mutants.budget = '-5%'\n",
			want: []string{"repo.toml:1:", `"-5%" is not a percentage from 0% to 1000%`}},
		"a budget of mutants above the most": {text: "gates.mutants.budget = '1001%'\n",
			want: []string{`"1001%" is not a percentage`}},
		"a budget of mutants in a variable": {env: "RUNPLAN_GATES_MUTANTS_BUDGET=2.5%",
			want: []string{"RUNPLAN_GATES_MUTANTS_BUDGET=2.5%", `"2.5%" is not a percentage`}},
		"a duration in prose": {text: "gates.timeout = 'a while'\n", want: []string{"repo.toml:1:", `"a while"`}},
		"no TOML":             {text: "[run]\nland: ff\n", want: []string{"repo.toml:2:"}},
		"a key twice":         {text: "run.land = 'ff'\nrun.land = 'pr'\n", want: []string{"repo.toml"}},
		"a file outside of the workspace": {text: "context.file = '../x'\n",
			want: []string{"repo.toml", `context.file is "../x"; it is outside of the workspace`}},
		"a file in a roundabout way": {text: "context.file = 'a/../../x'\n",
			want: []string{`it is outside of the workspace`}},
		"a file of the machine": {text: "context.file = '/etc/x'\n",
			want: []string{`it is outside of the workspace`}},
		"a file of git":      {text: "context.file = './.GIT/config'\n", want: []string{`it belongs to git`}},
		"a folder as a file": {text: "context.file = 'docs/'\n", want: []string{`it is a folder`}},
		"an unknown way to land": {text: "run.land = 'merge'\n",
			want: []string{"repo.toml", `run.land is "merge"; use branch, ff or pr`}},
		"no attempts": {text: "run.max_attempts = 0\n", want: []string{"repo.toml", "at least 1"}},
		"less than no disk": {text: "run.min_free_mb = -1\n",
			want: []string{"repo.toml", "run.min_free_mb is -1"}},
		"an agent without a command": {text: "[agents.x]\nenv = { A = 'b' }\n",
			want: []string{"repo.toml", "agents.x has no command"}},
		"an unknown preset": {text: "[agents.x]\npreset = 'clod'\n",
			want: []string{"agents.x.preset is \"clod\"", "claude, codex"}},
		"an unknown permission": {text: "[agents.x]\npreset = 'claude'\npermission = 'all'\n",
			want: []string{"agents.x.permission is \"all\"", "workspace, ask or full"}},
		"a permission of a command": {text: "[agents.x]\ncommand = ['x']\npermission = 'full'\n",
			want: []string{"agents.x.permission needs a preset"}},
		"an unknown sandbox": {text: "[agents.x]\ncommand = ['x']\nsandbox = 'jail'\n",
			want: []string{"agents.x.sandbox is \"jail\"", "bwrap, docker"}},
		"a sandbox without a command": {text: "[agents.x]\ncommand = ['x']\nsandbox = 'custom'\n",
			want: []string{"agents.x.sandbox is custom", "sandbox_command"}},
		"a command without a sandbox": {text: "[agents.x]\ncommand = ['x']\nsandbox_command = ['y']\n",
			want: []string{"agents.x.sandbox_command needs a sandbox"}},
		"docker without an image": {text: "[agents.x]\ncommand = ['x']\nsandbox = 'docker'\n",
			want: []string{"agents.x.sandbox is docker", "sandbox_image"}},
		"an image without docker": {text: "[agents.x]\ncommand = ['x']\nsandbox = 'bwrap'\nsandbox_image = 'i'\n",
			want: []string{"agents.x.sandbox_image needs"}},
		"writing without a sandbox": {text: "[agents.x]\ncommand = ['x']\nsandbox_write = ['/tmp']\n",
			want: []string{"agents.x.sandbox_write needs"}},
		"writing somewhere": {text: "[agents.x]\ncommand = ['x']\nsandbox = 'bwrap'\nsandbox_write = " +
			"['cache']\n", want: []string{"agents.x.sandbox_write has \"cache\""}},
		"an unknown event": {text: "notify.events = ['finish']\n",
			want: []string{`notify.events has the unknown event "finish"; events are `, "done"}},
		"a message in the clear": {text: "notify.webhook = 'http://hooks.example.org/secret'\n",
			want: []string{"notify.webhook: http to hooks.example.org"}},
		"an address of a file": {text: "notify.webhook = 'file://x/secret'\n",
			want: []string{"notify.webhook: file is not https"}},
		"an address without a host": {text: "notify.webhook = 'hooks'\n",
			want: []string{"notify.webhook: it must be a URL"}},
		"a message without an end":  {text: "notify.timeout = '0s'\n", want: []string{"notify.timeout is 0"}},
		"an agent without anything": {text: "[agents.x]\n", want: []string{"repo.toml", "agents.x has no command"}},
		"an agent of an empty list": {text: "agents.x.command = []\n",
			want: []string{"repo.toml", "agents.x has no command"}},
		"a gate without a name": {text: "[[gates.command]]\nrun = 'x'\n",
			want: []string{"repo.toml", "gate 1 ", "needs both name and run"}},
		"a gate without a command": {text: "[[gates.command]]\nname = 'x'\nrun = 'x'\n[[gates.command]]\nname = 'y'\n",
			want: []string{"gate 2 "}},
		"two gates of one name": {text: "[[gates.command]]\nname = 'x'\nrun = 'x'\n[[gates.command]]\nname = " +
			"'x'\nrun = 'y'\n", want: []string{`two gates have the name "x"`}},
		"all errors at once": {text: "run.land = 'x'\nrun.max_attempts = -1\n[agents.b]\n[agents.a]\n",
			want: []string{"run.land", "run.max_attempts", "agents.a has", "agents.b has"}},
		"a variable of the wrong type": {env: "RUNPLAN_MAX_ATTEMPTS=many",
			want: []string{"RUNPLAN_MAX_ATTEMPTS=many", "not a number"}},
		"a variable that is not a boolean": {env: "RUNPLAN_GATES_DETECT=perhaps",
			want: []string{"RUNPLAN_GATES_DETECT=perhaps", "neither true nor false"}},
		"a variable that is not a duration": {env: "RUNPLAN_AGENT_TIMEOUT=90",
			want: []string{"RUNPLAN_AGENT_TIMEOUT=90", "not a duration"}},
		"a variable with an unknown value": {env: "RUNPLAN_LAND=x", want: []string{"RUNPLAN_LAND: run.land"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Load(files(t, "", tt.text), env(tt.env))
			if err == nil {
				t.Fatal("no error")
			}
			for rest, i := err.Error(), 0; i < len(tt.want); i++ {
				_, after, ok := strings.Cut(rest, tt.want[i])
				if !ok {
					t.Fatalf("%q does not say %q", err, tt.want[i])
				}
				rest = after
			}
		})
	}
}

// The address of a webhook may contain a key, so only its host is shown. http is allowed only for this machine.
func TestWebhookShowsOnlyHost(t *testing.T) {
	for address, want := range map[string]string{
		"https://hooks.example.org/services/T0/secret": "https://hooks.example.org/…",
		"https://ntfy.example.org":                     "https://ntfy.example.org",
		// runplan:ignore secrets an address that does not exist
		"https://me:secret@x.example": "https://x.example/…", "http://127.0.0.1:8080/?k=secret": "http://127.0.0.1:8080/…",
		"http://[::1]:1/":    "http://[::1]:1",
		"http://localhost/a": "http://localhost/…",
	} {
		l, err := Load(files(t, "notify.webhook = '"+address+"'"), env())
		if err != nil {
			t.Error(err)
			continue
		}
		for _, v := range l.Values() {
			if v.Key == "notify.webhook" && v.Value != want {
				t.Errorf("%s is shown as %s", address, v.Value)
			}
		}
	}
	for _, address := range []string{"http://localhost.example.org/", "http://10.0.0.1/",
		"http://127.0.0.1.example.org/secret"} {
		if _, err := Load(files(t, "notify.webhook = '"+address+"'"), env()); err == nil ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// An error in the user's file is not reported for the repository's file.
func TestErrorNamesFaultyFile(t *testing.T) {
	for _, text := range []string{"run.lnd = 'ff'", "run.land = 'x'", "run.land = 5", "="} {
		_, err := Load(files(t, text, "run.max_attempts = 2"), env())
		if err == nil || !strings.Contains(err.Error(), "user.toml") || strings.Contains(err.Error(), "repo.toml") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := Load([]string{t.TempDir()}, env()); err == nil || !strings.Contains(err.Error(), "read configuration") {
		t.Errorf("a folder: %v", err)
	}
}

func TestBudgetOfMutantsIsDurationOrShare(t *testing.T) {
	if d := Default().Gates.Mutants.Budget; d.Percent() != 25 || d.Time() != 0 {
		t.Errorf("the default is %d", d)
	}
	for text, want := range map[string]struct {
		written string
		time    time.Duration
		percent int
	}{
		"0": {"0s", 0, 0}, "90s": {"1m30s", 90 * time.Second, 0}, "25%": {"25%", 0, 25}, "40 %": {"40%", 0, 40},
		"0%": {"0s", 0, 0}, "1000%": {"1000%", 0, 1000},
	} {
		l, err := Load(files(t, "gates.mutants.budget = '"+text+"'"), env(""))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got := l.Gates.Mutants.Budget
		written, err := got.MarshalText()
		if err != nil || string(written) != want.written || got.Time() != want.time || got.Percent() != want.percent {
			t.Errorf("%s: %s, %s, %d %%", text, written, got.Time(), got.Percent())
		}
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{"90s": 90 * time.Second, "1h30m": 90 * time.Minute, "0s": 0,
		"250ms": 250 * time.Millisecond} {
		l, err := Load(files(t, "run.idle_timeout = '"+text+"'"), env("RUNPLAN_GATES_TIMEOUT="+text))
		if err != nil {
			t.Fatal(err)
		}
		if time.Duration(l.Run.IdleTimeout) != want || time.Duration(l.Gates.Timeout) != want {
			t.Errorf("%s is %s in the file and %s in the variable", text, time.Duration(l.Run.IdleTimeout),
				time.Duration(l.Gates.Timeout))
		}
		out, err := Duration(want).MarshalText()
		var back Duration
		if err != nil || back.UnmarshalText(out) != nil || time.Duration(back) != want {
			t.Errorf("%s is written as %s", text, out)
		}
	}
}

// A file from a Windows editor, with a byte order mark and CRLF, is read like any other.
func TestLoadAcceptsWindowsFiles(t *testing.T) {
	l, err := Load(files(t, "\ufeff[run]\r\nland = 'ff'\r\n"), env())
	if err != nil || l.Run.Land != "ff" || source(l, "run.land") != "user.toml" {
		t.Errorf("%v, %v", l, err)
	}
}

func TestEnvName(t *testing.T) {
	for key, want := range map[string]string{
		"run.agent": "RUNPLAN_AGENT", "run.min_free_mb": "RUNPLAN_MIN_FREE_MB",
		"gates.require_tests": "RUNPLAN_GATES_REQUIRE_TESTS", "workspace.setup": "RUNPLAN_WORKSPACE_SETUP",
	} {
		if got := EnvName(key); got != want {
			t.Errorf("%s is set by %s, want %s", key, got, want)
		}
	}
	// These variables have another meaning: the folder of the user's file, and the run that an agent belongs to.
	seen := map[string]string{"RUNPLAN_HOME": "home", "RUNPLAN_RUN": "run"}
	for _, key := range leaves(reflect.TypeFor[Config](), "") {
		name := EnvName(key)
		if other, ok := seen[name]; ok {
			t.Errorf("the variable %s would set both %s and %s", name, key, other)
		}
		seen[name] = key
	}
}

// leaves returns the dotted keys of a struct that hold a value, without the code under test. NAME stands for a name
// that the user chooses; a list of tables counts itself and its keys.
func leaves(t reflect.Type, prefix string) []string {
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		key := prefix + f.Tag.Get("toml")
		switch k := f.Type.Kind(); {
		case k == reflect.Struct:
			out = append(out, leaves(f.Type, key+".")...)
		case k == reflect.Map && f.Type.Elem().Kind() == reflect.Struct:
			out = append(out, leaves(f.Type.Elem(), key+".NAME.")...)
		case k == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct:
			out = append(out, key)
			out = append(out, leaves(f.Type.Elem(), key+".")...)
		default:
			out = append(out, key)
		}
	}
	return out
}

// Each setting is in all lists, including a new one, and has a description.
func TestEverySettingIsListed(t *testing.T) {
	l, err := Load(files(t, `
[agents.NAME]
preset = "claude"
permission = "ask"
command = ["x"]
env = { SECRET = "hunter2" }
pass_env = ["TOKEN"]
models = { small = "tiny" }
sandbox = "docker"
sandbox_command = ["--network", "none"]
sandbox_image = "acme/agent"
sandbox_write = ["~/.cache"]
[[gates.command]]
name = "NAME"
run = "make"
[[gates.plugin]]
name = "NAME"
command = ["node"]
path = "p.js"
[review.reviewers.NAME]
provider = "command"
command = ["judge"]
`), env())
	if err != nil {
		t.Fatal(err)
	}
	known, described, shown := Keys(), map[string]string{}, map[string]Value{}
	for _, k := range Describe() {
		described[k.Key] = k.Doc
	}
	for _, v := range l.Values() {
		shown[v.Key] = v
	}
	for _, key := range leaves(reflect.TypeFor[Config](), "") {
		if !slices.Contains(known, strings.ReplaceAll(key, "NAME", "*")) {
			t.Errorf("Keys lacks %s", key)
		}
		name, inTable := key, false
		for _, table := range []string{"gates.command", "gates.plugin", "gates.severity"} {
			if rest, ok := strings.CutPrefix(key, table+"."); ok {
				name, inTable = "["+table+"] "+rest, true
			}
		}
		if doc, ok := described[name]; !ok || doc == "" && name != "[gates.command] name" &&
			name != "[gates.command] timeout" {
			t.Errorf("Describe lacks %s, or a word on it", name)
		}
		if _, ok := shown[key]; !ok && key != "gates.command" && key != "gates.plugin" && !inTable {
			t.Errorf("Values lacks %s", key)
		}
	}
	if v := shown["gates.plugin.NAME"]; v.Value != "node p.js" {
		t.Errorf("a plugin is shown as %+v", v)
	}
	if v := shown["gates.command.NAME"]; v.Value != "make" {
		t.Errorf("a gate is shown as %+v", v)
	}
	for _, v := range l.Values() {
		if strings.Contains(v.Value, "hunter2") {
			t.Errorf("%s shows what may be secret", v.Key)
		}
	}
}

func TestValues(t *testing.T) {
	paths := files(t, "gates.disable = ['lint', 'todo']\n[agents.b]\ncommand = ['b', '--x']\n[agents.a]\ncommand = ['a']",
		"run.agent_timeout = '90s'")
	l, err := Load(paths, env("RUNPLAN_GATES_FORMAT=false"))
	if err != nil {
		t.Fatal(err)
	}
	values := l.Values()
	if !slices.IsSortedFunc(values, func(a, b Value) int { return strings.Compare(a.Key, b.Key) }) {
		t.Error("not sorted by key")
	}
	got := map[string]Value{}
	for _, v := range values {
		got[v.Key] = v
	}
	for _, want := range []Value{
		{"run.agent_timeout", "1m30s", paths[1], "RUNPLAN_AGENT_TIMEOUT"},
		{"run.idle_timeout", "15m0s", "default", "RUNPLAN_IDLE_TIMEOUT"},
		{"gates.format", "false", "RUNPLAN_GATES_FORMAT", "RUNPLAN_GATES_FORMAT"},
		{"run.land", "branch", "default", "RUNPLAN_LAND"},
		{"agents.b.command", "b --x", paths[0], ""}, {"gates.disable", "lint, todo", paths[0], ""},
		{"workspace.copy", "", "default", ""},
	} {
		if d := cmp.Diff(want, got[want.Key]); d != "" {
			t.Error(d)
		}
	}
	if d := cmp.Diff(values, l.Values()); d != "" {
		t.Error("asked again, the answer differs:", d)
	}
}

// Load accepts each setting that Values shows: its variable sets it.
func TestEachVariableSetsItsSetting(t *testing.T) {
	none, err := Load(nil, env())
	if err != nil {
		t.Fatal(err)
	}
	choice := map[string]string{ // where not every value will do
		"run.land": "pr", "run.on_limit": "wait", "run.unknown_cost": "allow", "routing.mode": "team",
		"context.similarity": "0.5",
		"context.tokens":     "700", "sampling.close": "0.5", "sampling.sample_count": "4",
		"notify.webhook":  "https://hooks.example.org",
		"models.provider": "command", "models.base_url": "http://localhost:11434", "models.margin": "0.5",
		"models.coding_temperature": "0.5", "models.reasoning_temperature": "0.5",
		"gates.mutants.budget": "40%",
		"review.batches":       "programs", "review.final": "all", "gates.tests.changed": "fail", "gates.plan.severity": "warning",
	}
	for _, v := range none.Values() {
		if v.Env == "" {
			continue
		}
		text := map[bool]string{true: "7", false: "text"}[v.Value != "" && strings.Trim(v.Value, "0123456789") == ""]
		switch {
		case choice[v.Key] != "":
			text = choice[v.Key]
		case v.Value == "true":
			text = "false"
		case v.Value == "false":
			text = "true"
		case strings.HasSuffix(v.Value, "s") && v.Value[0] >= '0' && v.Value[0] <= '9':
			text = "7s"
		}
		l, err := Load(nil, env(v.Env+"="+text))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, now := range l.Values() {
			want := none.Source(now.Key)
			if now.Key == v.Key {
				want = v.Env
				if now.Value != text {
					t.Errorf("%s=%s leaves %s at %s", v.Env, text, v.Key, now.Value)
				}
			}
			if now.Source != want {
				t.Errorf("%s=%s: %s is from %s", v.Env, text, now.Key, now.Source)
			}
		}
	}
}

func TestUserFile(t *testing.T) {
	if got, err := UserFile(env("RUNPLAN_HOME=/my/home")); got != filepath.FromSlash("/my/home/config.toml") ||
		err != nil {
		t.Errorf("%s, %v", got, err)
	}
	t.Setenv("HOME", "/home/me")
	t.Setenv("XDG_CONFIG_HOME", "/xdg")
	for _, vars := range [][]string{nil, {"RUNPLAN_HOME="}} {
		if got, err := UserFile(env(vars...)); err != nil || filepath.Base(filepath.Dir(got)) != "runplan" {
			t.Errorf("%s, %v", got, err)
		}
	}
}

func TestNearest(t *testing.T) {
	for key, want := range map[string]string{
		"run.agnet": "run.agent", "run.timeout": "gates.timeout", "agents.my-agent.cmmand": "agents.my-agent.command",
		"gates.command.nmae":    "gates.command.name",
		"gates.command.command": "gates.command.run", "agents.claude.cmd": "agents.claude.command",
		"qqqqqqqqqqqqqqqqqqqqqqq": "", "workspaces.setup": "workspace.setup", "ü": "",
	} {
		if got := Nearest(key, Keys()); got != want {
			t.Errorf("near %s is %q, want %q", key, got, want)
		}
	}
}

// For any file, Load returns valid settings or an error that names the file.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		"", "[run]\nmax_attempts = 4\n", "[agents.a]\ncommand = ['x']\nenv = {A = 'b'}",
		"[[gates.command]]\nname='x'\nrun='y'\nblocking=false\ntimeout='3s'",
		"gates = 3", "run.agent_timeout = 90", "[agents]\n\"a.b\" = {}", "[a.b.c]\nd=1", "a = [[1], {b = 2}]",
		"run = {land = 'ff', x = 1979-05-27T07:32:00Z}", "\ufeff", "\x00", "[run\n", "agents.\"\".command = []",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path := files(t, text)[0]
		l, err := Load([]string{path}, env())
		if err != nil {
			if !strings.Contains(err.Error(), path) {
				t.Errorf("%q does not name the file", err)
			}
			return
		}
		if l.Run.MaxAttempts < 1 || l.Run.MinFreeMB < 0 || l.Run.AgentTimeout < 0 {
			t.Errorf("the loaded settings are invalid: %+v", l.Run)
		}
		for _, v := range l.Values() {
			if v.Source != "default" && v.Source != path {
				t.Errorf("%s is from %s", v.Key, v.Source)
			}
		}
	})
}

// The setting run.fallback names only agents that can take over, each once.
func TestFallbackSettingIsValidated(t *testing.T) {
	for text, want := range map[string]string{
		"[run]\non_limit = \"never\"\n": `run.on_limit is "never"; use exit, wait, fallback or fallback,wait`,
		"[run]\non_limit = \"fallback\"\n": "run.on_limit is fallback, but " +
			"run.fallback names no agent that can take over",
		"[run]\non_limit = \"fallback,wait\"\n": "run.on_limit is fallback,wait, but " +
			"run.fallback names no agent",
		"[run]\nfallback = [\"codex\", \"codex\"]\n":                           `run.fallback has "codex" twice`,
		"[run]\nfallback = [\"script\"]\n":                                     "run.fallback has script",
		"[run]\nfallback = [\"auto\"]\n":                                       `run.fallback has "auto", which is not the name of an agent`,
		"[run]\non_limit = \"fallback\"\nfallback = [\"codex\", \"gemini\"]\n": "",
		"[run]\non_limit = \"wait\"\nfallback = [\"codex\"]\n":                 "",
	} {
		file := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Load([]string{file}, env())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for word, want := range map[string]string{"exit": "exit", "wait": "wait", "fallback": "exit",
		"fallback,wait": "wait"} {
		over, then := Fallback(word)
		if over != strings.HasPrefix(word, "fallback") || then != want {
			t.Errorf("%s: %v, %s", word, over, then)
		}
	}
}

// Each default has the value that the requirements state (CFG-03, ROUTE-07, SAMP-16, CTX-04, CTX-06). If a default
// changes, runs change, so this list must change too.
func TestDefaultsMatchRequirements(t *testing.T) {
	l, err := Load(nil, func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, v := range l.Values() {
		got[v.Key] = v.Value
		if v.Source != "default" {
			t.Errorf("%s is from %s", v.Key, v.Source)
		}
	}
	for key, want := range map[string]string{
		"routing.parallel_score_threshold": "60", "routing.speculate_max_overlap": "20",
		"routing.model_implementation": "medium",
		"routing.model_verification":   "small", "routing.model_architecture": "large",
		"routing.model_escalate_on_fail":  "true",
		"routing.worker_mem_threshold_gb": "8", "routing.max_workers": "3",
		"sampling.sample_on_retry": "true", "sampling.sample_on_critical": "true", "sampling.sample_count": "3",
		"sampling.sample_max_count":         "5",
		"sampling.sample_min_memory_per_gb": "4",
		"context.tokens":                    "1500", "context.ref_lines": "100", "context.ref_lines_least": "50",
		"context.commits": "5", "context.progress_lines": "20",
		"team.enabled": "false", "run.max_attempts": "3", "notify.webhook": "", "notify.command": "",
	} {
		if is, ok := got[key]; !ok || is != want {
			t.Errorf("%s is %q, want %q", key, is, want)
		}
	}
}

// A value of the wrong type is reported with its key, the expected type and the actual value, in terms of the file
// and not of Go.
func TestTypeErrorNamesKeyAndTypes(t *testing.T) {
	for text, want := range map[string]string{
		"run.max_attempts = 'three'": `run.max_attempts takes a whole number, but is set to the text "three"`,
		"[run]\nland = 5":            "run.land takes a text in quotes, but is set to 5",
		"[agents.x]\ncommand = 'x'":  `agents.x.command takes a list of texts in [ ], but is set to the text "x"`,
		"[workspace]\ncopy = [[1]]": "config.toml:2:1: workspace.copy takes a list of texts in [ ], but is set to a list " +
			"that has a list that has 1",
		"run = 3":             "run takes a table of keys, but is set to 3",
		"sampling.close = []": "sampling.close takes a number, but is set to a list",
		"[[gates.command]]\nname = true\nrun = 'true'": "gates.command.name takes a text in quotes",
	} {
		file := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load([]string{file}, func(string) (string, bool) { return "", false })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
