package draft

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/patterns"
)

func exampleLessons() []Lesson {
	return []Lesson{{
		ID: "9001", Title: "Event listener is subscribed and never unsubscribed", Type: "semantic",
		Languages:   []string{"python"},
		Description: "subscribe without unsubscribe on shutdown leaks the listener",
		Bad:         "class A:\n    def start(self):\n        self.bus.subscribe(self.seen)\n",
		Good: "class A:\n    def start(self):\n        self.bus.subscribe(self.seen)\n    def stop(self):\n        " +
			"self.bus.unsubscribe(self.seen)\n",
	}, {
		ID: "9002", Title: "Requests without a timeout hang", Type: "semantic", Languages: []string{"python"},
		Description: "a get without timeout= waits for ever",
		Bad:         "r = requests.get(url)\n", Good: "r = requests.get(url, timeout=5)\n",
	}, {
		ID: "9003", Title: "fetch in a loop", Type: "semantic", Languages: []string{"javascript", "typescript"},
		Description: "one fetch for each element instead of one for all",
		Bad:         "for (const id of ids) {\n  await fetch(id);\n}\n", Good: "await fetch(ids.join());\n",
	}, {
		ID: "9004", Title: "The task of asyncio.create_task is not kept", Type: "semantic", Languages: []string{"python"},
		Description: "store what create_task returns",
		Bad:         "async def main():\n    asyncio.create_task(work())\n",
		Good:        "async def main():\n    t = asyncio.create_task(work())\n    await t\n",
	}, {
		ID: "9005", Title: "os.Exit in a library", Type: "semantic", Languages: []string{"go"},
		Description: "never call os.Exit where an error can be returned",
		Bad:         "if err != nil {\n\tos.Exit(1)\n}\n", Good: "if err != nil {\n\treturn err\n}\n",
	}, {
		ID: "9006", Title: "Copy-pasted logic diverges", Type: "semantic", Languages: []string{"python"},
		Description: "the same computation in two modules",
		Bad:         "def a(x):\n    return taxed(x) * 2\n", Good: "from shared import a\n",
	}, {
		ID: "9007", Title: "Half an example", Type: "semantic", Languages: []string{"python"},
		Description: "launch is called", Bad: "def (:\n  launch(\n", Good: "x = 1\n",
	}, {
		ID: "9008", Title: "Regex", Type: "syntactic", Languages: []string{"python"},
	}, {
		ID: "9009", Title: "Prose", Type: "semantic", Languages: []string{"all"},
	}, {
		ID: "9010", Title: "No example", Type: "semantic", Languages: []string{"shell"},
	}, {
		ID: "0002", Title: "Async function that never awaits", Type: "semantic", Languages: []string{"python"},
		Description: "no await", Bad: "async def a():\n    return b()\n", Good: "async def a():\n    return await b()\n",
	}, {
		ID: "9013", Title: "A dirty disconnect raises RuntimeError", Type: "semantic", Languages: []string{"python"},
		Description: "the next send fails", Bad: "try:\n    await s.send_json(x)\nexcept Closed:\n    stop()\n",
		Good: "try:\n    await s.send_json(x)\nexcept (Closed, RuntimeError) as e:\n    stop()\n",
	}, {
		ID: "9014", Title: "Handlers register as a side effect", Type: "semantic", Languages: []string{"python"},
		Description: "register runs when a module is imported", Bad: "@register('x')\ndef a(): ...\n", Good: "import a\n",
	}, {
		ID: "9012", Title: "No example", Type: "semantic", Languages: []string{"go"},
	}, {
		ID: "9011", Title: "send is no mistake by itself", Type: "semantic", Languages: []string{"python"},
		Description: "only send to a closed peer is", Bad: "if closed:\n    peer.send(1)\n",
		Good: "if not closed:\n    peer.send(1)\n",
	}}
}

