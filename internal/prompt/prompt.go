// Package prompt makes the texts that models and agents get. A prompt is a markdown file with placeholders: {{name}}
// needs a value, {{name?}} becomes "(none)" without one. A missing value or file is an error, never a gap in the text
// (MODEL-14).
//
// Values are inserted literally; placeholders in them are not replaced. To print {{ itself, write \{{ in the prompt.
package prompt

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// None is the text of an optional slot without a value.
const None = "(none)"

// Template is a prompt file that has been read.
type Template struct {
	name  string
	parts []part
}

// part is literal text, or a slot.
type part struct {
	text, slot string
	optional   bool
}

// Parse reads a template. The name is for messages: the path of the file.
func Parse(name, text string) (Template, error) {
	t := Template{name: name}
	var literal strings.Builder
	for rest := text; ; {
		before, after, found := strings.Cut(rest, "{{")
		if !found {
			literal.WriteString(rest)
			break
		}
		if shown, escaped := strings.CutSuffix(before, `\`); escaped {
			literal.WriteString(shown + "{{")
			rest = after
			continue
		}
		literal.WriteString(before)
		line := 1 + strings.Count(text[:len(text)-len(after)], "\n")
		inner, behind, closed := strings.Cut(after, "}}")
		slot, optional := strings.CutSuffix(strings.TrimSpace(inner), "?")
		if !closed || !isName(slot) {
			return Template{},
				fmt.Errorf(`%s:%d: {{ does not begin a slot; write {{name}} with lower-case letters, digits and _, or \{{ for the braces`, name,
					line)
		}
		t.parts = append(t.parts, part{text: literal.String()}, part{slot: slot, optional: optional})
		literal.Reset()
		rest = behind
	}
	t.parts = append(t.parts, part{text: literal.String()})
	return t, nil
}

func isName(s string) bool {
	for i, r := range s {
		if !(r >= 'a' && r <= 'z' || i > 0 && (r == '_' || r >= '0' && r <= '9')) {
			return false
		}
	}
	return s != ""
}

// Slots returns the names of the slots, each once, in the order of the text.
func (t Template) Slots() []string {
	var out []string
	for _, p := range t.parts {
		if p.slot != "" && !slices.Contains(out, p.slot) {
			out = append(out, p.slot)
		}
	}
	return out
}

// Render fills in the slots. A blank value counts as missing. Values without a slot are ignored: a project's prompt
// need not use all of them.
func (t Template) Render(values map[string]string) (string, error) {
	size := 0
	for _, p := range t.parts {
		size += len(p.text) + len(values[p.slot])
	}
	var b strings.Builder
	b.Grow(size)
	var missing []string
	for _, p := range t.parts {
		v := values[p.slot]
		switch {
		case p.slot == "":
			b.WriteString(p.text)
		case strings.TrimSpace(v) != "":
			b.WriteString(v)
		case p.optional:
			b.WriteString(None)
		case !slices.Contains(missing, p.slot):
			missing = append(missing, p.slot)
		}
	}
	if len(missing) > 0 {
		return "", fmt.Errorf("prompt %s: no value for %s; the values are %s", t.name, listed(missing),
			listed(slices.Sorted(maps.Keys(values))))
	}
	return b.String(), nil
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// Layer is a folder of prompt files.
type Layer struct {
	Dir string // name of the folder in messages
	FS  fs.FS
}

// DirLayer returns a folder on disk. It need not be there.
func DirLayer(dir string) Layer { return Layer{dir, os.DirFS(dir)} }

// Set holds the prompts of all layers, by name.
type Set struct{ byName map[string]Template }

// Load reads all .md files of each layer. A file of a later layer replaces the file with the same name in an earlier
// layer. It may use only the slots of that file, because others would have no value.
func Load(layers ...Layer) (Set, error) {
	s := Set{map[string]Template{}}
	var errs []error
	for _, l := range layers {
		entries, err := fs.ReadDir(l.FS, ".")
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Set{}, fmt.Errorf("read the prompts in %s: %w", l.Dir, err)
		}
		for _, e := range entries {
			if name, ok := strings.CutSuffix(e.Name(), ".md"); ok && !e.IsDir() {
				errs = append(errs, s.add(l, name))
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return Set{}, err
	}
	return s, nil
}

// LoadEmbedded reads the folder prompts that a package embeds, and the layers above it. pkg is the folder of the
// package, for messages.
func LoadEmbedded(pkg string, files fs.FS, above ...Layer) (Set, error) {
	own, err := fs.Sub(files, "prompts")
	if err != nil {
		return Set{}, err
	}
	return Load(append([]Layer{{Dir: path.Join(pkg, "prompts"), FS: own}}, above...)...)
}

func (s Set) add(l Layer, name string) error {
	file := path.Join(l.Dir, name+".md")
	text, err := fs.ReadFile(l.FS, name+".md")
	if err != nil {
		return fmt.Errorf("read the prompt %s: %w", file, err)
	}
	t, err := Parse(file, string(text))
	if err != nil {
		return err
	}
	if old, ok := s.byName[name]; ok {
		for _, slot := range t.Slots() {
			if !slices.Contains(old.Slots(), slot) {
				return fmt.Errorf("%s: unknown slot {{%s}}; %s has %s", file, slot, old.name, listed(old.Slots()))
			}
		}
	}
	s.byName[name] = t
	return nil
}

// Names returns the names of all prompts, sorted.
func (s Set) Names() []string { return slices.Sorted(maps.Keys(s.byName)) }

// Get returns a prompt by the name of its file without .md.
func (s Set) Get(name string) (Template, error) {
	t, ok := s.byName[name]
	if !ok {
		return Template{}, fmt.Errorf("unknown prompt %q; prompts are %s", name, listed(s.Names()))
	}
	return t, nil
}

// Render fills in the prompt with a name.
func (s Set) Render(name string, values map[string]string) (string, error) {
	t, err := s.Get(name)
	if err != nil {
		return "", err
	}
	return t.Render(values)
}
