package gates

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/proc"
)

// linter is a program that a project configures to check its code. It becomes its own gate: lint:NAME.
type linter struct {
	name   string
	lang   Language
	config func(dir string, p Project) string // file that configures it; "" if the project does not
	tool   func(dir string, p Project, config string) Tool
	args   func(w *Look, p Project, config string) []string // arguments of the program
	stdout bool                                             // its standard output contains only the report
	finds  *lazyre.Regexp                                   // what it prints if it fails because of findings; nil: it exits with 1
	read   func(w *Look, p Project, r ran) ([]Finding, error)
}

// setUp lists the linters that run if a project configures them.
var setUp = []linter{
	{
		name: "golangci-lint", lang: LangGo,
		config: configIn(".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"),
		tool:   pathTool("golangci-lint", "https://golangci-lint.run/docs/welcome/install"), args: golangciArgs,
		stdout: true, read: readGolangci,
	},
	{
		name: "biome", lang: LangNode, config: configIn("biome.json", "biome.jsonc", ".biome.json", ".biome.jsonc"),
		tool: nodeTool("biome", "@biomejs/biome"), finds: githubLine, read: readGitHub,
		args: always("ci", "--reporter=github", "--colors=off", "--max-diagnostics=200", "--no-errors-on-unmatched", "."),
	},
	{
		name: "oxlint", lang: LangNode,
		config: configIn(".oxlintrc.json", ".oxlintrc.jsonc", "oxlint.config.ts", "oxlint.config.mts"),
		tool:   nodeTool("oxlint", "oxlint"), args: always("--format=github"), finds: githubLine, read: readGitHub,
	},
	{
		name: "xo", lang: LangNode, config: func(dir string, p Project) string {
			if readPackage(dir, p.Root).depends("xo") {
				return p.Marker
			}
			return ""
		},
		tool: nodeTool("xo", "xo"), args: always("--reporter=json"), stdout: true, read: readJSON(eslintReport.findings),
	},
	{
		name: "clippy", lang: LangRust, config: marked, tool: cargoPart("clippy", "clippy"),
		args: func(w *Look, p Project, _ string) []string {
			args := []string{"clippy", "--all-targets", "--message-format=json", "--quiet"}
			if exists(w.subject.Dir, p.Root, "Cargo.lock") {
				args = append(args, "--locked")
			}
			return args
		},
		stdout: true, finds: lazyre.New(`"level":"error"`), read: readClippy,
	},
	{
		name: "rustfmt", lang: LangRust, config: marked, tool: cargoPart("rustfmt", "fmt"),
		args: always("fmt", "--all", "--check", "--", "-l"), stdout: true,
		read: readLines(rustfmtFile, Finding{Rule: "rustfmt", Severity: Warning,
			Message: "not formatted with rustfmt", Fix: "cargo fmt"}),
	},
	{
		name: "rubocop", lang: LangRuby, config: configIn(".rubocop.yml", ".rubocop.yaml"),
		tool: func(dir string, p Project, config string) Tool {
			if bundledGem(dir, p.Root, "rubocop") {
				return bundler(p.Root)
			}
			return Tool{Name: "rubocop", Program: "rubocop", Version: []string{"--version"}, Own: []string{"bin/rubocop"},
				Root: p.Root, Config: config, Install: addsGem(dir, p.Root, "rubocop")}
		},
		args: func(w *Look, p Project, _ string) []string {
			args := []string{"--format", "json", "--force-exclusion", "--cache", "false"}
			if bundledGem(w.subject.Dir, p.Root, "rubocop") { // its plugins are gems of the bundle
				return append([]string{"exec", "rubocop"}, args...)
			}
			return args
		},
		stdout: true, read: readJSON(rubocopReport.findings),
	},
	{
		name: "swiftlint", lang: LangSwift, config: configIn(".swiftlint.yml", ".swiftlint.yaml"),
		tool:   pathTool("swiftlint", "brew install swiftlint"),
		args:   always("lint", "--quiet", "--reporter", "json", "--no-cache"),
		stdout: true, finds: lazyre.New(`^\s*\[`), read: readJSON(swiftlintReport.findings),
	},
	{
		name: "swift-format", lang: LangSwift, config: configIn(".swift-format"),
		tool: pathTool("swift-format", "install a Swift toolchain from 6.0: https://swift.org/install"),
		args: always("lint", "--recursive", "."),
		read: readLines(codePlace, Finding{Rule: "lint", Severity: Warning}),
	},
	{
		name: "ktlint", lang: LangJava, config: ktlintConfig,
		tool: pathTool("ktlint", "https://pinterest.github.io/ktlint/latest/install/cli"),
		args: always("--reporter=json", "--log-level=error"), stdout: true, read: readJSON(ktlintReport.findings),
	},
	{
		name: "spotless", lang: LangJava, config: gradlePlugin(`com\.diffplug\.spotless`), tool: gradleTool,
		args: always("spotlessCheck", "--console=plain"), finds: spotlessHint, read: readSpotless,
	},
	{
		name: "checkstyle", lang: LangJava, config: mavenPlugin("maven-checkstyle-plugin"), tool: mavenTool,
		args: always("-B", "checkstyle:check"), finds: checkstyleSum,
		read: readLines(checkstylePlace, Finding{Rule: "checkstyle", Severity: Warning}),
	},
	{
		name: "checkstyle-gradle", lang: LangJava, config: gradlePlugin(gradleCheckstyle), tool: gradleTool,
		args: always("checkstyleMain", "checkstyleTest", "--console=plain"), finds: checkstyleSum,
		read: readLines(checkstylePlace, Finding{Rule: "checkstyle", Severity: Warning}),
	},
	{
		name: "spotless-maven", lang: LangJava, config: mavenPlugin("spotless-maven-plugin"), tool: mavenTool,
		args: always("-B", "spotless:check"), finds: spotlessHint, read: readSpotless,
	},
	{
		name: "ktlint-gradle", lang: LangJava,
		config: gradlePlugin(`org\.jlleitschuh\.gradle\.ktlint|org\.jmailen\.kotlinter`), tool: gradleTool,
		args: func(w *Look, p Project, config string) []string {
			if strings.Contains(readText(w.subject.Dir, ".", config), "kotlinter") {
				return []string{"lintKotlin", "--console=plain"}
			}
			return []string{"ktlintCheck", "--console=plain"}
		},
		finds: codePlace, read: readLines(codePlace, Finding{Rule: "lint", Severity: Error}),
	},
	{
		name: "detekt", lang: LangJava, config: gradlePlugin(`io\.gitlab\.arturbosch\.detekt|dev\.detekt`), tool: gradleTool,
		args: always("detekt", "--console=plain"), finds: codePlace,
		read: readLines(codePlace, Finding{Rule: "lint", Severity: Error}),
	},
	{
		name: "dotnet-format", lang: LangDotnet, config: func(dir string, p Project) string {
			if at, ok := upwards(dir, p.Root, ".editorconfig"); ok && strings.Contains(readText(dir, ".", at), "dotnet_") {
				return at
			}
			return ""
		},
		tool:  func(_ string, _ Project, config string) Tool { return dotnetTool(config) },
		args:  always("format", "--verify-no-changes", "--no-restore", "--verbosity", "minimal"),
		finds: dotnetPlace, read: readLines(dotnetPlace, Finding{Severity: Warning, Fix: "dotnet format"}),
	},
}

