package blueprint

import (
	"strings"
	"testing"
)

// Scope selects the parts of a blueprint that a file of each role is reviewed against (BP-16).
func TestScope(t *testing.T) {
	b := parsed(t, sample)
	scope := func(path string) *Blueprint {
		s, ok := b.Scope(path, nil)
		if !ok {
			t.Fatalf("%s is no source file", path)
		}
		return s
	}
	router := scope("orders/router.py")
	if len(router.Interfaces) == 0 || len(router.FailureModes) != 2 || len(router.Dependencies.Services) > 0 {
		t.Errorf("router: %+v", router)
	}
	model := scope("orders/models.py")
	if len(model.Contract.Models) == 0 || len(model.FailureModes) > 0 || len(model.Endpoints()) != 2 ||
		len(model.Dependencies.Services) > 0 {
		t.Errorf("model: %+v", model)
	}
	client := scope("orders/billing.py")
	if len(client.Dependencies.Services) != 1 || len(client.Interfaces) > 0 || len(client.FailureModes) > 0 {
		t.Errorf("client: %+v", client)
	}
	core := scope("orders/core.py")
	if core.Intent.Purpose == "" || len(core.FailureModes) != 2 || len(core.Interfaces) > 0 ||
		len(core.Dependencies.Services) > 0 {
		t.Errorf("core: %+v", core)
	}
	if _, ok := b.Scope("orders/other.py", nil); ok {
		t.Error("a file that is no source file has a scope")
	}
	if len(b.Interfaces) != 9 || len(b.FailureModes) != 2 {
		t.Error("narrowing changed the blueprint itself")
	}
}

// AddOpenQuestions adds questions in the style of the list and changes nothing else.
func TestAddOpenQuestions(t *testing.T) {
	for name, text := range map[string]string{
		"block": sample,
		"empty": strings.Replace(sample, "  open_questions:\n    # newest first\n    - Who may see an order?\n",
			"  open_questions: []\n", 1),
		"none": strings.Replace(sample, "  open_questions:\n    # newest first\n    - Who may see an order?\n", "", 1),
		"flow": strings.Replace(sample, "  open_questions:\n    # newest first\n    - Who may see an order?\n",
			"  open_questions: [Who may see an order?]\n", 1),
		"flowing": goUnit,
		"dense":   strings.Replace(sample, "    # newest first\n    - Who", "  - Who", 1),
	} {
		t.Run(name, func(t *testing.T) {
			before := parsed(t, text)
			out, n, err := AddOpenQuestions("b.yaml", []byte(text),
				[]string{"Is \"x: y\" # so?", "Who may see an order?", "Is \"x: y\" # so?", " "})
			if err != nil {
				t.Fatal(err)
			}
			after := parsed(t, string(out))
			if want := 2 - len(before.Intent.OpenQuestions); n != want || len(after.Intent.OpenQuestions) != 2 {
				t.Errorf("%d added, %q", n, after.Intent.OpenQuestions)
			}
			if after.Digest() != before.Digest() {
				t.Errorf("something else changed:\n%s", out)
			}
			if name == "block" && !strings.Contains(string(out), "# newest first") {
				t.Errorf("a comment is gone:\n%s", out)
			}
		})
	}
}