func TestGenerate(t *testing.T) {
	p := program(t)
	files, log, err := Generate(t.Context(), p, exampleLessons(), builtin(t))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range log {
		got[strings.TrimRight(e.Lesson+" "+e.Language, " ")] = e.Template + ": " + e.Reason
		if e.Converted != (e.Template != "") || e.Reason == "" {
			t.Errorf("%+v", e)
		}
	}
	want := map[string]string{
		"9001 python":     "missing-companion: subscribe is called, and unsubscribe nowhere in the file",
		"9002 python":     "missing-argument: get is called without timeout",
		"9003 javascript": "in-loop: fetch is called in a loop",
		"9003 typescript": "in-loop: fetch is called in a loop",
		"9004 python":     "dropped-result: the result of create_task is dropped",
		"9005 go":         "called: Exit is called",
		"0002 python":     ": rule async-no-await finds its bad example already, and not its good one",
		"9013 python":     "missing-handler: the handlers around send… do not catch RuntimeError",
		"9014 python":     ": no template fits the difference of its examples",
		"9006 python": ": the lesson does not name the calls of its examples (taxed), so a rule would find " +
			"only the example",
		"9007 python": ": its bad example is incomplete python code",
		"9008":        ": it is syntactic: its regular expression does the work",
		"9009":        ": no template exists for its languages: all",
		"9010":        ": no template exists for its languages: shell",
		"9012":        ": a rule could not be checked: the lesson has no bad and good example",
		"9011 python": ": no template fits the difference of its examples",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// The generated files form an ordinary rule folder, and the rules find the bad examples.
	dir := t.TempDir()
	for _, f := range files {
		write(t, dir, "rules/"+f.Name, f.Text)
		if !strings.HasPrefix(f.Text, GeneratedMark) {
			t.Errorf("%s does not say that it is generated", f.Name)
		}
	}
	rules, err := patterns.Load(patterns.Folder(patterns.Project, filepath.Join(dir, "rules")))
	if err != nil {
		t.Fatal(err)
	}
	if len(rules) != 6 {
		t.Errorf("%d rules", len(rules))
	}
	write(t, dir, "src/a.py", exampleLessons()[1].Bad)
	write(t, dir, "src/a.tsx", exampleLessons()[2].Bad)
	res, err := patterns.Scan(t.Context(), p, filepath.Join(dir, "src"), []string{"a.py", "a.tsx"}, rules)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(
		"a.py:1:5: hint: Requests without a timeout hang [lesson-9002]\na.tsx:2:9: hint: fetch in a loop [lesson-9003]\n",
		places(res.Hits)); diff != "" {
		t.Error(diff)
	}
	if _, _, err := Generate(t.Context(), patterns.Program{}, exampleLessons(), nil); err == nil {
		t.Error("Generate must fail without ast-grep")
	}
}

func TestLoadLayers(t *testing.T) {
	dir := t.TempDir()
	const text = "id: %ID\nlanguage: python\nseverity: info\nmessage: m\nrule: {pattern: evil()}\n"
	write(t, dir, "user/a.yml", strings.ReplaceAll(text, "%ID", "mine"))
	write(t, dir, "user/b.yml", strings.ReplaceAll(text, "%ID", "bare-except"))
	write(t, dir, "project/a.yml", strings.ReplaceAll(text, "%ID", "mine")+"---\n"+
		strings.ReplaceAll(text, "%ID", "other"))
	write(t, dir, "project/off.yml", "id: empty-catch\nseverity: off\n")
	write(t, dir, "project/README.md", "not a rule")
	rules, err := patterns.Load(patterns.Builtin(), patterns.Folder(patterns.User, filepath.Join(dir, "user")),
		patterns.Folder(patterns.Project, filepath.Join(dir, "project")),
		patterns.Folder(patterns.Project, filepath.Join(dir, "none")))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range rules {
		if r.Layer != patterns.BuiltIn || r.ID == "empty-catch" {
			got[r.ID] = string(r.Layer) + "<" + string(r.Shadows)
		}
	}
	if diff := cmp.Diff(map[string]string{"mine": "project<user", "bare-except": "user<built-in", "other": "project<"},
		got); diff != "" {
		t.Error(diff)
	}
	if len(rules) != len(builtin(t))+1 {
		t.Errorf("%d rules", len(rules))
	}
}

func TestLoadRefusesInvalidRules(t *testing.T) {
	const rest = "language: python\nmessage: m\nrule: {pattern: x}\n"
	for name, tc := range map[string]struct{ text, want string }{
		"yaml":      {"id: [\n", "x.yml:1: not a YAML rule"},
		"no id":     {rest, "a rule needs an id"},
		"odd id":    {"id: a b\n" + rest, "a rule needs an id"},
		"reserved":  {"id: runplan-partial\n" + rest, "ids that begin with runplan- or suppression- are reserved"},
		"severity":  {"id: a\nseverity: fatal\n" + rest, `severity is "fatal"`},
		"no rule":   {"id: a\nlanguage: python\nmessage: m\n", "has no rule"},
		"message":   {"id: a\nlanguage: python\nrule: {pattern: x}\n", "has no message"},
		"language":  {"id: a\nmessage: m\nrule: {pattern: x}\n", "names no language"},
		"empty":     {"# nothing\n", "contains no rule"},
		"duplicate": {"id: a\n" + rest + "---\nid: a\n" + rest, "rule a for python is already in"},
		"second":    {"id: a\n" + rest + "---\n\nid: b\nlanguage: python\n", "x.yml:7: rule b"},
		"flow":      {"{id: a, language: python, message: m, rule: {pattern: x}}\n", "on its own line"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "x.yml", tc.text)
			if _, err := patterns.Load(patterns.Builtin(), patterns.Folder(patterns.Project, dir)); err == nil ||
				!strings.Contains(err.Error(), tc.want) ||
				!strings.Contains(err.Error(), "x.yml") {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// Write replaces and deletes only generated files.
func TestWriteKeepsForeignFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "patterns")
	one := Generated{Name: "lesson-1.yml", Text: GeneratedMark + "1\n"}
	two := Generated{Name: "lesson-2.yml", Text: GeneratedMark + "2\n"}
	if kept, err := Write(dir, []Generated{one, two}); err != nil || len(kept) != 0 {
		t.Fatalf("kept %v, error %v", kept, err)
	}
	write(t, dir, "lesson-2.yml", "# mine\n")
	write(t, dir, "lesson-3.yml", "# mine too\n")
	kept, err := Write(dir, []Generated{two})
	if err != nil || len(kept) != 1 || filepath.Base(kept[0]) != "lesson-2.yml" {
		t.Errorf("kept %v, error %v", kept, err)
	}
	for name, want := range map[string]string{"lesson-1.yml": "", "lesson-2.yml": "# mine\n",
		"lesson-3.yml": "# mine too\n"} {
		if got, _ := os.ReadFile(filepath.Join(dir, name)); string(got) != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
