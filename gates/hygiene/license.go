package hygiene

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"golang.org/x/mod/module"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/glob"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/proc"
)

// License makes the gate for licences of new dependencies. It reads them from this machine: vendor, node_modules, a
// virtual environment or Go's module cache (GATE-07). It does not use the network. An unreadable licence is a finding,
// not a pass.
func License() gates.Gate {
	return gates.New(info("license", true), func(ctx context.Context, l *gates.Look) error {
		files, ok, err := l.Changed(ctx, func(c gates.Change) bool {
			return c.Status != gates.Deleted && dependencies(c.Path) != nil &&
				!language.Foreign(c.Path)
		})
		if err != nil || !ok {
			return err
		}
		s := l.Subject()
		own := licenceOf(s.Dir)
		seen := map[string]bool{}
		for _, f := range files {
			read := dependencies(f.Path)
			old := lists.SetBy(read(f.Before), func(d dependency) string { return d.name })
			for _, d := range read(f.After) {
				if old[d.name] || seen[d.kind+d.name] {
					continue
				}
				seen[d.kind+d.name] = true
				find, bad := judgeLicence(d, d.licence(s, path.Dir(f.Path)), own)
				if !bad {
					continue
				}
				find.Path, find.Line = f.Path, lineOf(f.After, d.name)
				l.Find(find)
			}
		}
		return nil
	})
}

func judgeLicence(d dependency, name, own string) (gates.Finding, bool) {
	f := gates.Finding{Severity: gates.Warning}
	switch class(name) {
	case permissive:
		return f, false
	case strong:
		if class(own) == strong {
			return f, false
		}
		f.Rule, f.Message, f.Fix = "license/copyleft",
			fmt.Sprintf("%s is under %s, which applies to code that uses it", d.name, name),
			"use another library, or have a person decide"
		if !d.dev {
			f.Severity = gates.Error
		}
	case weak:
		f.Rule, f.Message = "license/weak-copyleft",
			fmt.Sprintf("%s is under %s, which requires changes to it to be published", d.name, name)
	default:
		f.Rule, f.Severity, f.Message = "license/unknown", gates.Note,
			fmt.Sprintf("the licence of %s cannot be read here", d.name)
		if name != "" {
			f.Message = fmt.Sprintf("the licence of %s, %q, is unknown", d.name, name)
		}
	}
	return f, true
}

func lineOf(text, name string) int {
	if i := strings.Index(text, name); i >= 0 {
		return 1 + strings.Count(text[:i], "\n")
	}
	return 1
}

// dependency is a required library.
type dependency struct {
	kind, name, version string
	dev                 bool
}

// dependencies returns the reader for dependencies in a file with that name; nil for other files.
func dependencies(p string) func(string) []dependency {
	switch base := path.Base(p); {
	case base == "go.mod":
		return goDependencies
	case base == "package.json":
		return nodeDependencies
	case base == "pyproject.toml":
		return pyprojectDependencies
	case strings.HasPrefix(base, "requirements") && strings.HasSuffix(base, ".txt"):
		return func(text string) []dependency {
			return requirements(strings.Split(text, "\n"), strings.Contains(base, "dev") || strings.Contains(base, "test"))
		}
	}
	return nil
}

var goRequire = lazyre.New(`^\s*(?:require\s+)?([\w.~-]+\.[\w.~-]+(?:/[\w.~+-]+)*)\s+(v[\w.+-]+)`)

func goDependencies(text string) []dependency {
	var out []dependency
	for l := range strings.Lines(text) {
		if _, to, ok := strings.Cut(l, "=>"); ok {
			l = to
		}
		if m := goRequire.FindStringSubmatch(l); m != nil {
			out = append(out, dependency{kind: "go", name: m[1], version: m[2]})
		}
	}
	return out
}

func nodeDependencies(text string) []dependency {
	var p struct {
		Deps     map[string]json.RawMessage `json:"dependencies"`
		Optional map[string]json.RawMessage `json:"optionalDependencies"`
		Dev      map[string]json.RawMessage `json:"devDependencies"`
	}
	_ = json.Unmarshal([]byte(text), &p) // a part of another type is left out
	var out []dependency
	for i, m := range []map[string]json.RawMessage{p.Deps, p.Optional, p.Dev} {
		for name := range m {
			if name != "" && !strings.Contains(name, "..") && !strings.HasPrefix(name, "/") {
				out = append(out, dependency{kind: "node", name: name, dev: i == 2})
			}
		}
	}
	slices.SortFunc(out, func(a, b dependency) int { return strings.Compare(a.name, b.name) })
	return out
}

