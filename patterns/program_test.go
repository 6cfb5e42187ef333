package patterns

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func rule(t *testing.T, text string) []Rule {
	t.Helper()
	rules, err := ParseRules("mine.yml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// An invalid rule is an error that names the rule, also between valid ones, and never a scan without hits.
func TestScanReportsInvalidRule(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.py", badPython)
	p := program(t)
	for name, text := range map[string]string{
		"kind":   "id: mine\nlanguage: python\nmessage: m\nrule: {kind: nope}\n",
		"field":  "id: mine\nlanguage: python\nmessage: m\nrule: {patern: x}\n",
		"lang":   "id: mine\nlanguage: klingon\nmessage: m\nrule: {kind: x}\n",
		"regex":  "id: mine\nlanguage: python\nmessage: m\nrule: {kind: identifier, regex: '('}\n",
		"unused": "id: mine\nlanguage: java\nmessage: m\nrule: {kind: nope}\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Scan(t.Context(), p, dir, []string{"a.py"}, append(builtin(t), rule(t, text)...))
			if err == nil || errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "rule mine in mine.yml") {
				t.Errorf("error %v", err)
			}
			if err := Check(t.Context(), p, rule(t, text)); !errors.Is(err, ErrRule) {
				t.Errorf("Check: %v", err)
			}
		})
	}
	if err := Check(t.Context(), p, builtin(t)); err != nil {
		t.Error(err)
	}
}

// fake returns a program that answers --version like ast-grep and otherwise runs the given shell text.
func fake(t *testing.T, text string) Program {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the fake program is a shell script")
	}
	path := filepath.Join(t.TempDir(), "ast-grep")
	script := "#!/bin/sh\nif [ \"$1\" = --version ]; then echo ast-grep 0.51.9; exit 0; fi\n" + text + "\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	p, err := Find(t.Context(), os.Environ(), path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Each failure and each invalid output of ast-grep is an error, and never a clean scan.
func TestScanReportsProgramFailure(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.py", badPython)
	const looked = "echo 'sg: entity|file|a.py: language=Python,appliedRuleCount=2' >&2\n"
	hit := func(severity string) string {
		return looked + `echo '{"file":"a.py","ruleId":"x","severity":"` + severity +
			`","range":{"start":{"line":0,"column":0}},"newer":[1]}'` + "\n"
	}
	for name, tc := range map[string]struct{ script, want string }{
		"crash":         {"kill -SEGV $$", "crashed"},
		"status":        {"echo oh no >&2; exit 3", "status 3: oh no"},
		"silence":       {"exit 0", "did not report which files"},
		"half a record": {looked + `printf '{"file":"a.py","ruleId'`, "line 1"},
		"text":          {looked + "echo hello", "not a JSON object"},
		"another file":  {looked + `echo '{"file":"b.py","ruleId":"x"}'`, "not in the request"},
		"error line":    {looked + "echo 'ERROR: a.py: gone' >&2", "could not run"},
		"wrong status":  {hit("error"), "exited with 0"},
		"wrong status1": {hit("hint") + "exit 1", "exited with 1"},
		"hangs":         {"sleep 30", "stopped after"},
	} {
		t.Run(name, func(t *testing.T) {
			p := fake(t, tc.script)
			p.Limit = 300 * time.Millisecond
			_, err := Scan(t.Context(), p, dir, []string{"a.py"}, builtin(t))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
	// Unknown fields of a newer version are ignored.
	if res, err := Scan(t.Context(), fake(t, hit("warning")), dir, []string{"a.py"}, builtin(t)); err != nil ||
		len(res.Hits) != 1 {
		t.Errorf("%v, error %v", res.Hits, err)
	}
	// A file that the output does not mention was not checked.
	res, err := Scan(t.Context(), fake(t, "echo 'sg: summary|project: isProject=true' >&2"), dir, []string{"a.py"},
		builtin(t))
	if err != nil || len(res.Skipped) != 1 || !strings.Contains(res.Skipped[0].Reason, "did not report") {
		t.Errorf("%+v, error %v", res, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if _, err := Scan(ctx, program(t), dir, []string{"a.py"}, builtin(t)); err == nil ||
		!strings.Contains(err.Error(), "enough") {
		t.Errorf("cancelled: %v", err)
	}
}

func TestFind(t *testing.T) {
	empty := []string{"PATH=" + t.TempDir()}
	if _, err := Find(t.Context(), empty, ""); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), MissingNote) {
		t.Errorf("nothing there: %v", err)
	}
	if _, err := Scan(t.Context(), Program{}, t.TempDir(), nil, nil); !errors.Is(err, ErrMissing) {
		t.Errorf("scan without a program: %v", err)
	}
	for _, tc := range []struct {
		env        []string
		configured string
	}{{empty, "/nowhere/ast-grep"}, {append(empty, EnvVar+"=/nowhere/ast-grep"), ""}} {
		if _, err := Find(t.Context(), tc.env, tc.configured); err == nil || errors.Is(err, ErrMissing) ||
			!strings.Contains(err.Error(), "/nowhere/ast-grep") {
			t.Errorf("a configured program is missing: %v", err)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	script := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	// On many systems sg is a different program.
	if _, err := Find(t.Context(), []string{"PATH=" + filepath.Dir(script("sg", "echo ast-grep 0.51.1"))},
		""); !errors.Is(err, ErrMissing) {
		t.Errorf("a foreign program sg is accepted: %v", err)
	}
	if _, err := Find(t.Context(), nil, script("ast-grep", "echo something else 1.0")); err == nil ||
		!strings.Contains(err.Error(), "is not ast-grep") {
		t.Errorf("another program: %v", err)
	}
	if _, err := Find(t.Context(), nil, script("ast-grep", "exit 3")); err == nil || errors.Is(err, ErrMissing) {
		t.Errorf("broken program: %v", err)
	}
	old := script("ast-grep", "echo ast-grep 0.40.0")
	p, err := Find(t.Context(), []string{EnvVar + "=" + old}, "")
	if err != nil || p.Version != "0.40.0" || p.Path != old || !strings.Contains(p.Warning, "0.40.0") {
		t.Errorf("%+v, error %v", p, err)
	}
	if p := program(t); p.Warning != "" {
		t.Error(p.Warning)
	}
}

func goTree(b *testing.B) string {
	b.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Skip(err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "src")
}

// BenchmarkScanGoTree measures a scan with all built-in rules: go test -run '^$' -bench Scan ./patterns
func BenchmarkScanGoTree(b *testing.B) {
	p, rules, dir := program(b), builtin(b), goTree(b)
	files, _, err := Files(b.Context(), os.Environ(), dir)
	if err != nil {
		b.Skip(err)
	}
	for b.Loop() {
		res, err := Scan(b.Context(), p, dir, files, rules)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(res.Scanned), "files")
		b.ReportMetric(float64(len(res.Hits)), "hits")
	}
}

// BenchmarkScanOneFile scans one changed file, as a gate does.
func BenchmarkScanOneFile(b *testing.B) {
	p, rules, dir := program(b), builtin(b), b.TempDir()
	write(b, dir, "a.py", strings.Repeat(badPython, 50))
	for b.Loop() {
		if _, err := Scan(b.Context(), p, dir, []string{"a.py"}, rules); err != nil {
			b.Fatal(err)
		}
	}
}
