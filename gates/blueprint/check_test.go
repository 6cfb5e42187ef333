package blueprint

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/knowledge/summary"
	"github.com/runplan/runplan/patterns"
	"github.com/runplan/runplan/planparse"
)

func checked(t *testing.T, root string, s State) Checked {
	t.Helper()
	b, err := Load(root, "orders", s)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Check(context.Background(), b, s, summary.Options{Root: root, Own: summary.Own(os.DirFS(root))})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestGoodCodeHasNoFindings(t *testing.T) {
	if c := checked(t, unit(t, Candidate, goodCode), Candidate); len(c.Findings) > 0 || len(c.Unseen) > 0 {
		t.Errorf("%+v", c)
	}
}

// Each kind of broken promise has its own rule.
func TestBrokenPromises(t *testing.T) {
	for _, c := range []struct{ rule, old, with string }{
		{RuleEndpoint, "GET /orders/{id}", "GET /order/{id}"},
		{RuleEndpoint, "GET /orders/{id}", "POST /orders/{id}"},
		{RuleUndeclared, "s.show) }", "s.show); mux.HandleFunc(\"GET /more\", s.show) }"},
		{RuleFailure, "errors.Is(err, ErrLate)", "errors.Is(err, nil)"},
		{RuleResponse, "http.StatusGatewayTimeout", "http.StatusInternalServerError"},
		{RuleRawHTTP, `http.Error(w, "late"`, `http.Get("http://billing/late"); http.Error(w, "late"`},
		{RuleDependency, `http.Error(w, "late"`, `s.stockClient.Take(); http.Error(w, "late"`},
		{RuleImport, `"example.org/shop/billing"`, "\"example.org/shop/billing\"\n\t\"example.org/shop/stock\""},
		{RuleUnused, "s.billingClient.Charge()", "ErrLate"},
		{RuleContract, "\tClosed\n", ""},
		{RuleContract, "Open State = iota", "Open State = iota + 1"},
		{RuleContract, "Limit = 10", "Limit = 11"},
		{RuleContract, `json:"id"`, `json:"number"`},
		{RuleUndocumented, "// Routes fills a mux.\n", ""},
		{RuleUndocumented, "// Package orders takes orders.\n", ""},
	} {
		if !strings.Contains(goodCode, c.old) {
			t.Fatalf("the code has no %q", c.old)
		}
		code := strings.Replace(goodCode, c.old, c.with, 1)
		if c.rule == RuleContract {
			code = strings.ReplaceAll(code, "\tID int", "\tNumber int")
		}
		if c.rule == RuleUnused {
			code = strings.Replace(strings.Replace(code, "\t\"example.org/shop/billing\"\n", "", 1),
				"struct{ billingClient billing.Client }", "struct{}", 1)
		}
		found := false
		for _, f := range checked(t, unit(t, Candidate, code), Candidate).Findings {
			found = found || f.Rule == c.rule && f.Line > 0 && f.Path != ""
		}
		if !found {
			t.Errorf("%s: %q → %q is not found", c.rule, c.old, c.with)
		}
	}
}

// A promise that an unreadable file may keep is not reported as missing.
func TestUnreadableFileIsNotMissingPromise(t *testing.T) {
	root := unit(t, Candidate, strings.Replace(goodCode, "GET /orders/{id}", "GET /order/{id}", 1))
	put(t, root, "orders/more.py", "x = 1\n")
	put(t, root, PathOf("orders", Candidate),
		strings.Replace(goUnit, "role: router}\n", "role: router}\n  - {path: orders/more.py, role: core}\n", 1))
	c := checked(t, root, Candidate)
	for _, f := range c.Findings {
		if f.Rule == RuleEndpoint && f.Severity == gates.Error {
			t.Errorf("%+v: the endpoint may be in the unreadable file", f)
		}
	}
	if len(c.Unseen) != 1 {
		t.Errorf("unseen %v", c.Unseen)
	}
	put(t, root, PathOf("orders", Candidate),
		strings.Replace(goUnit, "role: router}\n", "role: router}\n  - {path: orders/gone.py, role: core}\n", 1))
	c = checked(t, root, Candidate)
	if !c.Failed() || c.Findings[0].Severity != gates.Error {
		t.Errorf("a missing source file: %+v", c.Findings)
	}
}

// change is a diff between two maps from path to text.
type change struct {
	before, after map[string]string
}

func (d change) Changes(context.Context) ([]gates.Change, error) {
	var out []gates.Change
	for p, text := range d.after {
		old, was := d.before[p]
		switch {
		case !was:
			out = append(out, gates.Change{Path: p, Status: gates.Added})
		case old != text:
			out = append(out, gates.Change{Path: p, Status: gates.Modified})
		}
	}
	return out, nil
}

func (d change) Before(_ context.Context, p string) ([]byte, error) { return []byte(d.before[p]), nil }
func (d change) After(_ context.Context, p string) ([]byte, error)  { return []byte(d.after[p]), nil }

func TestGate(t *testing.T) {
	live := PathOf("orders", Live)
	bad := strings.Replace(goodCode, "GET /orders/{id}", "GET /order/{id}", 1)
	bent := strings.Replace(goUnit, "/orders/{id}", "/order/{id}", 1)
	for _, c := range []struct {
		name          string
		before, after map[string]string
		want          gates.Status
		rules, note   string
	}{
		{"no live blueprint", nil, map[string]string{"a.go": "package a"}, gates.Skipped, "", "there is no live blueprint"},
		{"another file", map[string]string{live: goUnit, "orders/orders.go": goodCode},
			map[string]string{live: goUnit, "orders/orders.go": goodCode, "a.go": "x"}, gates.Skipped, "",
			"no source file of a live blueprint changed"},
		{"good", map[string]string{live: goUnit}, map[string]string{live: goUnit, "orders/orders.go": goodCode}, gates.Pass,
			"", ""},
		{"bad", map[string]string{live: goUnit, "orders/orders.go": goodCode},
			map[string]string{live: goUnit, "orders/orders.go": bad}, gates.Fail, RuleEndpoint, ""},
		{"the mark is moved", map[string]string{live: goUnit, "orders/orders.go": goodCode},
			map[string]string{live: bent, "orders/orders.go": bad}, gates.Fail, RuleChanged + " " + RuleEndpoint, ""},
		{"a new blueprint that is invalid", nil, map[string]string{live: "unit: orders\n"}, gates.Fail, RuleInvalid, ""},
		{"an unsupported language", map[string]string{live: goUnit},
			map[string]string{live: strings.ReplaceAll(goUnit, "orders.go", "orders.py"), "orders/orders.py": "x = 1\n"},
			gates.Fail, RuleChanged, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			put(t, root, "go.mod", "module example.org/shop\n")
			for p, text := range c.after {
				put(t, root, p, text)
			}
			missing := func(context.Context) (patterns.Program, error) { return patterns.Program{}, patterns.ErrMissing }
			rep, err := Gate(missing).Check(context.Background(),
				gates.Subject{Dir: root, Diff: change{c.before, c.after}, Batch: planparse.Batch{Number: "1"}})
			if err != nil {
				t.Fatal(err)
			}
			if rep.Status != c.want || !strings.Contains(rep.Note, c.note) {
				t.Errorf("%s, note %q; findings %+v", rep.Status, rep.Note, rep.Findings)
			}
			for rule := range strings.FieldsSeq(c.rules) {
				ok := false
				for _, f := range rep.Findings {
					ok = ok || f.Rule == rule
				}
				if !ok {
					t.Errorf("no %s in %+v", rule, rep.Findings)
				}
			}
		})
	}
}

