package routing

import (
	"strings"
	"testing"

	"github.com/runplan/runplan/planparse"
)

// parsed parses the text of a plan with one or more batches.
func parsed(t *testing.T, text string) *planparse.Plan {
	t.Helper()
	p, err := planparse.Parse("plan.md", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestClasses(t *testing.T) {
	fence := "```"
	for name, c := range map[string]struct {
		title, body string
		class       Class
		sure        int
		why         string
	}{
		"creates code": {"The store", "**Files:**\n- Create: `a.go`\n- Create: `b.go`\n", Implementation, 90,
			"creates 2 files"},
		"creates and tests": {"The store", "**Files:**\n- Create: `a.go`\n- Test: `a_test.go`\n", Implementation, 90,
			"creates 1 file, adds tests"},
		"modifies three": {"The store",
			"**Files:**\n- Modify: `a.go`\n- Modify: `b.go`\n- Modify: `c.go`\n- Test: `a_test.go`\n", Implementation, 90,
			"modifies 3 files, adds tests"},
		"writes tests only": {"Cover the store", "**Files:**\n- Test: `a_test.go`\n", Implementation, 90,
			"writes 1 test file"},
		"deletes": {"Drop the old store", "**Files:**\n- Delete: `a.go`\n", Implementation, 90,
			"deletes 1 file"},
		"prose only": {"Tell about it", "**Files:**\n- Create: `docs/a.md`\n", Implementation, 60,
			"creates 1 file, text only"},
		"nothing to go by": {"Make it nice", "Somehow.\n", Implementation, 50, "lists neither files nor commands"},
		"runs commands": {"The whole", "Run: `go test ./...`\n\nRun: `go vet ./...`\n", Verification, 85,
			"0 creates, 2 run commands"},
		"runs one and says so": {"Verify the whole", "Run: `go test ./...`\n", Verification, 95,
			"0 creates, 1 run command"},
		"says so only": {"Pipeline trace", "Look at each step.\n", Verification, 60,
			`0 creates, title says "trace"`},
		"verifies, but creates": {"Verify the whole", "**Files:**\n- Create: `a.go`\n\nRun: `go test ./...`\n",
			Implementation, 90, "creates 1 file"},
		"designs": {"Design of the store", "Think.\n", Architecture, 90, `title says "design"`},
		"designs and creates": {"Architecture: the store", "**Files:**\n- Create: `a.go`\n", Architecture, 90,
			`title says "architecture"`},
		"a design inside a word": {"Designated owners", "**Files:**\n- Create: `a.go`\n", Implementation, 90,
			"creates 1 file"},
		"wires": {"Wire the store into the CLI", "**Files:**\n- Modify: `main.go`\n", Wiring, 80,
			`no new logic: modifies 1 file, title says "wire"`},
		"hooks up": {"Hook up metrics", "**Files:**\n- Modify: `main.go`\n- Modify: `app.go`\n", Wiring, 80,
			`no new logic: modifies 2 files, title says "hook up"`},
		"wires and creates": {"Wire the store", "**Files:**\n- Modify: `main.go`\n- Create: `a.go`\n", Implementation,
			90, "creates 1 file, modifies 1 file"},
		"wires new parts": {"Implement and wire the store", "**Files:**\n- Modify: `main.go`\n", Implementation, 90,
			"modifies 1 file"},
		"tests of an integration": {"Integration tests", "**Files:**\n- Modify: `main_test.go`\n", Implementation, 90,
			"modifies 1 file"},
		"a wire inside a word": {"Wireless setup", "**Files:**\n- Modify: `main.go`\n", Implementation, 90,
			"modifies 1 file"},
		"all tasks wire": {"The CLI",
			"**Files:**\n- Modify: `main.go`\n\n### Task 1: Register the command\n\nx\n\n### Task 2: Connect the store\n\ny\n",
			Wiring, 65, "no new logic: modifies 1 file, each task connects existing parts"},
		"one of two tasks connects parts": {"The CLI",
			"**Files:**\n- Modify: `main.go`\n\n### Task 1: Register the command\n\nx\n\n### Task 2: Speed it up\n\ny\n",
			Implementation, 90, "modifies 1 file"},
		"a literal file": {"The store", fence + "go file=a.go\npackage a\n" + fence + "\n", Implementation, 90,
			"creates 1 file"},
		"a script may do anything": {"The store", fence + "bash run\nmake it\n" + fence + "\n", Implementation, 50,
			"0 creates, 0 run commands, 1 script"},
		"a script that verifies": {"Verify it", fence + "bash run\nmake it\n" + fence + "\n", Verification, 60,
			`0 creates, 0 run commands, 1 script, title says "verify"`},
		"a script and files": {"The store", "**Files:**\n- Create: `a.go`\n\n" + fence + "bash run\nmake it\n" + fence +
			"\n", Implementation, 90, "creates 1 file"},
	} {
		t.Run(name, func(t *testing.T) {
			p := parsed(t, "# Plan\n\n## Batch 1: "+c.title+"\n\n"+c.body)
			class, sure, why, err := classify(p, &p.Batches[0], DefaultRules())
			if class != c.class || sure != c.sure || why != c.why || err != nil {
				t.Errorf("%s %d%% %q %v\nwant %s %d%% %q", class, sure, why, err, c.class, c.sure, c.why)
			}
		})
	}
}

// A single command does not turn tasks without files into a verification batch.
func TestClassIgnoresSingleCommand(t *testing.T) {
	p := parsed(t, "# Tasks: A\n\n## Phase 1: Handoff\n\n- [ ] T001 Add the command\n- [ ] T002 Run `make test`\n")
	class, sure, why, err := classify(p, &p.Batches[0], DefaultRules())
	if class != Implementation || sure != sureNothing || why != "0 creates, 1 run command, and tasks that list no files" ||
		err != nil {
		t.Errorf("%s %d%% %q %v", class, sure, why, err)
	}
}

// A user's expression overrides titles and counts; its variables have the values of the batch.
func TestClassByExpression(t *testing.T) {
	p := parsed(t, `# Plan

## Batch 1: Design of everything
context_refs: x.go, y.go

**Files:**
- Create: `+"`a.go`"+`
- Modify: `+"`b.go`"+`
- Modify: `+"`c.go`"+`
- Delete: `+"`d.go`"+`
- Test: `+"`a_test.go`"+`

### Task 1: one

Run: `+"`go test ./...`"+`
`)
	facts := `creates == 1 && modifies == 2 && deletes == 1 && tests == 1 && commands == 1 && scripts == 0 && title == "Design of everything" &&
		group == "Design of everything" && !critical && tasks == 1 && context_refs == 2`
	r := DefaultRules()
	r.Class = facts + ` ? "wiring" : "verification"`
	class, sure, why, err := classify(p, &p.Batches[0], r)
	if class != Wiring || sure != 100 || err != nil ||
		why != "by routing.class; creates 1 file, modifies 2 files, deletes 1 file, adds tests" {
		t.Errorf("%+v\nis %s %d %q %v", classFactOf(p, &p.Batches[0]), class, sure, why, err)
	}
	for text, want := range map[string]string{
		`"magic"`:                            `routing.class: expression "\"magic\"" gives "magic" for batch 1; classes are implementation, verification, architecture and wiring`,
		`creates > 0 ? "wiring" : nme`:       "routing.class: expression",
		`creates`:                            "routing.class: expression \"creates\": gives a number, but must give text",
		`title matches "(" ? "wiring" : "x"`: "routing.class: expression",
	} {
		r.Class = text
		if class, _, _, err := classify(p, &p.Batches[0], r); err == nil || !strings.Contains(err.Error(), want) ||
			class != "" {
			t.Errorf("%s: %s %v\nwant %s", text, class, err, want)
		}
	}
}