var (
	spotlessHint  = lazyre.New(`spotless(?:A|:a)pply`)
	checkstyleSum = lazyre.New(`Checkstyle (?:rule )?violation`)
)

// always returns arguments that do not depend on the project.
func always(args ...string) func(*Look, Project, string) []string {
	return func(*Look, Project, string) []string { return args }
}

// marked is the configuration of a linter that each project of its language uses.
func marked(_ string, p Project) string { return p.Marker }

func nodeTool(name, pkg string) func(string, Project, string) Tool {
	return func(dir string, p Project, config string) Tool { return NodeTool(dir, p.Root, name, pkg, config) }
}

func cargoPart(name, command string) func(string, Project, string) Tool {
	return func(string, Project, string) Tool {
		return Tool{Name: name, Program: "cargo", Version: []string{command, "--version"},
			Install: "rustup component add " + name}
	}
}

// check returns the function that runs a linter of the project. config is the file that configures the linter.
func (l linter) check(config string) func(context.Context, *Look, Project) error {
	return func(ctx context.Context, w *Look, p Project) error {
		tool := l.tool(w.subject.Dir, p, config)
		var out ran
		err := proc.ErrNotFound
		if name := w.toolPath(tool); name != "" {
			out, err = w.run(ctx, program{args: append([]string{name}, l.args(w, p, config)...), dir: p.Root, stdout: l.stdout})
		}
		if errors.Is(err, proc.ErrNotFound) {
			w.Skip("%s is configured in %s but not installed: %s", l.name, config, tool.Install)
			return nil
		}
		if err != nil {
			return err
		}
		if !out.ok() && hasSign(out.text, "no component") {
			w.Skip("%s is not installed: %s", l.name, tool.Install)
			return nil
		}
		if out.signal != "" || l.troubled(out) {
			return w.unable(l, out)
		}
		found, err := l.read(w, p, out)
		if err != nil && !out.ok() { // it printed no report
			return w.unable(l, out)
		}
		if err != nil {
			return fmt.Errorf("read the output of %s: %w", l.name, err)
		}
		if !out.ok() && len(found) == 0 {
			return fmt.Errorf("%s failed, %s, without naming a place: %s", l.name, out.how(), lastTelling(out.text))
		}
		w.show(found)
		return nil
	}
}