func pyprojectDependencies(text string) []dependency {
	var p struct {
		Project struct {
			Dependencies []string            `toml:"dependencies"`
			Optional     map[string][]string `toml:"optional-dependencies"`
		} `toml:"project"`
		Tool struct {
			Poetry struct {
				Dependencies map[string]any `toml:"dependencies"`
			} `toml:"poetry"`
		} `toml:"tool"`
	}
	if toml.Unmarshal([]byte(text), &p) != nil {
		return nil
	}
	out := requirements(p.Project.Dependencies, false)
	for name, list := range p.Project.Optional {
		out = append(out, requirements(list, name == "dev" || name == "test" || name == "lint")...)
	}
	for name := range p.Tool.Poetry.Dependencies {
		if name != "python" {
			out = append(out, requirements([]string{name}, false)...)
		}
	}
	slices.SortFunc(out, func(a, b dependency) int { return strings.Compare(a.name, b.name) })
	return out
}

var pyName = lazyre.New(`^\s*([A-Za-z0-9][A-Za-z0-9._-]*)`)

func requirements(list []string, dev bool) []dependency {
	var out []dependency
	for _, r := range list {
		if m := pyName.FindStringSubmatch(r); m != nil {
			out = append(out, dependency{kind: "python", name: m[1], dev: dev})
		}
	}
	return out
}

// licence returns the licence that the library declares; "" if the library is not on this machine or declares none.
func (d dependency) licence(s gates.Subject, root string) string {
	switch d.kind {
	case "go":
		return d.goLicence(s, root)
	case "node":
		for at := root; ; at = path.Dir(at) {
			dir := filepath.Join(s.Dir, filepath.FromSlash(at), "node_modules", filepath.FromSlash(d.name))
			if name := packageLicence(dir); name != "" {
				return name
			}
			if at == "." || at == "/" {
				return ""
			}
		}
	case "python":
		return d.pythonLicence(s, root)
	}
	return ""
}

func (d dependency) goLicence(s gates.Subject, root string) string {
	if name := licenceOf(filepath.Join(s.Dir, filepath.FromSlash(root), "vendor",
		filepath.FromSlash(d.name))); name != "" {
		return name
	}
	cache := proc.Getenv(s.Env, "GOMODCACHE")
	if list := filepath.SplitList(proc.Getenv(s.Env, "GOPATH")); cache == "" && len(list) > 0 {
		cache = filepath.Join(list[0], "pkg", "mod")
	}
	if home := proc.Getenv(s.Env, "HOME"); cache == "" && home != "" {
		cache = filepath.Join(home, "go", "pkg", "mod")
	}
	if cache == "" {
		return ""
	}
	escaped, err := module.EscapePath(d.name)
	if err != nil {
		return ""
	}
	return licenceOf(filepath.Join(cache, filepath.FromSlash(escaped)+"@"+d.version))
}

func packageLicence(dir string) string {
	var p struct {
		License  json.RawMessage `json:"license"`
		Licenses []struct {
			Type string `json:"type"`
		} `json:"licenses"`
	}
	if json.Unmarshal([]byte(readSome(filepath.Join(dir, "package.json"))), &p) != nil {
		return ""
	}
	var name string
	var typed struct {
		Type string `json:"type"`
	}
	switch {
	case json.Unmarshal(p.License, &name) == nil && name != "" && !strings.HasPrefix(strings.ToUpper(name), "SEE "):
		return name
	case json.Unmarshal(p.License, &typed) == nil && typed.Type != "":
		return typed.Type
	case len(p.Licenses) > 0:
		return p.Licenses[0].Type
	}
	return licenceOf(dir)
}

var metaLicence = lazyre.New(`(?m)^(?:License-Expression|License): *(\S.*)$|^Classifier: License :: OSI Approved :: (.+)$`)

