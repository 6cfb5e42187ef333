package blueprint

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/quick"

	"github.com/google/go-cmp/cmp"
)

// sample is a blueprint with content in every section.

func TestParse(t *testing.T) {
	b := parsed(t, sample)
	var types []InterfaceType
	for _, i := range b.Interfaces {
		types = append(types, i.Type)
	}
	if d := cmp.Diff(InterfaceTypes(), types); d != "" {
		t.Error(d)
	}
	if got := b.Endpoints()[0]; got.Name() != "GET /orders/{id}" || !slices.Equal(got.Errors, []int{404}) {
		t.Errorf("endpoint: %+v", got)
	}
	if c := b.Meta.Confidence; c.Runtime != nil || c.Intent == nil || *c.Intent != 1 {
		t.Errorf("confidence %+v: a section that is not named is unknown, not 0", c)
	}
	if b.Line("failure_modes[1].status") != 37 || b.Line("source_files[3].path") != 42 || b.Line("nothing") != 1 {
		t.Errorf("lines: %d, %d", b.Line("failure_modes[1].status"), b.Line("source_files[3].path"))
	}
}

// A blueprint that is written and read back is the same, and is written the same way again.
func TestYAMLRoundTrip(t *testing.T) {
	b := parsed(t, sample)
	again := parsed(t, b.YAML())
	strip := func(b *Blueprint) Blueprint { c := *b; c.lines, c.file = nil, ""; return c }
	if d := cmp.Diff(strip(b), strip(again), cmp.AllowUnexported(Blueprint{})); d != "" {
		t.Error(d)
	}
	if b.YAML() != again.YAML() {
		t.Errorf("written twice, and not the same:\n%s\n%s", b.YAML(), again.YAML())
	}
}

func TestYAMLPreservesAnyText(t *testing.T) {
	check := func(s string) bool {
		s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "")
		if strings.TrimSpace(s) == "" {
			return true
		}
		b := parsed(t, sample)
		b.Intent.Purpose = s
		again, err := Parse("b.yaml", []byte(b.YAML()))
		return err == nil && again.Intent.Purpose == s
	}
	if err := quick.Check(check, &quick.Config{MaxCount: 300}); err != nil {
		t.Error(err)
	}
	for _, s := range []string{"true", "no", "1", "1.5", "- a", "a: b", "a #b", "'x", "\"x", "@x", "%x", "x: ", "null",
		"~", "0x1f", "2026-01-01", "a\nb", "  pad ", "{}", "[a]", "*a", "&a", "!a", "|", ">", "?", "=", "<<"} {
		if !check(s) {
			t.Errorf("%q is not read back", s)
		}
	}
}