// unable returns the error of a linter that could not run.
func (w *Look) unable(l linter, out ran) error {
	if err := w.hindered(out, nil); err != nil {
		return err
	}
	return fmt.Errorf("%s could not run, %s: %s", l.name, out.how(), lastTelling(out.text))
}

// troubled reports whether a linter could not run.
func (l linter) troubled(out ran) bool {
	report := out.text
	if l.stdout {
		report = string(out.stdout)
	}
	if l.finds == nil {
		return out.exit > 1
	}
	return !out.ok() && !l.finds.MatchString(report)
}

// show adds findings to the report, and shows them in place of the output.
func (w *Look) show(found []Finding) {
	var shown strings.Builder
	for _, f := range found {
		w.Find(f)
		fmt.Fprintf(&shown, "%s:%d:%d: %s %s\n", f.Path, f.Line, f.Col, f.Rule, f.Message)
	}
	w.said = cmp.Or(shown.String(), "no findings\n")
}

// toolPath returns the copy of a tool in the tree, else its name on the PATH; "" if only a copy counts and there is
// none.
func (w *Look) toolPath(t Tool) string {
	for _, own := range t.Own {
		if at := w.Tool(t.Root, own, ""); at != "" {
			return at
		}
	}
	return t.Program
}

// configIn finds a configuration by its name, in the project or above it.
func configIn(names ...string) func(string, Project) string {
	return func(dir string, p Project) string {
		for _, name := range names {
			if at, ok := upwards(dir, p.Root, name); ok {
				return at
			}
		}
		return ""
	}
}

func pathTool(name, install string) func(string, Project, string) Tool {
	return func(_ string, _ Project, config string) Tool { return onPathTool(name, config, install) }
}

// golangciArgs depends on the version of the configuration, because each major version has its own options.
func golangciArgs(w *Look, _ Project, config string) []string {
	args := []string{"run", "--fix=false", "--allow-parallel-runners"}
	if golangciTwo.MatchString(readText(w.subject.Dir, ".", config)) {
		return append(args, "--output.json.path=stdout", "--output.text.path=stderr", "--show-stats=false")
	}
	return append(args, "--out-format=json")
}

var golangciTwo = lazyre.New(`(?m)^\s*\{?\s*"?version"?\s*[:=]\s*["']?2`)

