package promise

import (
	"context"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"golang.org/x/mod/modfile"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
)

// RuleNewDependency is broken by a dependency that the plan does not want.
const RuleNewDependency = "new-dependency"

var (
	// noneNew matches a sentence that wants no new dependencies.
	noneNew = lazyre.New(`(?i)\b(?:no|zero|without(?: (?:any|adding|introducing|pulling in))*|` +
		`(?:not|never|n't) (?:add|introduce|pull in|bring in|use|need|require|install)(?: any)?)\s+` +
		`(?:(?:new|additional|extra|further|external|third[- ]party|3rd[- ]party|runtime|production|npm|pip|go|python)\s+)+` +
		`(?:dependenc(?:y|ies)|packages|modules|librar(?:y|ies)|crates|gems)\b|` +
		`\b(?:only|just|nothing but) (?:(?:use|uses|with|from) )?(?:the |go's |python's |node's )?(?:\w+(?:'s)? )?(?:standard library|stdlib)\b|` +
		`\b(?:standard library|stdlib)(?: |-)only\b|\bzero[- ]dependency\b`)
	// mayNew matches what makes that a wish, or a sentence about something else.
	mayNew = lazyre.New(`(?i)\b(?:prefer\w*|if possible|where possible|ideally|unless|(?:dependenc\w+|modules|packages) (?:on|between|among)|already|currently)\b`)
	// inUse matches sentences that speak only of the dependencies of the program itself.
	inUse = lazyre.New(`(?i)\b(?:runtime|production)\b`)

	requirementRE = lazyre.New(`(?m)^\s*([A-Za-z0-9][\w.-]*)`)
	gemRE         = lazyre.New(`(?m)^[^#\n]*?\b(?:gem|add_(?:runtime_|development_)?dependency)[ (]+['"]([\w-]+)['"]`)
)

// noNewDependencies compares the dependencies that the change declares with what the plan or the batch wants.
func (o Options) noNewDependencies(ctx context.Context, l *gates.Look) error {
	s := l.Subject()
	text := o.Preamble + "\n\n" + s.Batch.Title + ".\n\n" + s.Batch.Text
	wanted, program := wantsNoneNew(text)
	if wanted == "" || s.Diff == nil {
		return nil
	}
	files, _, err := gates.Files(ctx, s.Diff, func(c gates.Change) bool { return !language.Foreign(c.Path) })
	if err != nil {
		return err
	}
	before, changed := map[string]bool{}, map[string]bool{}
	for _, f := range files {
		changed[f.Path] = true
		for name := range declared(f.Path, f.Before) {
			before[name] = true
		}
	}
	w := wording{o: o, l: l}
	for _, p := range o.in(func(p string) bool { return isManifest(p) && !changed[p] }) {
		if text, ok := w.read(p); ok {
			for name := range declared(p, text) {
				before[name] = true
			}
		}
	}
	for _, f := range files {
		now := declared(f.Path, f.After)
		for _, name := range slices.Sorted(maps.Keys(now)) {
			if !before[name] && !(program && now[name]) && !asksFor(text, name) {
				w.broken(RuleNewDependency, f.Path, "the plan says \""+phrase.Cut(wanted, 80)+"\", but the change adds the dependency "+
					name, "do without it")
			}
		}
	}
	return nil
}

// wantsNoneNew returns the sentence of a text that wants no new dependencies, or "". If program is set, it speaks only
// of those of the program itself.
func wantsNoneNew(text string) (wanted string, program bool) {
	for _, s := range sentence.Split(fenced.ReplaceAllString(text, ""), -1) {
		if s = phrase.Line(s); noneNew.MatchString(s) && !mayNew.MatchString(s) {
			if wanted == "" || program {
				wanted, program = s, inUse.MatchString(s)
			}
		}
	}
	return wanted, program
}

// asksFor reports whether a text has the name of a dependency, or the last part of its path: it may ask for that one.
func asksFor(text, name string) bool {
	text, name = strings.ToLower(text), strings.ToLower(name)
	if base, version, ok := strings.Cut(path.Base(name), "v"); ok && base == "" && strings.Trim(version, "0123456789") == "" {
		name = path.Dir(name)
	}
	return strings.Contains(text, name) || strings.Contains(text, path.Base(name))
}

// isManifest reports whether a file may declare dependencies that [declared] reads.
func isManifest(p string) bool {
	base := path.Base(p)
	switch base {
	case "go.mod", "package.json", "Cargo.toml", "pyproject.toml", "composer.json", "Gemfile":
		return true
	}
	return path.Ext(base) == ".gemspec" || strings.HasPrefix(base, "requirements") && path.Ext(base) == ".txt"
}

// declared returns the direct dependencies that a file declares. The value tells whether only development needs them. A
// file that is not a manifest, or cannot be parsed, has none.
func declared(p, text string) map[string]bool {
	out := map[string]bool{}
	switch base := path.Base(p); {
	case !isManifest(p) || text == "":
	case base == "go.mod":
		if mod, err := modfile.ParseLax(p, []byte(text), nil); err == nil {
			for _, r := range mod.Require {
				if !r.Indirect {
					out[r.Mod.Path] = false
				}
			}
		}
	case path.Ext(base) == ".json":
		var tables map[string]any
		_ = json.Unmarshal([]byte(text), &tables) // npm itself reports errors in it
		fromTables(out, tables)
	case path.Ext(base) == ".toml":
		var tables map[string]any
		_ = toml.Unmarshal([]byte(text), &tables) // so do cargo and pip
		fromTables(out, tables)
	case path.Ext(base) == ".txt":
		for _, m := range requirementRE.FindAllStringSubmatch(text, -1) {
			out[m[1]] = strings.Contains(base, "dev") || strings.Contains(base, "test")
		}
	default:
		for _, m := range gemRE.FindAllStringSubmatch(text, -1) {
			out[m[1]] = strings.Contains(m[0], "development")
		}
	}
	return out
}

// tablesOf are the names of the tables and lists of dependencies in package.json, composer.json, Cargo.toml and
// pyproject.toml. The value tells whether only development needs them.
var tablesOf = map[string]bool{"dependencies": false, "optionalDependencies": false, "peerDependencies": false,
	"optional-dependencies": false, "require": false, "devDependencies": true, "dev-dependencies": true,
	"build-dependencies": false, "require-dev": true, "dependency-groups": true}

// fromTables adds the dependencies in tables at any depth, such as [target.x.dependencies] and
// [tool.poetry.group.dev.dependencies].
func fromTables(out map[string]bool, tables map[string]any) {
	for key, value := range tables {
		dev, is := tablesOf[key]
		table, _ := value.(map[string]any)
		switch list, _ := value.([]any); {
		case is && list != nil:
			fromList(out, list, dev)
		case is:
			for name, x := range table {
				if list, ok := x.([]any); ok { // pyproject.toml has lists in a table of groups
					fromList(out, list, dev)
				} else if name != "php" && name != "python" && !strings.HasPrefix(name, "ext-") {
					out[name] = dev
				}
			}
		default:
			fromTables(out, table)
		}
	}
}

// fromList adds the requirements of a list: "requests>=2".
func fromList(out map[string]bool, list []any, dev bool) {
	for _, x := range list {
		text, _ := x.(string)
		if m := requirementRE.FindStringSubmatch(text); m != nil {
			out[m[1]] = dev
		}
	}
}
