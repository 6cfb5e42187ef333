package security_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/review/security"
	"github.com/runplan/runplan/tools/gatetest"
)

// withTools makes a change, and a PATH that begins with these programs, which are shell scripts by name. $ARGS/NAME
// has the arguments of each call.
func withTools(t *testing.T, before, after, tools map[string]string) (s gates.Subject, args string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the programs are shell scripts")
	}
	s = gatetest.Change(t, before, after)
	bin, args := t.TempDir(), t.TempDir()
	for name, text := range tools {
		text = "#!/bin/sh\necho \"$@\" >>" + filepath.Join(args, name) + "\n" + text + "\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.Env = []string{"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + t.TempDir()}
	return s, args
}

// sample returns a shell command that prints a recorded report.
func sample(t *testing.T, name string) string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return `sed "s,ROOT,$PWD," ` + file
}

func tool(t *testing.T, name string, online bool) gates.Gate {
	t.Helper()
	for _, g := range security.All(online) {
		if g.Info().Name == "security:"+name {
			return g
		}
	}
	t.Fatalf("there is no tool %s", name)
	return nil
}

var (
	goBefore = map[string]string{"go.mod": "module example.org/app\n",
		"app.go": "package app\n\nimport \"os/exec\"\n\n// Run runs.\nfunc Run(name string) error {\n\treturn nil\n}\n",
		"old.go": "package app\n\nvar x = 1\n"}
	goAfter = map[string]string{"app.go": "package app\n\nimport \"os/exec\"\n\n// Run runs.\nfunc Run(name string) " +
		"error {\n\treturn exec.Command(name).Run()\n}\n"}
	pyAfter = map[string]string{"app.py": "import subprocess\ntoken = 1\nx = 2\nsubprocess.call(name, shell=True)\n",
		".semgrep.yml": "rules: []\n"}
)

// The gate reads the report of each tool: a severe finding in an added line blocks, an old finding warns.
func TestTools(t *testing.T) {
	empty := map[string]string{"x": "x"}
	for name, c := range map[string]struct {
		tool          string
		before, after map[string]string
		online        bool
		exit          string
		want          []string
		args          string
		note          string
	}{
		"gosec": {
			tool: "gosec", before: goBefore, after: goAfter,
			want: []string{"error gosec/G204 app.go:7", "warning gosec/G304 app.go:6", "warning gosec/G404 old.go:3",
				"warning gosec/G115 app.go:8"},
			args: "-fmt=json -quiet -no-fail ./.", note: "3 findings in unchanged lines, as warnings only",
		},
		"bandit": {
			tool: "bandit", before: empty, after: pyAfter, exit: "; exit 1",
			want: []string{"error bandit/B602 app.py:4", "info bandit/B404 app.py:1"}, args: "-q -f json ./app.py",
		},
		"semgrep": {
			tool: "semgrep", before: empty, after: pyAfter,
			want: []string{"error semgrep/rules.no-eval app.py:3", "warning semgrep/rules.print app.py:4"},
			args: "scan --json --quiet --metrics=off --disable-version-check --config .semgrep.yml ./.semgrep.yml ./app.py",
			note: "the change also changes the rules that check it: .semgrep.yml",
		},
		"govulncheck if the change touches requirements": {
			tool: "govulncheck", before: goBefore,
			after: map[string]string{"go.mod": "module example.org/app\n\nrequire golang.org/x/text v0.3.5\n",
				"app.go": goAfter["app.go"]}, online: true, exit: "; exit 3",
			want: []string{"error govulncheck/GO-2021-0113 app.go:7"}, args: "-format json ./...",
		},
		"npm audit": {
			tool: "npm-audit", before: empty, after: map[string]string{"web/package.json": "{}", "web/package-lock.json": "{}"},
			online: true, exit: "; exit 1",
			want: []string{"error npm-audit/advisory web/package.json", "info npm-audit/advisory web/package.json"},
			args: "audit --json",
		},
	} {
		t.Run(name, func(t *testing.T) {
			program := strings.TrimSuffix(c.tool, "-audit")
			s, args := withTools(t, c.before, c.after, map[string]string{program: sample(t, c.tool) + c.exit})
			rep, got := gatetest.Look(t, tool(t, c.tool, c.online), s)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if called, err := os.ReadFile(filepath.Join(args, program)); err != nil ||
				strings.TrimSpace(string(called)) != c.args {
				t.Errorf("called with %q (%v), want %q", called, err, c.args)
			}
			if rep.Note != c.note {
				t.Errorf("note %q, want %q", rep.Note, c.note)
			}
		})
	}
}

