package tamper

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/testcode"
	"github.com/runplan/runplan/internal/lazyre"
)

var (
	strictOption = lazyre.New(`^(?:strict\w*|no(?:Implicit|Unused|Unchecked|Property|Fallthrough|Emit)\w*|exact\w*|alwaysStrict|useUnknown\w*|checkJs|forceConsistent\w*|isolatedDeclarations)$`)
	looseOption  = lazyre.New(`^(?:skip(?:Default)?LibCheck|allowUn\w+|suppress\w+|noCheck|allowJs)$`)
	iniChecks    = lazyre.New(`^(?:flake8|pycodestyle|pylint|pydocstyle|mypy|pytest|tool:pytest|coverage|isort|testenv|tox|aliases|bandit)`)
	firstWord    = lazyre.New(`^[A-Za-z]+`)
)

// section is a part of a shared file that controls checks.
type section struct {
	name, value string
	line        int
}

// reader returns the function that reads the sections of a shared file; nil for all other files. A file that cannot be
// parsed is one section: any change of it counts. Scripts and targets are sections if they are checks by their names,
// or in ran.
func reader(p string, ran map[string]bool) func(text string) []section {
	switch base := path.Base(p); {
	case base == "pyproject.toml":
		return sections(toml.Unmarshal,
			"tool.ruff", "tool.pytest", "tool.mypy", "tool.pyright", "tool.basedpyright", "tool.coverage", "tool.flake8",
			"tool.pylint", "tool.black",
			"tool.isort", "tool.tox", "tool.nox", "tool.bandit", "tool.ty", "tool.hatch.envs", "tool.poe", "tool.taskipy")
	case base == "Cargo.toml":
		return sections(toml.Unmarshal, "lints", "workspace.lints", "test", "package.autotests")
	case base == "setup.cfg" || base == "tox.ini":
		return iniSections
	case base == "package.json":
		return func(text string) []section { return packageSections(text, ran) }
	case base == "deno.json" || base == "deno.jsonc":
		return sections(looseJSON, "tasks", "lint", "test", "fmt", "compilerOptions")
	case base == "tsconfig.json" || strings.HasPrefix(base, "tsconfig.") && strings.HasSuffix(base, ".json"):
		return sections(looseJSON, "compilerOptions", "include", "exclude", "files", "extends", "references")
	case base == "Makefile" || base == "makefile" || base == "GNUmakefile" || strings.HasSuffix(base, ".mk"):
		return func(text string) []section { return makeSections(text, ran) }
	case base == "justfile" || base == "Justfile" || base == ".justfile":
		return func(text string) []section { return makeSections(text, ran) }
	}
	return nil
}

// config finds changed sections of shared files.
func (j judge) config(f gates.File) {
	read := reader(f.Path, j.commands())
	if f.Status == gates.Added {
		return
	}
	if read == nil {
		j.limits(f)
		return
	}
	old, now := byName(read(f.Before)), byName(read(f.After))
	named := j.s.Names(f.Path)
	both := maps.Clone(old)
	maps.Copy(both, now)
	for _, n := range slices.Sorted(maps.Keys(both)) {
		o, was := old[n]
		a, is := now[n]
		if was && is && o.value == a.value {
			continue
		}
		if was && strings.Contains(o.value, "no test specified") || strings.HasPrefix(n, "compilerOptions.") &&
			!lowered(n, o, was, a, is) {
			continue
		}
		sev, verb := j.unless(named, gates.Warning), "was changed"
		switch {
		case was && is && grown(n, o.value, a.value):
			sev, verb = gates.Note, "has more commands"
		case !is:
			verb = "was removed"
		case !was:
			verb = "is new"
			if !strings.HasPrefix(n, "compilerOptions.") {
				sev = gates.Warning
			}
			if n == "exclude" && !named && slices.ContainsFunc(j.s.Changed,
				func(p string) bool { return strings.Contains(a.value, `"`+p+`"`) }) {
				sev = gates.Error // the code of the batch is no longer checked
			}
		}
		line := a.line
		if f.Status == gates.Deleted {
			line = 0
		}
		j.find("tamper/config", sev, f.Path, line, "revert the change, or name the file in the plan",
			"%s controls what is checked, and %s%s", n, verb, fromTo(o, was, a, is))
	}
}

