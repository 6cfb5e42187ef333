package prompt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestRender(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		values map[string]string
		want   string
	}{
		"no slots": {"Do it.\n", nil, "Do it.\n"},
		"slots, one of them twice": {"{{who}} and {{ who }}: {{what}}", map[string]string{"who": "a", "what": "b"},
			"a and a: b"},
		"an optional one is absent":                {"Notes: {{notes?}}.", nil, "Notes: (none)."},
		"an optional one is blank":                 {"{{notes?}}", map[string]string{"notes": " \n"}, "(none)"},
		"an optional one is there":                 {"{{notes?}}", map[string]string{"notes": "x"}, "x"},
		"placeholders in a value are not replaced": {"{{a}}{{b?}}", map[string]string{"a": "{{b}}", "b": `\{{`}, `{{b}}\{{`},
		"braces that are shown": {`Write \{{ .Name }} and {{a}}`, map[string]string{"a": "1"},
			"Write {{ .Name }} and 1"},
		"a value too many":       {"{{a}}", map[string]string{"a": "1", "z": "2"}, "1"},
		"braces that close only": {"a }} b", nil, "a }} b"},
		"nothing at all":         {"", nil, ""},
	} {
		tpl, err := Parse("x.md", c.text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := tpl.Render(c.values); err != nil || got != c.want {
			t.Errorf("%s: %q (%v), want %q", name, got, err, c.want)
		}
	}
}

// A missing value is an error that lists the missing and the given values.
func TestRenderListsMissingValues(t *testing.T) {
	tpl, err := Parse("triage.md", "{{a}} {{b}} {{a}} {{c}}")
	if err != nil {
		t.Fatal(err)
	}
	for want, values := range map[string]map[string]string{
		"prompt triage.md: no value for a, c; the values are b, z":    {"b": "1", "z": "2"},
		"prompt triage.md: no value for a, b, c; the values are none": nil,
		"prompt triage.md: no value for b; the values are a, b, c":    {"a": "1", "b": "\t", "c": "3"},
	} {
		if _, err := tpl.Render(values); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestParseRefusesInvalidSlots(t *testing.T) {
	for text, line := range map[string]string{
		"a\n{{b": "p.md:2:", "{{}}": "p.md:1:", "\n\n{{Name}}": "p.md:3:", "{{a-b}}": "p.md:1:", "{{1a}}": "p.md:1:",
		"{{a}} {{ b c }}": "p.md:1:", "{{?}}": "p.md:1:",
	} {
		if _, err := Parse("p.md", text); err == nil || !strings.HasPrefix(err.Error(), line) {
			t.Errorf("%q: %v, want %s", text, err, line)
		}
	}
}

func layer(dir string, files map[string]string) Layer {
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return Layer{dir, m}
}

func TestLayers(t *testing.T) {
	built := layer("built-in", map[string]string{"a.md": "A {{x}}", "b.md": "B", "notes.txt": "{{"})
	mine := filepath.Join(t.TempDir(), "prompts")
	if err := os.Mkdir(mine, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(mine, "a.md"), []byte("mine {{x}}"), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := Load(built, DirLayer(filepath.Join(mine, "none")), DirLayer(mine))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b"}, s.Names()); diff != "" {
		t.Error(diff)
	}
	if got, err := s.Render("a", map[string]string{"x": "1"}); err != nil || got != "mine 1" {
		t.Errorf("%q (%v)", got, err)
	}
	if _, err := s.Render("c", nil); err == nil || err.Error() != `unknown prompt "c"; prompts are a, b` {
		t.Error(err)
	}
}

// Load reports all errors of the files at once.
func TestLoadReportsAllErrors(t *testing.T) {
	built := layer("built-in", map[string]string{"a.md": "A {{x}} {{y?}}", "b.md": "B"})
	_, err := Load(built, layer("p", map[string]string{"a.md": "{{z}}", "b.md": "{{x}}", "c.md": "{{ }}"}))
	want := "p/a.md: unknown slot {{z}}; built-in/a.md has x, y\n" +
		"p/b.md: unknown slot {{x}}; built-in/b.md has none\n" +
		`p/c.md:1: {{ does not begin a slot; write {{name}} with lower-case letters, digits and _, or \{{ for the braces`
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

// For any text, Parse returns an error that names the file, or a template that renders the whole text.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "{{a}}", `\{{ x }}`, "{{a?}}{{", "}}{{", "{{a}}\n{{b}}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tpl, err := Parse("f", text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f:") {
				t.Fatal(err)
			}
			return
		}
		values := map[string]string{}
		for _, s := range tpl.Slots() {
			values[s] = "v"
		}
		if _, err := tpl.Render(values); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text, "{{") {
			if got, _ := tpl.Render(nil); got != text {
				t.Fatalf("%q became %q", text, got)
			}
		}
	})
}