// gitleaks writes its report outside of the tree and redacts its findings. Findings in files that the change does not
// contain are ignored.
func TestGitleaks(t *testing.T) {
	s, args := withTools(t, map[string]string{"x": "x"}, pyAfter,
		map[string]string{"gitleaks": `while [ "$1" != --report-path ]; do shift; done; ` + sample(t, "gitleaks") + ` >"$2"`})
	_, got := gatetest.Look(t, tool(t, "gitleaks", false), s)
	if diff := cmp.Diff([]string{"error gitleaks/github-pat app.py:2"}, got); diff != "" {
		t.Error(diff)
	}
	called, _ := os.ReadFile(filepath.Join(args, "gitleaks"))
	if !strings.Contains(string(called), "--redact") || strings.Contains(string(called), "--report-path "+s.Dir) {
		t.Errorf("%s", called)
	}
}

// If the requirements of a module did not change, the findings of govulncheck are old.
func TestUnchangedModuleVulnerabilityIsOld(t *testing.T) {
	s, _ := withTools(t, goBefore, map[string]string{"app.go": goBefore["app.go"] + "\n// More.\n"},
		map[string]string{"govulncheck": sample(t, "govulncheck")})
	s.Env = append(s.Env, "GOVULNDB=file:///var/vulndb") // a copy of the database: no server is asked
	rep, got := gatetest.Look(t, tool(t, "govulncheck", false), s)
	if diff := cmp.Diff([]string{"warning govulncheck/GO-2021-0113 app.go:7"}, got); diff != "" || !rep.Findings[0].Known {
		t.Error(diff)
	}
	if m := rep.Findings[0]; m.Fix != "go get golang.org/x/text@v0.3.7" ||
		!strings.Contains(m.Message, "Out-of-bounds read") {
		t.Errorf("%+v", m)
	}
}

// A tool that does not run gives the reason: it is not installed, has nothing to check, has no rules, or would ask a
// server.
func TestSkippedToolGivesReason(t *testing.T) {
	code := map[string]string{"a.go": "package a\n", "a.py": "x = 1\n", "package.json": "{}", "package-lock.json": "{}"}
	none := map[string]string{"README.md": "x\n"}
	for name, c := range map[string]struct {
		tool   string
		after  map[string]string
		online bool
		want   string
	}{
		"without gosec":    {"gosec", code, false, "gosec is not installed"},
		"without bandit":   {"bandit", code, false, "bandit is not installed"},
		"without gitleaks": {"gitleaks", code, false, "gitleaks is not installed"},
		"without semgrep": {"semgrep", map[string]string{"a.py": "x", ".semgrep.yml": "rules: []"}, false,
			"semgrep is not installed"},
		"without govulncheck": {"govulncheck", code, true, "govulncheck is not installed"},
		"govulncheck would ask": {"govulncheck", code, false,
			"govulncheck needs access to vuln.go.dev; review.online = true in the settings allows it"},
		"npm would ask": {"npm-audit", code, false,
			"npm-audit needs access to the npm registry; review.online = true in the settings allows it"},
		"semgrep would fetch rules": {"semgrep", code, true,
			"the project has no rules of its own (.semgrep.yml), and others need the network"},
		"no Go file":                 {"gosec", none, false, "no Go file changed"},
		"no Python file":             {"bandit", none, false, "no Python file changed"},
		"nothing that npm is for":    {"npm-audit", none, true, "no package.json and no package-lock.json changed"},
		"nothing of Go for the list": {"govulncheck", none, true, "no Go file changed"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := withTools(t, map[string]string{"x": "x"}, c.after, nil)
			s.Env[0] = "PATH=" + t.TempDir()
			rep, _ := gatetest.Look(t, tool(t, c.tool, c.online), s)
			if rep.Status != gates.Skipped || !strings.Contains(rep.Note, c.want) {
				t.Errorf("%s %q", rep.Status, rep.Note)
			}
		})
	}
}

