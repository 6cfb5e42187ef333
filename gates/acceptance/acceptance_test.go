package acceptance

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/runplan/runplan/agents/script"
	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/tools/gatetest"
)

const engineWord = "__engine"

// The test program is also the script engine, as runplan is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == engineWord {
		os.Exit(script.EngineMain(os.Args[2:], os.Environ(), os.Stdout))
	}
	os.Exit(m.Run())
}

func engine(t *testing.T) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{self, engineWord}
}

func tree(t *testing.T, files map[string]string) gates.Subject {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return gates.Subject{Dir: dir}
}

var project = map[string]string{
	"greet": "#!/bin/sh\necho hello $1\n",
	"acceptance/good.txtar": "# the program greets\nexec sh $WORKSPACE/greet ann\nstdout 'hello ann'\nexists " +
		"here.txt\n-- here.txt --\nx\n",
	"acceptance/bad.txtar": "exec sh $WORKSPACE/greet bob\n# says who\nstdout 'hello eve'\n",
	"acceptance/later.txt": "skip 'not today'\n",
	"acceptance/README.md": "no script\n",
}

func TestScripts(t *testing.T) {
	rep, got := gatetest.Look(t, New("acceptance", engine(t)), tree(t, project))
	if want := []string{"error acceptance/failed acceptance/bad.txtar:3"}; !slices.Equal(got, want) {
		t.Errorf("got %v\n%s", got, rep.Output)
	}
	if rep.Tests == nil || *rep.Tests != (gates.TestCount{Passed: 1, Failed: 1, Skipped: 1}) {
		t.Errorf("counts are %+v", rep.Tests)
	}
	if len(rep.Findings) == 1 && !strings.Contains(rep.Findings[0].Message, "stdout 'hello eve'") {
		t.Errorf("the finding does not show the line: %+v", rep.Findings[0])
	}
	if !strings.Contains(rep.Note, "later.txt skipped itself: not today") {
		t.Errorf("the skip is not told: %q", rep.Note)
	}
}

func TestAllPass(t *testing.T) {
	files := map[string]string{"greet": project["greet"], "s/good.txtar": project["acceptance/good.txtar"]}
	if rep, _ := gatetest.Look(t, New("s", engine(t)), tree(t, files)); rep.Status != gates.Pass || rep.Tests.Passed != 1 {
		t.Errorf("%+v", rep)
	}
}

func TestNoScripts(t *testing.T) {
	for name, files := range map[string]map[string]string{"no folder": {"a": "x"},
		"none in it": {"acceptance/README.md": "x"}} {
		if _, got := gatetest.Look(t, New("acceptance", engine(t)), tree(t, files)); !slices.Equal(got,
			[]string{"error acceptance/no-scripts "}) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestCannotRunReturnsError(t *testing.T) {
	s := tree(t, project)
	for name, g := range map[string]gates.Gate{
		"no engine": New("acceptance", nil), "outside": New("../x", engine(t)),
		"engine is missing": New("acceptance", []string{"/no/such/engine"}),
		"engine breaks":     New("acceptance", []string{"sh", "-c", "exit 7"}),
	} {
		if rep, err := g.Check(t.Context(), s); err == nil {
			t.Errorf("%s: no error, but the report %+v", name, rep)
		}
	}
}

func TestConformance(t *testing.T) {
	gatetest.Run(t, func(t *testing.T) (gates.Gate, gates.Subject) {
		return New("acceptance", engine(t)), tree(t, project)
	})
}

// For any output of the engine, the finding has a line of the script and a message.
func FuzzFailure(f *testing.F) {
	f.Add("a\nb\n", "FAIL: /tmp/x/script.txtar:2: no match\n")
	f.Add("", "FAIL: script.txtar:99999999999999999999: x")
	f.Fuzz(func(t *testing.T, text, said string) {
		got := failure("a.txtar", text, said)
		if got.Line < 0 || got.Line > strings.Count(text, "\n")+1 || got.Message == "" {
			t.Errorf("%+v", got)
		}
	})
}
