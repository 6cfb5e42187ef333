package security

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lists"
)

// gosec parses the output of "gosec -fmt=json". It checks whole packages, not only the change.
func gosec() tool {
	return tool{name: "gosec", cost: gates.Cheap, wants: withExt(".go"), none: "no Go file changed",
		run: func(ctx context.Context, l *gates.Look, t *task) ([]hit, error) {
			args := []string{"gosec", "-fmt=json", "-quiet", "-no-fail"}
			args = append(args, lists.Map(folders(t.changed), func(dir string) string { return "./" + dir })...)
			out, err := l.Run(ctx, gates.Program{Args: args, Stdout: true})
			if err != nil {
				return nil, err
			}
			if len(bytes.TrimSpace(out.Stdout)) == 0 && out.OK() {
				return nil, nil // with -quiet it prints nothing without findings
			}
			var report struct {
				Errors map[string][]struct {
					Error string `json:"error"`
				} `json:"Golang errors"`
				Issues []struct {
					Severity   string `json:"severity"`
					Confidence string `json:"confidence"`
					RuleID     string `json:"rule_id"`
					Details    string `json:"details"`
					File       string `json:"file"`
					Line       string `json:"line"` // "12", or "12-14"
				}
			}
			if err := read("gosec", out, &report); err != nil {
				return nil, err
			}
			if len(report.Errors) > 0 {
				l.Note("gosec could not read all of the code")
			}
			var hits []hit
			for _, i := range report.Issues {
				first, _, _ := strings.Cut(i.Line, "-")
				n, _ := strconv.Atoi(first)
				hits = append(hits, hit{rule: i.RuleID, path: l.Rel("", i.File), line: n, message: i.Details,
					severity: graded(i.Severity, i.Confidence)})
			}
			return hits, nil
		}}
}

// folders returns the distinct folders of files.
func folders(files []string) []string {
	var out []string
	for _, f := range files {
		out = lists.Add(out, path.Dir(f))
	}
	return out
}

// bandit parses the output of "bandit -f json". It exits with 1 if it has findings.
func bandit() tool {
	return tool{name: "bandit", cost: gates.Cheap, wants: withExt(".py"), none: "no Python file changed",
		run: func(ctx context.Context, l *gates.Look, t *task) ([]hit, error) {
			var hits []hit
			for files := range slices.Chunk(t.changed, mostArgs) {
				args := append([]string{"bandit", "-q", "-f", "json"}, fileArgs(files)...)
				var found struct {
					Errors []struct {
						Filename string `json:"filename"`
						Reason   string `json:"reason"`
					} `json:"errors"`
					Results []struct {
						Filename   string `json:"filename"`
						Line       int    `json:"line_number"`
						Severity   string `json:"issue_severity"`
						Confidence string `json:"issue_confidence"`
						Text       string `json:"issue_text"`
						ID         string `json:"test_id"`
					} `json:"results"`
				}
				if err := report(ctx, l, gates.Program{Args: args}, &found); err != nil {
					return nil, err
				}
				for _, e := range found.Errors {
					l.Note("bandit could not read %s: %s", l.Rel("", e.Filename), e.Reason)
				}
				for _, r := range found.Results {
					hits = append(hits, hit{rule: r.ID, path: l.Rel("", r.Filename), line: r.Line, message: r.Text,
						severity: graded(r.Severity, r.Confidence)})
				}
			}
			return hits, nil
		}}
}