// A tool without a readable report could not run, which is not a pass.
func TestToolWithoutReportIsError(t *testing.T) {
	after := map[string]string{"a.go": "package a\n", "a.py": "x = 1\n", "go.mod": "module a\n", "package.json": "{}",
		"package-lock.json": "{}", ".semgrep.yml": "rules: []\n"}
	for name, c := range map[string]struct{ tool, text, want string }{
		"bandit prints a traceback": {"bandit", "echo Traceback; exit 1", "read the report of bandit"},
		"gosec prints half":         {"gosec", `echo '{"Issues": ['`, "read the report of gosec"},
		"gosec dies":                {"gosec", "exit 3", "read the report of gosec"},
		"semgrep has an error": {"semgrep",
			`echo '{"results": [], "errors": [{"level": "error", "message": "invalid rule"}]}'; exit 2`, "invalid rule"},
		"gitleaks writes nothing": {"gitleaks", "exit 1", "wrote no report"},
		"npm has no registry": {"npm-audit",
			`echo '{"error": {"code": "ENOTFOUND", "summary": "no registry"}}'; exit 1`, "ENOTFOUND no registry"},
		"govulncheck has no database":  {"govulncheck", "echo 'no database' >&2; exit 1", "govulncheck: exit 1"},
		"govulncheck prints something": {"govulncheck", "echo hello", "read the report of govulncheck"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := withTools(t, map[string]string{"x": "x"}, after,
				map[string]string{strings.TrimSuffix(c.tool, "-audit"): c.text})
			_, blind, err := gates.RunAll(t.Context(), []gates.Gate{tool(t, c.tool, true)}, s, nil)
			if err != nil || len(blind) != 1 || !strings.Contains(blind[0].Error(), c.want) {
				t.Errorf("%v %v, want %q", blind, err, c.want)
			}
		})
	}
}

// Each tool keeps the contract of gates: it changes nothing and ends when it is cancelled.
func TestToolConformance(t *testing.T) {
	for name, text := range map[string]string{"gosec": `echo '{"Issues": []}'`, "bandit": `echo '{"results": []}'`,
		"semgrep": `echo '{"results": []}'`, "govulncheck": `echo '{}'`, "npm-audit": `echo '{}'`} {
		t.Run(name, func(t *testing.T) {
			gatetest.Run(t, func(t *testing.T) (gates.Gate, gates.Subject) {
				after := map[string]string{"a.go": "package a\n", "a.py": "x = 1\n", "package.json": "{}",
					"package-lock.json": "{}", ".semgrep.yml": "rules: []\n"}
				s, _ := withTools(t, map[string]string{"x": "x"}, after,
					map[string]string{strings.TrimSuffix(name, "-audit"): text})
				return tool(t, name, true), s
			})
		})
	}
}

// The list of tools has the order in which they run, and docs/review.md has the same tools.
func TestNames(t *testing.T) {
	var names []string
	for _, g := range security.All(false) {
		names = append(names, g.Info().Name)
		if security.IsTool(g.Info().Name) == (g.Info().Name == security.Built) {
			t.Errorf("%s", g.Info().Name)
		}
	}
	want := []string{"security:built-in", "security:gosec", "security:govulncheck", "security:bandit", "security:semgrep",
		"security:gitleaks", "security:npm-audit"}
	if !slices.Equal(names, want) {
		t.Errorf("%v", names)
	}
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "review.md"))
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for line := range strings.Lines(string(data)) {
		if name, ok := strings.CutPrefix(line, "| `security:"); ok {
			name, _, _ = strings.Cut(name, "`")
			listed = append(listed, "security:"+name)
		}
	}
	slices.Sort(listed)
	if slices.Sort(names); !slices.Equal(listed, names) {
		t.Errorf("docs/review.md lists %v, the code %v", listed, names)
	}
}