// limit matches a limit of coverage or warnings in a file of code that configures a build or tests.
var limit = lazyre.New(`(?i)\b(?:thresholds?|minimum_coverage\w*|(?:cov-)?fail[-_]under|max-warnings)\b\W.*\d|^\s*['"]?(?:lines|branches|functions|statements)['"]?\s*:\s*\d`)

// limits finds changed limits in files that are code.
func (j judge) limits(f gates.File) {
	if !builds.MatchString(f.Path) && path.Ext(f.Path) != ".rb" && path.Base(f.Path) != "Rakefile" {
		return
	}
	for _, l := range (gates.File{Before: f.After, After: f.Before}).AddedLines() { // the removed lines
		if limit.MatchString(l.Text) && !comment(l.Text) {
			j.find("tamper/config", j.unless(j.s.Names(f.Path), gates.Warning), f.Path, 0,
				"revert the change, or name the file in the plan",
				"a limit of the checks was changed; it was: %s", strings.TrimSpace(l.Text))
		}
	}
}

// commands returns the scripts and targets that commands of the batch run, and that its prose does not mention.
func (j judge) commands() map[string]bool {
	out := map[string]bool{}
	prose := j.s.Batch.Title + "\n" + j.s.Batch.Text
	list := j.s.Batch.Checks()
	for _, c := range list {
		prose = strings.ReplaceAll(prose, c.Run, "")
	}
	for _, c := range list {
		for i, w := range strings.Fields(c.Run) {
			if i == 0 && !slices.Contains([]string{"make", "just", "npm", "pnpm", "yarn", "bun"}, w) {
				break
			}
			// A common word such as "style" alone does not ask for a change of the script of that name.
			q := regexp.QuoteMeta(w)
			out[w] = !regexp.MustCompile(`[\x60"']` + q + `\b|\b` + q +
				`[\x60"']|(?i:script|target|task|recipe|make|run|just|npm|pnpm|yarn|bun)s?[ \x60"']+` + q +
				`\b|\b` + q + `[ \x60"']+(?i:script|target|task|recipe)`).MatchString(prose)
		}
	}
	return out
}

// further matches a command that only runs if all before it succeeded, and that hides no failure.
var further = lazyre.New(`^(?:\s*&&\s*[^;&|\n]+)+$`)

// grown reports whether the commands of a section are the old ones, and others after them. These cannot hide that one of
// the old ones fails.
func grown(name, old, now string) bool {
	if strings.HasPrefix(name, "scripts.") {
		rest, ok := strings.CutPrefix(now, old)
		return ok && further.MatchString(rest)
	}
	if !strings.HasPrefix(name, "the target ") && !strings.HasPrefix(name, "[testenv") {
		return false
	}
	apart := func(s string) string { return strings.TrimSpace(firstCommand.ReplaceAllString(s, "commands =\n$1")) }
	rest, ok := strings.CutPrefix(apart(now), apart(old)+"\n")
	return ok && !iniKey.MatchString(rest)
}

var (
	firstCommand = lazyre.New(`(?m)^commands *= *(\S)`)
	iniKey       = lazyre.New(`(?m)^[\w-]+ *=`)
)

// lowered reports whether a compiler option makes the checker less strict. Unrelated options do not count.
func lowered(name string, o section, was bool, a section, is bool) bool {
	key := strings.TrimPrefix(name, "compilerOptions.")
	switch {
	case looseOption.MatchString(key) || key == "noCheck":
		return is && a.value == "true" && !(was && o.value == "true")
	case strictOption.MatchString(key):
		return was && o.value == "true" && !(is && a.value == "true") || is && a.value == "false" &&
			!(was && o.value == "false")
	}
	return false
}

func fromTo(o section, was bool, a section, is bool) string {
	short := func(s string) string {
		s = strings.Join(strings.Fields(s), " ")
		if len(s) > 60 {
			return ""
		}
		return s
	}
	from, to := short(o.value), short(a.value)
	switch {
	case was && is && from != "" && to != "":
		return fmt.Sprintf(": from %s to %s", from, to)
	case !is && from != "":
		return ": " + from
	case !was && to != "":
		return ": " + to
	}
	return ""
}

func byName(list []section) map[string]section {
	out := map[string]section{}
	for _, s := range list {
		if have, ok := out[s.name]; ok {
			s.value = have.value + "\n" + s.value
			s.line = have.line
		}
		out[s.name] = s
	}
	return out
}

// whole returns the one section of a file that cannot be read.
func whole(text string) []section {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []section{{"the file, which cannot be read,", text, 1}}
}