// semgrep parses the output of "semgrep scan --json". It uses only the project's own rules, because rules of the
// registry need the network.
func semgrep() tool {
	return tool{name: "semgrep", cost: gates.Cheap, none: "no regular file changed",
		run: func(ctx context.Context, l *gates.Look, t *task) ([]hit, error) {
			rules := ""
			for _, name := range []string{".semgrep.yml", ".semgrep.yaml", ".semgrep"} {
				if _, err := os.Stat(filepath.Join(l.Subject().Dir, name)); err == nil {
					rules = name
					break
				}
			}
			if rules == "" {
				l.Skip("the project has no rules of its own (.semgrep.yml), and others need the network")
				return nil, nil
			}
			if slices.ContainsFunc(t.all, func(p string) bool { return p == rules || strings.HasPrefix(p, rules+"/") }) {
				l.Note("the change also changes the rules that check it: %s", rules)
			}
			var hits []hit
			for files := range slices.Chunk(t.changed, mostArgs) {
				args := append([]string{"semgrep", "scan", "--json", "--quiet", "--metrics=off", "--disable-version-check",
					"--config", rules}, fileArgs(files)...)
				env := []string{"SEMGREP_SEND_METRICS=off", "SEMGREP_ENABLE_VERSION_CHECK=0"}
				var found struct {
					Results []struct {
						ID    string                             `json:"check_id"`
						Path  string                             `json:"path"`
						Start struct{ Line int }                 `json:"start"`
						Extra struct{ Message, Severity string } `json:"extra"`
					} `json:"results"`
					Errors []struct {
						Level   string `json:"level"`
						Message string `json:"message"`
					} `json:"errors"`
				}
				if err := report(ctx, l, gates.Program{Args: args, Env: env}, &found); err != nil {
					return nil, err
				}
				for _, e := range found.Errors {
					if e.Level == "error" {
						return nil, fmt.Errorf("semgrep could not run: %s", e.Message)
					}
				}
				for _, r := range found.Results {
					hits = append(hits, hit{rule: r.ID, path: l.Rel("", r.Path), line: r.Start.Line, message: r.Extra.Message,
						severity: graded(r.Extra.Severity, "")})
				}
			}
			return hits, nil
		}}
}

// gitleaks runs gitleaks and reads its report file. gitleaks has to redact secrets, and runplan does not read the
// matches.
func gitleaks() tool {
	return tool{name: "gitleaks", cost: gates.Cheap, none: "no regular file changed",
		run: func(ctx context.Context, l *gates.Look, t *task) ([]hit, error) {
			dir, err := os.MkdirTemp("", "runplan-gitleaks-")
			if err != nil {
				return nil, fmt.Errorf("make a folder for the report of gitleaks: %w", err)
			}
			defer os.RemoveAll(dir)
			file := filepath.Join(dir, "report.json")
			out, err := l.Run(ctx, gates.Program{Args: []string{
				"gitleaks", "detect", "--no-git", "--source", ".", "--redact", "--no-banner", "--exit-code", "0", "--report-format",
				"json", "--report-path", file,
			}})
			if err != nil {
				return nil, err
			}
			data, err := os.ReadFile(file)
			if err != nil || !out.OK() {
				return nil, fmt.Errorf("gitleaks wrote no report (%s)", out.How)
			}
			var report []struct {
				Description, File, RuleID string
				StartLine                 int
			}
			if err := json.Unmarshal(data, &report); err != nil {
				return nil, fmt.Errorf("read the report of gitleaks: %w", err)
			}
			var hits []hit
			for _, r := range report {
				p := l.Rel("", r.File)
				if !slices.Contains(t.all, p) {
					continue // an untracked file, not part of the change
				}
				hits = append(hits, hit{rule: r.RuleID, path: p, line: r.StartLine, message: r.Description, severity: gates.Error,
					fix: "remove it, revoke it, and read it from the environment"})
			}
			return hits, nil
		}}
}