func readGolangci(w *Look, p Project, r ran) ([]Finding, error) {
	var rep struct {
		Issues []struct {
			FromLinter, Text, Severity string
			Pos                        struct {
				Filename     string
				Line, Column int
			}
		}
	}
	text := r.stdout
	if at := slices.Index(text, '{'); at > 0 {
		text = text[at:]
	}
	if err := json.NewDecoder(strings.NewReader(string(text))).Decode(&rep); err != nil {
		return nil, err
	}
	var out []Finding
	for _, i := range rep.Issues {
		f := Finding{Rule: i.FromLinter, Severity: Error, Path: w.Rel(p.Root, i.Pos.Filename), Line: i.Pos.Line,
			Col: i.Pos.Column, Message: i.Text}
		switch {
		case i.FromLinter == "typecheck":
			f.Rule = RuleBuild
		case i.Severity == "warning" || i.Severity == "info":
			f.Severity = Warning
		}
		out = append(out, f)
	}
	return out, nil
}

var githubLine = lazyre.New(`(?m)^::(error|warning|notice) (.*?)::(.*)$`)

// readGitHub parses GitHub annotations, as biome and oxlint write them. Format findings only warn.
func readGitHub(w *Look, p Project, r ran) ([]Finding, error) {
	var out []Finding
	plain := strings.NewReplacer("%0A", " ", "%0D", " ", "%25", "%", "%3A", ":", "%2C", ",")
	for _, m := range githubLine.FindAllStringSubmatch(r.text, -1) {
		about := map[string]string{}
		for attribute := range strings.SplitSeq(m[2], ",") {
			name, value, _ := strings.Cut(attribute, "=")
			about[name] = plain.Replace(value)
		}
		title := strings.TrimPrefix(about["title"], "lint/")
		sev := map[string]Severity{"error": Error, "warning": Warning}[m[1]]
		if title == "format" || strings.HasPrefix(title, "assist") || title == "organizeImports" {
			sev = Warning
		}
		out = append(out, Finding{Rule: cmp.Or(title, "lint"), Severity: cmp.Or(sev, Note),
			Path: w.Rel(p.Root, about["file"]), Line: Atoi(about["line"]), Col: Atoi(about["col"]),
			Message: plain.Replace(m[3])})
	}
	return out, nil
}

// readJSON returns the reader of a linter whose standard output is one JSON value.
func readJSON[T any](findings func(T, *Look, Project) []Finding) func(*Look, Project, ran) ([]Finding, error) {
	return func(w *Look, p Project, r ran) ([]Finding, error) {
		var report T
		if err := json.Unmarshal(r.stdout, &report); err != nil {
			return nil, err
		}
		return findings(report, w, p), nil
	}
}

func readClippy(w *Look, p Project, r ran) ([]Finding, error) {
	var out []Finding
	for line := range strings.Lines(string(r.stdout)) {
		var m struct {
			Reason  string
			Message struct {
				Code           *struct{ Code string }
				Level, Message string
				Spans          []struct {
					FileName    string `json:"file_name"`
					LineStart   int    `json:"line_start"`
					ColumnStart int    `json:"column_start"`
					IsPrimary   bool   `json:"is_primary"`
				}
			}
		}
		if json.Unmarshal([]byte(line), &m) != nil || m.Reason != "compiler-message" || len(m.Message.Spans) == 0 {
			continue
		}
		f := Finding{Rule: "rustc", Severity: Warning, Message: m.Message.Message}
		if m.Message.Code != nil {
			f.Rule = strings.TrimPrefix(m.Message.Code.Code, "clippy::")
		}
		if m.Message.Level == "error" {
			f.Severity = Error
			if m.Message.Code == nil || strings.HasPrefix(m.Message.Code.Code, "E0") {
				f.Rule = RuleBuild
			}
		}
		for _, s := range m.Message.Spans {
			if s.IsPrimary || f.Line == 0 {
				f.Path, f.Line, f.Col = w.Rel(p.Root, s.FileName), s.LineStart, s.ColumnStart
			}
		}
		if !slices.Contains(out, f) { // a library and its tests are compiled separately
			out = append(out, f)
		}
	}
	return out, nil
}

type rubocopReport struct {
	Files []struct {
		Path     string
		Offenses []struct {
			Severity, Message string
			Cop               string `json:"cop_name"`
			Location          struct{ Line, Column int }
		}
	}
}