// sections returns the reader of the settings at some keys of a file. Each entry of a table is a section.
func sections(decode func(data []byte, to any) error, keys ...string) func(string) []section {
	return func(text string) []section {
		var doc map[string]any
		if decode([]byte(text), &doc) != nil {
			return whole(text)
		}
		var out []section
		for _, k := range keys {
			v, ok := lookup(doc, strings.Split(k, "."))
			if !ok {
				continue
			}
			m, ok := v.(map[string]any)
			if !ok || len(m) == 0 {
				out = append(out, section{k, encode(v), keyLine(text, k)})
			}
			for key, sub := range m {
				out = append(out, section{k + "." + key, encode(sub), keyLine(text, key, k)})
			}
		}
		return out
	}
}

func lookup(doc map[string]any, keys []string) (any, bool) {
	v, ok := doc[keys[0]]
	if !ok || len(keys) == 1 {
		return v, ok
	}
	sub, isMap := v.(map[string]any)
	if !isMap {
		return nil, false
	}
	return lookup(sub, keys[1:])
}

func encode(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v) // dates
	}
	return string(data)
}

var iniHead = lazyre.New(`^\[([^\]]+)\]\s*$`)

func iniSections(text string) []section {
	var out []section
	name := ""
	n := 0
	for l := range strings.Lines(text) {
		n++
		l = strings.TrimRight(l, "\r\n")
		if m := iniHead.FindStringSubmatch(l); m != nil {
			if name = ""; iniChecks.MatchString(m[1]) {
				name = "[" + m[1] + "]"
				out = append(out, section{name, "", n})
			}
			continue
		}
		t := strings.TrimSpace(l)
		if name != "" && t != "" && t[0] != '#' && t[0] != ';' {
			out[len(out)-1].value += t + "\n"
		}
	}
	return out
}

func packageSections(text string, ran map[string]bool) []section {
	out := sections(json.Unmarshal, "jest", "eslintConfig", "eslintIgnore", "prettier", "nyc", "c8", "mocha", "vitest",
		"ava", "tap", "lint-staged", "husky", "xo", "standard", "biome")(text)
	var doc struct{ Scripts map[string]string }
	_ = json.Unmarshal([]byte(text), &doc) // an unreadable file is one section
	for k, v := range doc.Scripts {
		if checks(k) || ran[k] {
			out = append(out, section{"scripts." + k, v, keyLine(text, k)})
		}
	}
	return out
}

// checks reports whether a script or target of that name is a check.
func checks(name string) bool {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "pre"), "post")
	first := firstWord.FindString(name)
	return slices.Contains([]string{"test", "tests", "lint", "check", "checks", "typecheck", "types", "tsc", "coverage",
		"cover", "ci", "verify", "validate", "vet", "e2e", "unit", "integration", "audit", "commit", "push"}, first)
}

// looseJSON reads JSON with comments and trailing commas.
func looseJSON(data []byte, to any) error {
	text, err := hujson.Standardize(data)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

// keyLine finds the line of a key in TOML or JSON; if it is not found, that of the table around it.
func keyLine(text string, keys ...string) int {
	for _, key := range keys {
		for _, form := range []string{"\n" + key, "[" + key, `"` + key + `"`} {
			if i := strings.Index(text, form); i >= 0 {
				return testcode.LineAt(text, i+1)
			}
		}
	}
	return 1
}

var makeHead = lazyre.New(`^([\w./-]+(?:[ \t]+[\w./-]+)*)[ \t]*::?(?:[ \t]|$)(.*)$`)

// makeSections reads the recipes of targets that run checks.
func makeSections(text string, ran map[string]bool) []section {
	var out []section
	in := false
	n := 0
	for l := range strings.Lines(text) {
		n++
		l = strings.TrimRight(l, "\r\n")
		if strings.HasPrefix(l, "\t") || strings.HasPrefix(l, "    ") && in {
			if in && strings.TrimSpace(l) != "" {
				out[len(out)-1].value += strings.TrimSpace(l) + "\n"
			}
			continue
		}
		if strings.TrimSpace(l) == "" {
			continue
		}
		in = false
		m := makeHead.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		for _, target := range strings.Fields(m[1]) {
			if (checks(target) || ran[target]) && !in {
				in = true
				deps, _, _ := strings.Cut(m[2], "##") // a help text
				out = append(out, section{"the target " + target, strings.TrimSpace(deps) + "\n", n})
			}
		}
	}
	return out
}
