// Package section reads the parts of shared files that control checks: tables of pyproject.toml, scripts of package.json,
// targets of make, and the like.
package section

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"

	"github.com/runplan/runplan/gates/testcode"
	"github.com/runplan/runplan/internal/lazyre"
)

var (
	iniChecks = lazyre.New(`^(?:flake8|pycodestyle|pylint|pydocstyle|mypy|pytest|tool:pytest|coverage|isort|testenv|tox|aliases|bandit)`)
	firstWord = lazyre.New(`^[A-Za-z]+`)
)

// Section is a part of a shared file that controls checks.
type Section struct {
	Name, Value string
	Line        int
}

// Reader returns the function that reads the sections of a shared file; nil for all other files. A file that cannot be
// parsed is one section: any change of it counts. Scripts and targets are sections if they are checks by their names,
// or in ran.
func Reader(p string, ran map[string]bool) func(text string) []Section {
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
		return func(text string) []Section { return packageSections(text, ran) }
	case base == "deno.json" || base == "deno.jsonc":
		return sections(looseJSON, "tasks", "lint", "test", "fmt", "compilerOptions")
	case base == "tsconfig.json" || strings.HasPrefix(base, "tsconfig.") && strings.HasSuffix(base, ".json"):
		return sections(looseJSON, "compilerOptions", "include", "exclude", "files", "extends", "references")
	case base == "Makefile" || base == "makefile" || base == "GNUmakefile" || strings.HasSuffix(base, ".mk"):
		return func(text string) []Section { return makeSections(text, ran) }
	case base == "justfile" || base == "Justfile" || base == ".justfile":
		return func(text string) []Section { return makeSections(text, ran) }
	}
	return nil
}

// ByName returns the sections by name. It joins sections with the same name.
func ByName(list []Section) map[string]Section {
	out := map[string]Section{}
	for _, s := range list {
		if have, ok := out[s.Name]; ok {
			s.Value = have.Value + "\n" + s.Value
			s.Line = have.Line
		}
		out[s.Name] = s
	}
	return out
}

// whole returns an unreadable file as one section.
func whole(text string) []Section {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []Section{{"the file, which cannot be read,", text, 1}}
}

// sections returns the reader of the settings at some keys of a file. Each entry of a table is a section.
func sections(decode func(data []byte, to any) error, keys ...string) func(string) []Section {
	return func(text string) []Section {
		var doc map[string]any
		if decode([]byte(text), &doc) != nil {
			return whole(text)
		}
		var out []Section
		for _, k := range keys {
			v, ok := lookup(doc, strings.Split(k, "."))
			if !ok {
				continue
			}
			m, ok := v.(map[string]any)
			if !ok || len(m) == 0 {
				out = append(out, Section{k, encode(v), keyLine(text, k)})
			}
			for key, sub := range m {
				out = append(out, Section{k + "." + key, encode(sub), keyLine(text, key, k)})
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

var (
	iniHead = lazyre.New(`^\[([^\]]+)\]\s*$`)
	iniKey  = lazyre.New(`^[\w-]+\s*=`)
	// toxAside matches keys of tox that set the environment of the checks, not the checks.
	toxAside = lazyre.New(`^(?:base_?python|deps|description|requires|min_?version)\s*=`)
)

func iniSections(text string) []Section {
	var out []Section
	name, aside := "", false
	n := 0
	for l := range strings.Lines(text) {
		n++
		l = strings.TrimRight(l, "\r\n")
		if m := iniHead.FindStringSubmatch(l); m != nil {
			if name = ""; iniChecks.MatchString(m[1]) {
				name = "[" + m[1] + "]"
				out = append(out, Section{name, "", n})
			}
			aside = false
			continue
		}
		if iniKey.MatchString(l) {
			aside = strings.HasPrefix(name, "[testenv") && toxAside.MatchString(l)
		}
		t := strings.TrimSpace(l)
		if name != "" && !aside && t != "" && t[0] != '#' && t[0] != ';' {
			out[len(out)-1].Value += t + "\n"
		}
	}
	return out
}

func packageSections(text string, ran map[string]bool) []Section {
	out := sections(json.Unmarshal, "jest", "eslintConfig", "eslintIgnore", "prettier", "nyc", "c8", "mocha", "vitest",
		"ava", "tap", "lint-staged", "husky", "xo", "standard", "biome")(text)
	var doc struct{ Scripts map[string]string }
	_ = json.Unmarshal([]byte(text), &doc) // an unreadable file is one section
	for k, v := range doc.Scripts {
		if checks(k) || ran[k] || Installs(k) {
			out = append(out, Section{"scripts." + k, v, keyLine(text, k)})
		}
	}
	return out
}

// Installs reports whether a script of package.json of that name runs on each machine that installs the package.
func Installs(name string) bool {
	return slices.Contains([]string{"preinstall", "install", "postinstall"}, name)
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

// keyLine finds the line of a key in TOML or JSON, or else the line of the table that should contain it.
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
func makeSections(text string, ran map[string]bool) []Section {
	var out []Section
	in := false
	n := 0
	for l := range strings.Lines(text) {
		n++
		l = strings.TrimRight(l, "\r\n")
		if strings.HasPrefix(l, "\t") || strings.HasPrefix(l, "    ") && in {
			if in && strings.TrimSpace(l) != "" {
				out[len(out)-1].Value += strings.TrimSpace(l) + "\n"
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
				out = append(out, Section{"the target " + target, strings.TrimSpace(deps) + "\n", n})
			}
		}
	}
	return out
}