func (rep rubocopReport) findings(w *Look, p Project) []Finding {
	var out []Finding
	for _, file := range rep.Files {
		for _, o := range file.Offenses {
			f := Finding{Rule: o.Cop, Severity: Error, Path: w.Rel(p.Root, file.Path), Line: o.Location.Line,
				Col: o.Location.Column, Message: o.Message}
			switch {
			case o.Cop == "Lint/Syntax":
				f.Rule = RuleBuild
			case strings.HasPrefix(o.Cop, "Layout/"):
				f.Severity = Warning // only formatting
			case o.Severity == "info":
				f.Severity = Note
			}
			out = append(out, f)
		}
	}
	return out
}

type swiftlintReport []struct {
	File, Severity, Reason string
	Line, Character        int
	Rule                   string `json:"rule_id"`
}

func (list swiftlintReport) findings(w *Look, p Project) []Finding {
	var out []Finding
	for _, s := range list {
		sev := Warning
		if strings.EqualFold(s.Severity, "error") {
			sev = Error
		}
		out = append(out, Finding{Rule: s.Rule, Severity: sev, Path: w.Rel(p.Root, s.File), Line: s.Line, Col: s.Character,
			Message: s.Reason})
	}
	return out
}

type ktlintReport []struct {
	File   string
	Errors []struct {
		Line, Column  int
		Message, Rule string
	}
}

func (list ktlintReport) findings(w *Look, p Project) []Finding {
	var out []Finding
	for _, file := range list {
		for _, e := range file.Errors {
			out = append(out, Finding{Rule: e.Rule, Severity: Error, Path: w.Rel(p.Root, file.File), Line: e.Line, Col: e.Column,
				Message: e.Message})
		}
	}
	return out
}

var (
	// codePlace is a place with a message, as compilers and linters print it.
	codePlace = lazyre.New(`(?m)^\s*(?:[ew]: )?(?:file://)?(?P<path>(?:\./)?/?[\w@+./ -]+\.\w+):(?P<line>\d+):(?P<col>\d+):? (?:(?:error|warning): )?(?:\[(?P<rule>\w+)\] )?(?P<message>.+?)(?: \[(?P<rule2>\w+)\])?$`)
	// rustfmtFile is a file that is not formatted.
	rustfmtFile = lazyre.New(`(?m)^\s*(?P<path>\S.*?)\s*$`)
	// dotnetPlace is a change that `dotnet format` would make.
	dotnetPlace = lazyre.New(`(?m)^\s*(?P<path>.+?\.\w+)\((?P<line>\d+),(?P<col>\d+)\): (?:error|warning) (?P<rule>\w+): (?P<message>.+?)(?: \[[^\]]+\])?$`)
	// checkstylePlace is a finding of Checkstyle in Maven and in Gradle.
	checkstylePlace = lazyre.New(`(?m)^(?:\[ant:checkstyle\] )?\[(?:WARN|WARNING|(?P<error>ERROR))\]\s+(?P<path>\S+\.\w+):(?:\[(?P<line>\d+)(?:,(?P<col>\d+))?\]|(?P<line2>\d+)(?::(?P<col2>\d+))?:)\s+(?:\(\w+\)\s+(?P<rule>\w+):\s+)?(?P<message>.+?)(?:\s+\[(?P<rule2>\w+)\])?$`)
)