// All errors of a blueprint are reported at once, each with its line.
func TestParseReportsAllErrors(t *testing.T) {
	edit := func(old, with string) string {
		if !strings.Contains(sample, old) {
			t.Fatalf("the sample has no %q", old)
		}
		return strings.Replace(sample, old, with, 1)
	}
	for _, c := range []struct {
		name, text string
		want       []string // line: part of the message
	}{
		{"unknown key", edit("  cognitive_role: the counter", "  cognitive_role: the counter\n  colour: red"),
			[]string{"5: intent.colour is an unknown key; the keys here are purpose, cognitive_role"}},
		{"unknown key at the root", edit("meta:", "extra: 1\nmeta:"),
			[]string{"47: extra is an unknown key; the keys here are unit, intent"}},
		{"missing section", sample[:strings.Index(sample, "meta:")], []string{"1: meta is missing"}},
		{"missing key", edit("    - name: billing\n      client", "    - client"),
			[]string{"26: dependencies.services[0].name is missing"}},
		{"duplicate key", edit("unit: orders", "unit: orders\nunit: other"), []string{"2: "}},
		{"wrong type", edit("purpose: Takes and shows orders.", "purpose: 12"),
			[]string{`3: intent.purpose is the number 12; it must be text, put it in quotes`}},
		{"list for text", edit("purpose: Takes and shows orders.", "purpose: [a]"),
			[]string{"3: intent.purpose is a list; it must be text"}},
		{"text for a list", edit("design_decisions: [one table]", "design_decisions: one table"),
			[]string{`5: intent.design_decisions is the text "one table"; it must be a list`}},
		{"text for a number", edit("    status: 504", "    status: gone"),
			[]string{`35: failure_modes[0].status is the text "gone"; it must be a whole number`}},
		{"truth for a number", edit("{contract: 0.9,", "{contract: yes,"), []string{"meta.confidence.contract is"}},
		{"unknown interface", edit("type: websocket", "type: telex"),
			[]string{`14: interfaces[1].type is the text "telex"; use one of http_rest, websocket, sse`}},
		{"key of another type", edit("    messages: [created]", "    endpoints: []"),
			[]string{"16: interfaces[1].endpoints is an unknown key; the keys here are type, path, messages"}},
		{"no type", edit("  - {type: cli, commands: [orders list]}", "  - {commands: [orders list]}"),
			[]string{"interfaces[7].type is missing"}},
		{"bad method", edit("method: GET, path", "method: FETCH, path"),
			[]string{`12: interfaces[0].endpoints[0].method is "FETCH"`, "37: failure_modes[1].interface is"}},
		{"path out of the repository", edit("path: orders/core.py", "path: ../core.py"),
			[]string{`42: source_files[3].path: "../core.py" is not a path below the root`}},
		{"absolute path", edit("path: orders/core.py", "path: /etc/passwd"), []string{`42: source_files[3].path`}},
		{"git's own files", edit("path: orders/core.py", "path: .git/config"),
			[]string{"is in .git, which contains no source"}},
		{"confidence", edit("intent: 1,", "intent: 1.5,"), []string{"meta.confidence.intent is 1.5; it must be 0 to 1"}},
		{"unit name", edit("unit: orders", "unit: ../orders"), []string{`1: unit: "../orders" is not a valid unit name`}},
		{"alias", edit("design_decisions: [one table]", "design_decisions: &a [one table]"),
			[]string{"5: intent.design_decisions: anchors and aliases are not supported"}},
		{"failure of no interface", edit("    interface: POST /orders", "    interface: POST /order"),
			[]string{`36: failure_modes[0].interface is "POST /order", which no interface declares`}},
		{"empty", "", []string{"1: the blueprint is empty"}},
		{"a list", "- a\n", []string{"1: not a mapping"}},
		{"two documents", sample + "---\nunit: x\n", []string{"a second YAML document"}},
		{"broken", "unit: [a\n", []string{":"}},
		{"not text", "unit: \xff\n", []string{"1: not UTF-8 text"}},
		{"no value",
			"unit: x\nintent: {purpose: a, cognitive_role: b}\ninterfaces: []\ndependencies: " +
				"{services:}\nfailure_modes:\nsource_files: []\nmeta: {confidence: {}}\n",
			[]string{"4: dependencies.services has no value; write [] if there are none", "5: failure_modes has no value"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("b.yaml", []byte(c.text))
			var wrong FileErrors
			if !errors.As(err, &wrong) {
				t.Fatalf("error %v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in:\n%v", want, err)
				}
			}
			for i, e := range wrong {
				if e.Line < 1 || e.Path != "b.yaml" || i > 0 && e.Line < wrong[i-1].Line {
					t.Errorf("place of %v", e)
				}
			}
		})
	}
}

func TestLoadAndListUnits(t *testing.T) {
	root := t.TempDir()
	put(t, root, PathOf("orders", Candidate), sample)
	put(t, root, PathOf("billing", Live), sample)
	if _, err := Load(root, "orders", Candidate); err != nil {
		t.Error(err)
	}
	if _, err := Load(root, "orders", Live); !errors.Is(err, ErrNoBlueprint) {
		t.Errorf("no live blueprint: %v", err)
	}
	if _, err := Load(root, "billing", Live); err == nil ||
		!strings.Contains(err.Error(), `unit is "orders", but the name of the file says "billing"`) {
		t.Errorf("a file of another name: %v", err)
	}
	for _, name := range []string{"../orders", "a/b", "", "A", ".hidden", "a..b"} {
		if _, err := Load(root, name, Candidate); err == nil || errors.Is(err, ErrNoBlueprint) {
			t.Errorf("unit %q: %v", name, err)
		}
	}
	units, err := Units(root, Candidate)
	if err != nil || !slices.Equal(units, []string{"orders"}) {
		t.Errorf("candidates %v, %v", units, err)
	}
	// A link that leads out of the repository is not followed.
	outside := filepath.Join(t.TempDir(), "x.yaml")
	if err := os.WriteFile(outside, []byte(sample), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(root, filepath.FromSlash(PathOf("linked", Live)))); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(root, "linked", Live); err == nil {
		t.Error("a link out of the repository was read")
	}
}

// Parse does not panic on any input, and an accepted blueprint is the same after it is written and read back.
func FuzzParse(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte("unit: &a x\nintent: *a\n"))
	f.Add([]byte("a: !!binary x\n<<: {b: c}\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		b, err := Parse("b.yaml", src)
		if err != nil {
			var wrong FileErrors
			if !errors.As(err, &wrong) || len(wrong) == 0 {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		again, err := Parse("b.yaml", []byte(b.YAML()))
		if err != nil {
			t.Fatalf("not read back: %v\n%s", err, b.YAML())
		}
		if !reflect.DeepEqual(b.Interfaces, again.Interfaces) || b.Digest() != again.Digest() {
			t.Fatalf("the blueprint that was read back differs:\n%s\n%s", b.YAML(), again.YAML())
		}
	})
}