// A gate that cannot run returns an error.
func TestGateCannotRunReturnsError(t *testing.T) {
	root := unit(t, Live, goodCode)
	broken := errors.New("ast-grep is broken")
	g := Gate(func(context.Context) (patterns.Program, error) { return patterns.Program{}, broken })
	if _, err := g.Check(context.Background(),
		gates.Subject{Dir: root, Changed: []string{"orders/orders.go"}}); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

// Draft returns a valid blueprint that its own code meets, with open questions for the parts that only people can
// fill in.
func TestDraft(t *testing.T) {
	root := unit(t, Candidate, goodCode)
	o := summary.Options{Root: root, Own: summary.Own(os.DirFS(root))}
	files, unseen, err := summary.Files(context.Background(), o, []string{"orders/orders.go"})
	if err != nil {
		t.Fatal(err)
	}
	b := Draft("orders", files, unseen, o.Own)
	if len(b.Intent.OpenQuestions) < 2 || *b.Meta.Confidence.Intent != 0 || len(b.Endpoints()) != 1 ||
		len(b.FailureModes) != 1 || len(b.Dependencies.Services) != 1 {
		t.Errorf("%s", b.YAML())
	}
	if err := os.Remove(root + "/" + PathOf("orders", Candidate)); err != nil {
		t.Fatal(err)
	}
	if _, err := Save(root, b, Candidate); err != nil {
		t.Fatal(err)
	}
	if _, err := Save(root, b, Candidate); err == nil {
		t.Error("a blueprint that is there was replaced")
	}
	if c := checked(t, root, Candidate); c.Failed() {
		t.Errorf("%+v", c.Findings)
	}
}

// A draft declares no test as an interface: neither TestMain nor an example.
func TestDraftOmitsTests(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"a.go":      "package a\n\n// Add adds.\nfunc Add(a, b int) int { return a + b }\n",
		"a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestMain(m *testing.M) { m.Run() }\n\nfunc ExampleAdd() {}\n",
	} {
		if err := os.WriteFile(root+"/"+name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, unseen, err := summary.Files(context.Background(), summary.Options{Root: root}, []string{"a.go", "a_test.go"})
	if err != nil {
		t.Fatal(err)
	}
	text := string(Draft("a", files, unseen, nil).YAML())
	if !strings.Contains(text, "- Add\n") || strings.Contains(text, "TestMain") || strings.Contains(text, "ExampleAdd") {
		t.Error(text)
	}
}