// readLines returns the reader of a linter that prints a line for each finding. The groups of expr are named after what
// they hold; line2 is another place of the line. A finding has the rest from base.
func readLines(expr *lazyre.Regexp, base Finding) func(*Look, Project, ran) ([]Finding, error) {
	return func(w *Look, p Project, r ran) ([]Finding, error) {
		var out []Finding
		for _, m := range expr.FindAllStringSubmatch(r.text, -1) {
			has := map[string]string{}
			for i, name := range expr.Re().SubexpNames() {
				has[name] = m[i]
			}
			f := base
			f.Path = w.existing(p.Root, has["path"])
			f.Line, f.Col = Atoi(cmp.Or(has["line"], has["line2"])), Atoi(cmp.Or(has["col"], has["col2"]))
			f.Rule, f.Message = cmp.Or(has["rule"], has["rule2"], f.Rule), cmp.Or(has["message"], f.Message)
			if has["error"] != "" {
				f.Severity = Error
			}
			if f.Path != "" && !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
		return out, nil
	}
}

var spotlessFile = lazyre.New(`(?m)^\s{4,}(\S+\.\w+)$`)

func readSpotless(w *Look, p Project, r ran) ([]Finding, error) {
	var out []Finding
	fix := "gradle spotlessApply"
	if path.Base(p.Marker) == "pom.xml" {
		fix = "mvn spotless:apply"
	}
	for _, m := range spotlessFile.FindAllStringSubmatch(r.text, -1) {
		if at := w.existing(p.Root, m[1]); at != "" {
			out = append(out, Finding{Rule: "spotless", Severity: Warning, Path: at,
				Message: "not formatted with spotless", Fix: fix})
		}
	}
	if !r.ok() && len(out) == 0 {
		out = append(out, Finding{Rule: "spotless", Severity: Warning,
			Message: "some files are not formatted with spotless", Fix: fix})
	}
	return out, nil
}

// ktlintConfig names the file in which a project configures ktlint itself, not the plugin of a build.
func ktlintConfig(dir string, p Project) string {
	if at, ok := upwards(dir, p.Root, ".editorconfig"); ok && strings.Contains(readText(dir, ".", at), "ktlint_") &&
		gradleText(dir, p, `ktlint|kotlinter|spotless`) == "" {
		return at
	}
	return ""
}

// gradleCheckstyle matches build files that apply Gradle's own Checkstyle plugin.
const gradleCheckstyle = `(?m)\bid\s*\(?\s*["']checkstyle["']|\bplugin\s*[:=]\s*["']checkstyle["']|^\s*checkstyle\s*(?:\{|$)`

// mavenPlugin names the file in which a build of Maven has a plugin.
func mavenPlugin(name string) func(string, Project) string {
	return func(dir string, p Project) string {
		if path.Base(p.Marker) == "pom.xml" && strings.Contains(readText(dir, p.Root, "pom.xml"), name) {
			return p.Marker
		}
		return ""
	}
}

// gradlePlugin names the file in which a build applies a plugin.
func gradlePlugin(id string) func(string, Project) string {
	return func(dir string, p Project) string { return gradleText(dir, p, id) }
}

// gradleText returns the build file that matches expr: at the root, or of the build's own plugins.
func gradleText(dir string, p Project, expr string) string {
	if !strings.Contains(p.Marker, "gradle") {
		return ""
	}
	re := regexp.MustCompile(expr)
	for _, name := range []string{"build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts",
		"gradle/libs.versions.toml"} {
		if re.MatchString(readText(dir, p.Root, name)) {
			return path.Join(p.Root, name)
		}
	}
	found := ""
	for _, plugins := range []string{"buildSrc", "build-logic", "gradle/plugins"} {
		for rel, name := range filesOf(dir, Project{Root: path.Join(p.Root, plugins)}, nil) {
			at := path.Join(p.Root, plugins, rel, name)
			if found == "" && (strings.HasSuffix(name, ".gradle") || strings.HasSuffix(name, ".kts")) &&
				re.MatchString(readText(dir, ".", at)) {
				found = at
			}
		}
	}
	return found
}

func gradleTool(dir string, p Project, config string) Tool {
	return buildTool(dir, p, config, "gradlew", onPathTool("gradle", config, "https://gradle.org/install"))
}

func mavenTool(dir string, p Project, config string) Tool {
	return buildTool(dir, p, config, "mvnw", onPathTool("mvn", config, "https://maven.apache.org/install.html"))
}

// buildTool returns the project's wrapper, which needs only Java, or the tool from PATH.
func buildTool(dir string, p Project, config, wrapper string, tool Tool) Tool {
	if exists(dir, p.Root, wrapper) {
		return Tool{Name: wrapper, Own: []string{wrapper}, Root: p.Root, Config: config}
	}
	return tool
}

func javaTool() Tool {
	return Tool{Name: "java", Program: "java", Version: []string{"-version"},
		Install: "install a JDK: https://adoptium.net"}
}

func dotnetTool(config string) Tool {
	return onPathTool("dotnet", config, "https://dotnet.microsoft.com/download")
}