func (d dependency) pythonLicence(s gates.Subject, root string) string {
	want := normal(d.name)
	for _, venv := range []string{".venv", "venv", "env", "../.venv"} {
		base := filepath.Join(s.Dir, filepath.FromSlash(path.Join(root, venv)))
		for _, site := range append(glob.Below(base, "lib/python*/site-packages"), filepath.Join(base, "Lib", "site-packages")) {
			entries, _ := os.ReadDir(site)
			for _, e := range entries {
				name, _, ok := strings.Cut(e.Name(), "-")
				if !ok || !strings.HasSuffix(e.Name(), ".dist-info") || normal(name) != want {
					continue
				}
				best := ""
				for _, m := range metaLicence.FindAllStringSubmatch(readSome(filepath.Join(site, e.Name(), "METADATA")), 20) {
					if name := strings.TrimSpace(m[1] + m[2]); best == "" || class(best) == unknown {
						best = name
					}
				}
				if class(best) != unknown {
					return best
				}
				info := filepath.Join(site, e.Name())
				return cmp.Or(licenceOf(info), licenceOf(filepath.Join(info, "licenses")), best)
			}
		}
	}
	return ""
}

func normal(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "-", ".", "-").Replace(name))
}

// licenceOf identifies the licence text in dir; "" if there is none or it is unknown.
func licenceOf(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	for _, e := range entries {
		upper := strings.ToUpper(e.Name())
		if e.IsDir() || !strings.HasPrefix(upper, "LICEN") && !strings.HasPrefix(upper, "COPYING") &&
			!strings.HasPrefix(upper, "UNLICENSE") {
			continue
		}
		if name := nameOf(readSome(filepath.Join(dir, e.Name()))); name != "" {
			return name
		}
	}
	return ""
}

// nameOf identifies a licence by words of its text.
func nameOf(text string) string {
	text = strings.ToLower(phrase.Line(text))
	head := text[:min(len(text), 600)]
	for _, k := range [][2]string{
		{"gnu affero general public license", "AGPL-3.0"}, {"gnu lesser general public license", "LGPL"},
		{"gnu library general public license", "LGPL"},
		{"gnu general public license", "GPL"}, {"server side public license", "SSPL-1.0"},
		{"mozilla public license", "MPL-2.0"},
		{"eclipse public license", "EPL"}, {"common development and distribution", "CDDL"}, {"european union public", "EUPL"},
		{"business source license", "BUSL"}, {"apache license", "Apache-2.0"},
	} {
		if strings.Contains(head, k[0]) {
			return k[1]
		}
	}
	for _, k := range [][2]string{
		{"permission is hereby granted, free of charge", "MIT"}, {"redistribution and use in source and binary forms", "BSD"},
		{"permission to use, copy, modify, and", "ISC"}, {"this is free and unencumbered software", "Unlicense"},
		{"creative commons zero", "CC0-1.0"},
		{"cc0 1.0 universal", "CC0-1.0"}, {"this software is provided 'as-is'", "Zlib"},
		{"boost software license", "BSL-1.0"},
	} {
		if strings.Contains(text, k[0]) {
			return k[1]
		}
	}
	return ""
}

type licenceClass int

const (
	unknown licenceClass = iota
	permissive
	weak
	strong
)

// class rates a licence name or expression: the least strict of alternatives, the strictest of a conjunction.
func class(name string) licenceClass {
	name = strings.Trim(name, "() ")
	if parts := regexp.MustCompile(`(?i)\s+or\s+|\s*/\s*`).Split(name, -1); len(parts) > 1 {
		best := unknown
		for _, p := range parts {
			if c := class(p); c != unknown && (best == unknown || c < best) {
				best = c
			}
		}
		return best
	}
	if parts := regexp.MustCompile(`(?i)\s+and\s+`).Split(name, -1); len(parts) > 1 {
		worst := permissive
		for _, p := range parts {
			c := class(p)
			if c == unknown {
				return unknown
			}
			worst = max(worst, c)
		}
		return worst
	}
	n := strings.ToLower(name)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(n, w) })
	}
	switch {
	case n == "":
		return unknown
	case has("lgpl", "lesser general", "mpl", "mozilla public", "epl-", "eclipse public", "cddl", "cpl-", "ms-rl") ||
		n == "epl":
		return weak
	case has("gpl", "general public license", "sspl", "eupl", "osl-", "cc-by-sa", "rpl-", "cecill-2", "affero"):
		return strong
	case has("mit", "bsd", "apache", "isc", "unlicense", "cc0", "zlib", "boost", "bsl-1", "python", "psf", "0bsd", "wtfpl",
		"cc-by-3", "cc-by-4", "artistic-2", "postgresql", "blueoak"):
		return permissive
	}
	return unknown
}

// readSome reads the beginning of a file; a missing one is empty.
func readSome(file string) string { return gates.ReadSome(file, 256<<10) }