// govulncheck reads the stream of objects of "govulncheck -format json". A called vulnerable function blocks if the
// change touched requirements; otherwise the vulnerability existed before.
func govulncheck() tool {
	isMod := func(p string) bool { return path.Base(p) == "go.mod" }
	return tool{name: "govulncheck", cost: gates.Costly,
		wants: func(p string) bool { return isMod(p) || path.Ext(p) == ".go" }, none: "no Go file changed",
		server: "vuln.go.dev",
		local: func(l *gates.Look) bool {
			return slices.ContainsFunc(l.Subject().Env, func(kv string) bool { return strings.HasPrefix(kv, "GOVULNDB=file:") })
		},
		run: func(ctx context.Context, l *gates.Look, t *task) ([]hit, error) {
			out, err := l.Run(ctx, gates.Program{Args: []string{"govulncheck", "-format", "json", "./..."}, Stdout: true})
			if err != nil {
				return nil, err
			}
			type frame struct {
				Module, Version, Package, Function string
				Position                           *struct {
					Filename string
					Line     int
				}
			}
			summaries := map[string]string{}
			var hits []hit
			dec := json.NewDecoder(bytes.NewReader(out.Stdout))
			for {
				var m struct {
					OSV     *struct{ ID, Summary string } `json:"osv"`
					Finding struct {
						OSV   string  `json:"osv"`
						Fixed string  `json:"fixed_version"`
						Trace []frame `json:"trace"`
					} `json:"finding"`
				}
				if err := dec.Decode(&m); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					return nil, fmt.Errorf("read the report of govulncheck (%s): %w", out.How, err)
				}
				if m.OSV != nil {
					summaries[m.OSV.ID] = m.OSV.Summary
				}
				trace := m.Finding.Trace
				if len(trace) == 0 || trace[0].Function == "" || // required or imported, but not called
					slices.ContainsFunc(hits, func(h hit) bool { return h.rule == m.Finding.OSV }) {
					continue
				}
				h := hit{rule: m.Finding.OSV, severity: gates.Error, everywhere: slices.ContainsFunc(t.changed, isMod),
					message: fmt.Sprintf("%s@%s: %s is called", trace[0].Module, trace[0].Version, trace[0].Function)}
				if m.Finding.Fixed != "" {
					h.fix = "go get " + trace[0].Module + "@" + m.Finding.Fixed
				}
				if at := trace[len(trace)-1].Position; at != nil {
					h.path, h.line = l.Rel("", at.Filename), at.Line
				}
				hits = append(hits, h)
			}
			if !out.OK() && len(hits) == 0 {
				return nil, fmt.Errorf("govulncheck: %s", out.How)
			}
			for i := range hits {
				if s := summaries[hits[i].rule]; s != "" {
					hits[i].message = s + " (" + hits[i].message + ")"
				}
			}
			return hits, nil
		}}
}

// npmAudit reads the output of "npm audit --json". It checks requirements, so it runs only if they changed.
func npmAudit() tool {
	wants := func(p string) bool {
		return slices.Contains([]string{"package.json", "package-lock.json", "npm-shrinkwrap.json"}, path.Base(p)) &&
			!language.Copied(p)
	}
	return tool{name: "npm-audit", cost: gates.Cheap, wants: wants,
		none: "no package.json and no package-lock.json changed", server: "the npm registry",
		run: func(ctx context.Context, l *gates.Look, t *task) ([]hit, error) {
			var hits []hit
			for _, dir := range folders(t.changed) {
				if !l.Exists(path.Join(dir, "package-lock.json")) {
					l.Note("%s was not checked: npm audit needs a package-lock.json", path.Join(dir, "package.json"))
					continue
				}
				var found struct {
					Error           *struct{ Code, Summary string } `json:"error"`
					Vulnerabilities map[string]struct {
						Severity string            `json:"severity"`
						Range    string            `json:"range"`
						Via      []json.RawMessage `json:"via"`
					} `json:"vulnerabilities"`
				}
				audit := gates.Program{Args: []string{"npm", "audit", "--json"}, Dir: dir}
				if err := report(ctx, l, audit, &found); err != nil {
					return nil, err
				}
				if found.Error != nil {
					return nil, fmt.Errorf("npm audit could not run: %s %s", found.Error.Code, found.Error.Summary)
				}
				for _, name := range slices.Sorted(maps.Keys(found.Vulnerabilities)) {
					v := found.Vulnerabilities[name]
					title := ""
					for _, via := range v.Via { // the text is the name of another package in the list
						var advisory struct{ Title string }
						if json.Unmarshal(via, &advisory) == nil && title == "" {
							title = ": " + advisory.Title
						}
					}
					hits = append(hits, hit{rule: "advisory", path: path.Join(dir, "package.json"), message: name + " " +
						v.Range + title, severity: graded(v.Severity, ""), everywhere: true, fix: "npm audit fix"})
				}
			}
			return hits, nil
		}}
}
