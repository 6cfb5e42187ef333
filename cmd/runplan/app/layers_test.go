package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/runplan/runplan/"

// layer lists what a folder of the module may import from the module. Each folder needs an entry in the table: its own,
// or that of a folder above it with "/...".
type layer struct {
	folder string
	// folders; "internal" stands for all of internal/ except its command line, "core" for all folders that are
	// neither programs nor the command line, "x/..." for all folders below x
	may []string
}

// layers lists the allowed imports of each folder. docs/ARCHITECTURE.md shows those that
// exist, in a picture. Add an import only if it is really necessary.
func layers() []layer {
	return []layer{
		{"cmd/runplan", []string{"cmd/runplan/app", "internal/cli"}},
		// a separate folder, so that other programs can extend runplan
		{"cmd/runplan/app", []string{"core", "internal/cli", "internal/cli/..."}},
		// The command line: shared code first, then the groups of commands. A group may import only the groups that
		// it names.
		{"internal/cli", []string{"core"}},
		{"internal/cli/rulebook", []string{"core", "internal/cli"}},
		{"internal/cli/judge", []string{"core", "internal/cli", "internal/cli/rulebook"}},
		{"internal/cli/blueprints", []string{"core", "internal/cli", "internal/cli/judge", "internal/cli/rulebook"}},
		{"internal/cli/models", []string{"core", "internal/cli"}},
		{"internal/cli/adapters", []string{"core", "internal/cli", "internal/cli/blueprints", "internal/cli/judge"}},
		{"internal/cli/learn", []string{"core", "internal/cli", "internal/cli/adapters", "internal/cli/models"}},
		{"internal/cli/control", []string{"core", "internal/cli"}},
		{"internal/cli/watch", []string{"core", "internal/cli", "internal/cli/control"}},
		{"internal/cli/prepare", []string{"core", "internal/cli", "internal/cli/models"}},
		{"internal/cli/run", []string{"core", "internal/cli", "internal/cli/control", "internal/cli/judge",
			"internal/cli/models", "internal/cli/prepare", "internal/cli/watch"}},
		{"internal/cli/plans", []string{"core", "internal/cli", "internal/cli/judge", "internal/cli/models",
			"internal/cli/prepare", "internal/cli/rulebook", "internal/cli/watch"}},
		{"internal/cli/selffix", []string{"core", "internal/cli", "internal/cli/control", "internal/cli/judge",
			"internal/cli/models", "internal/cli/prepare", "internal/cli/rulebook", "internal/cli/run"}},
		{"internal/cli/owner", []string{"core", "internal/cli", "internal/cli/control", "internal/cli/selffix"}},
		{"internal/cli/doctor", []string{"core", "internal/cli", "internal/cli/judge", "internal/cli/prepare"}},
		{"internal/cli/setup", []string{"core", "internal/cli", "internal/cli/control", "internal/cli/doctor",
			"internal/cli/judge", "internal/cli/run", "internal/cli/selffix", "internal/cli/watch"}},
		{"runner", []string{"agents", "gates", "planparse", "routing", "internal/lists", "internal/phrase",
			"internal/checksum"}},
		{"runner/briefing", []string{"agents", "gates", "runner", "knowledge/retrieve", "planparse", "runner/failures", "internal"}},
		{"runner/failures", []string{"gates", "runner", "internal"}},
		{"sampling", []string{"internal/atomicfile", "internal/condition", "internal/fence", "internal/lists",
			"internal/phrase", "internal/prompt"}},
		{"internal/glob", nil},
		{"internal/lists", nil},
		{"internal/jsondoc", nil},
		{"internal/prompt", nil},
		{"runner/local", []string{"runner", "runner/briefing", "runner/failures", "runner/journal", "runner/room",
			"runner/stamps", "agents", "agents/sandbox", "gates", "gates/...", "gates/suite", "planparse", "routing",
			"sampling", "internal"}},
		{"runner/journal", []string{"runner", "gates", "planparse", "internal/atomicfile", "internal/glob",
			"internal/rooted", "internal/store", "internal/checksum"}}, // only reads
		{"runner/room", []string{"internal/git", "internal/lists", "internal/proc", "internal/phrase"}},
		{"runner/stamps", []string{"internal/atomicfile", "internal/glob", "internal/lazyre", "internal/tables"}}, // it knows nothing of runs
		{"runner/ledger", []string{"agents", "runner", "internal/phrase"}},
		{"runner/notify", []string{"runner", "runner/ledger", "internal"}},
		{"runner/story", []string{"runner", "gates", "internal"}},
		{"runner/report", []string{"runner", "runner/story", "runner/trace", "gates", "routing", "internal"}},
		{"runner/trace", []string{"runner", "runner/journal", "planparse", "internal"}},
		{"runner/page", []string{"runner", "runner/failures", "runner/journal", "runner/ledger", "runner/report",
			"runner/story", "agents/stream", "gates", "gates/blueprint/lifecycle", "gates/review", "routing", "sampling",
			"internal"}},
		{"agents", []string{"planparse", "internal"}},
		{"tools/agenttest", []string{"agents"}},
		{"tools/gatetest", []string{"gates", "internal/git", "internal/lists"}},
		{"agents/command", []string{"agents", "agents/outcome", "agents/price", "agents/sandbox", "agents/stream",
			"planparse", "internal"}},
		{"agents/sandbox", []string{"internal"}},
		{"agents/outcome", []string{"agents", "agents/stream", "internal"}},
		{"agents/price", []string{"agents", "internal"}},
		{"agents/stream", []string{"agents", "internal"}},
		{"agents/script", []string{"agents", "planparse", "internal"}},
		// only knowledge/retrieve: the solver does not open the index (SOLVE-08)
		{"agents/solver", []string{"agents", "knowledge/retrieve", "llm", "planparse", "planparse/draft", "internal"}},
		// The interface of gates and the pipeline; each kind of gate is a folder below.
		{"gates", []string{"gates/...", "planparse", "internal"}},
		{"gates/...", []string{"gates", "gates/...", "lessons", "patterns", "knowledge", "llm", "planparse", "internal"}},
		{"gates/blueprint", []string{"gates", "knowledge/outline", "knowledge/summary", "patterns", "internal"}},
		{"gates/blueprint/lifecycle", []string{"gates", "gates/blueprint", "knowledge/summary", "llm", "patterns",
			"internal"}},
		{"gates/mutants", []string{"internal/language", "gates", "gates/mutants/mutant", "patterns",
			"internal/phrase", "internal/lists"}},
		{"gates/mutants/mutant", []string{"gates", "patterns", "internal/linediff", "internal/phrase"}},
		{"gates/testout", []string{"internal/language", "internal/lazyre", "internal/lists", "internal/phrase"}},
		{"gates/testcode", []string{"internal/language", "internal/lazyre", "internal/lists", "internal/phrase"}},
		{"gates/names", []string{"internal/language", "gates/testcode", "gates/testout", "planparse", "internal/lazyre",
			"internal/lists", "internal/phrase"}},
		{"gates/planted", nil},
		{"gates/reporters", nil},
		{"gates/plugin/gatev1", nil}, // generated: the protocol of gate plugins
		{"feedback", []string{"feedback/...", "gates", "gates/...", "llm", "planparse", "runner/failures", "trust",
			"internal"}},
		{"routing", []string{"planparse", "internal/condition", "internal/layered", "internal/atomicfile",
			"internal/language", "internal/lazyre", "internal/lists", "internal/phrase", "internal/redact", "internal/wordset"}},
		{"routing/show", []string{"routing", "planparse", "internal/cells", "internal/layered", "internal/lists",
			"internal/phrase", "internal/svg"}},
		{"planparse", []string{"internal/language", "internal/lazyre", "internal/lists", "internal/yamldoc",
			"internal/checksum", "internal/phrase"}},
		{"planparse/draft", []string{"planparse", "internal/edit", "internal/fence", "internal/lazyre",
			"internal/lists", "internal/wordset", "internal/phrase"}},
		{"feedback/critique", []string{"agents", "gates", "llm", "internal"}},
		{"trust", []string{"internal"}},
		// The format of examples; each folder below is one step from runs and history to a model.
		{"training", []string{"internal"}},
		{"training/advise", []string{"llm", "training", "training/curate", "training/plan", "internal"}},
		{"training/chat", []string{"llm", "training", "internal"}},
		{"training/curate", []string{"training", "training/folder", "training/plan", "internal"}},
		{"training/edits", []string{"internal/edit", "internal/linediff"}},
		{"training/export", []string{"training", "training/chat", "training/curate", "training/folder", "training/plan",
			"internal"}},
		{"training/folder", nil},
		{"training/guess", []string{"internal/lists"}},
		{"training/history", []string{"agents/solver", "gates", "gates/secrets", "knowledge/chunks", "knowledge/outline",
			"knowledge/retrieve", "patterns", "planparse", "planparse/draft", "runner/briefing", "training", "training/edits",
			"training/guess", "internal"}},
		{"training/tasks", []string{"gates", "gates/testout", "training", "training/folder", "training/history", "internal"}},
		{"training/license", []string{"internal/lists"}},
		{"training/logged", []string{"training", "training/edits", "training/outcomes", "agents", "agents/stream",
			"gates/blueprint", "gates/blueprint/lifecycle", "gates/review", "runner", "runner/journal", "internal"}},
		{"training/outcomes", []string{"runner", "runner/journal", "internal"}},
		{"training/plan", []string{"llm", "runner/failures", "runner/report", "sampling", "training", "training/curriculum",
			"internal"}},
		{"training/curriculum", []string{"training", "internal"}},
		{"training/adapters", []string{"training", "training/curriculum", "llm", "internal"}},
		{"training/corpus", []string{"training", "training/curriculum", "gates/blueprint", "gates/blueprint/lifecycle",
			"knowledge/summary", "internal"}},
		{"training/validate", []string{"gates", "gates/blueprint", "knowledge/outline", "knowledge/summary", "llm",
			"training", "training/corpus", "internal"}},
		{"training/graduate", []string{"training/curriculum", "gates/blueprint", "gates/blueprint/lifecycle",
			"internal"}},
		{"trust/intent", []string{"llm", "trust", "internal"}},
		{"lessons", []string{"internal"}},
		{"patterns", []string{"lessons", "internal"}},
		{"patterns/draft", []string{"patterns", "internal/atomicfile", "internal/glob", "internal/lists", "internal/phrase"}},
		{"llm", []string{"internal"}},
		{"tools/llmtest", []string{"llm", "internal"}},
		{"knowledge", []string{"knowledge/chunks", "knowledge/outline", "llm", "patterns", "internal"}},
		{"knowledge/chunks", []string{"internal/language", "internal/wordset"}},
		{"knowledge/enrich", []string{"knowledge", "llm", "internal"}},
		{"knowledge/retrieve", []string{"knowledge", "knowledge/chunks", "knowledge/outline", "llm", "patterns", "internal"}},
		{"knowledge/summary", []string{"knowledge/outline", "patterns", "internal"}}, // not knowledge: it needs no index
		{"knowledge/outline", []string{"patterns", "internal/language", "internal/lazyre", "internal/lists", "internal/literal",
			"internal/phrase", "internal/recent", "internal/wordset"}},
		{"testscripts", []string{"*"}}, // the acceptance suites call the whole program

		{"testscripts/agentsmoke", nil}, // all tests: the CLIs themselves, with make agents-smoke
		{"testscripts/browser", nil},    // all tests: the page in Chromium

		// Infrastructure packages do not depend on plans.
		{"tools/attack", []string{"tools/scratch", "internal/language"}}, // a program
		{"tools/dist", nil}, // a program
		{"tools/mutate", []string{"gates/mutants/mutant"}}, // a program
		{"tools/mutation", []string{"gates", "gates/mutants", "gates/mutants/mutant", "patterns"}},
		{"tools/cross", nil},                       // a program
		{"tools/reflow", nil},                      // a program
		{"tools/recipes", nil},                     // a test
		{"tools/notice", nil},                      // a program
		{"tools/packages", nil},                    // a program
		{"tools/record", []string{"internal/svg"}}, // a program
		// a program: it describes the commands, the settings and the rules
		{"tools/reference", []string{"cmd/runplan/app", "gates/measured", "internal/cli", "internal/config", "internal/lists",
			"lessons", "patterns"}},
		{"tools/site", nil}, // a program
		{"internal/atomicfile", nil},
		{"internal/cells", []string{"internal/lazyre"}},
		{"internal/checksum", nil},
		{"internal/condition", []string{"internal/lazyre"}},
		// a program: it times a scan and a plugin separately, and writes a sample journal
		{"tools/bench", []string{"tools/scratch", "internal/git", "runner/room", "gates", "gates/plugin", "lessons", "runner",
			"runner/journal", "runner/local", "sampling", "internal/store", "internal/svg", "knowledge/outline", "patterns"}},
		{"internal/config", []string{"internal/lazyre", "internal/phrase", "internal/tokens", "internal/checksum"}},
		{"internal/edit", []string{"internal/phrase", "internal/redact"}},
		{"internal/fence", []string{"internal/phrase", "internal/redact"}},
		{"internal/layered", []string{"internal/lists"}},
		{"internal/language", []string{"internal/lazyre"}}, // facts, for all layers
		{"internal/linediff", nil},
		{"internal/literal", nil},
		{"internal/lazyre", nil},
		{"internal/wordset", nil},
		{"internal/git", []string{"internal/language", "internal/lists", "internal/proc"}},
		{"gates/measured", []string{"internal/tables"}},
		{"internal/phrase", nil},
		{"tools/precision", []string{"tools/scratch"}}, // a program
		{"internal/proc", []string{"internal/atomicfile", "internal/lists", "internal/phrase", "internal/redact"}},
		{"internal/recent", nil},
		{"internal/redact", []string{"internal/lazyre", "internal/lists", "internal/literal", "internal/tables"}},
		// a program: it measures retrieval on real histories
		{"tools/retrieval", []string{"knowledge", "knowledge/outline", "knowledge/retrieve", "llm", "patterns",
			"internal/git", "internal/language", "internal/store", "internal/tokens"}},
		// a program: it selects training examples for people to rate
		{"tools/examples", []string{"agents/solver", "training", "training/guess"}},
		{"tools/scratch", nil},
		{"tools/shown", []string{"gates", "gates/examples", "planparse"}}, // a program
		{"tools/weakened", nil}, // a program
		// a program: it runs tournaments between versions of real commits
		{"tools/selection", []string{"gates", "gates/mutants/mutant", "internal/language", "patterns", "sampling"}},
		{"internal/reap", []string{"internal/proc"}},
		{"internal/rooted", []string{"internal/atomicfile"}},
		{"internal/schema", []string{"internal/lists"}},
		{"internal/seal", []string{"internal/atomicfile"}},
		{"internal/store", []string{"internal/lists", "internal/seal"}},
		{"tools/tinymodel", nil},
		{"internal/tables", nil},
		{"internal/svg", []string{"internal/cells", "internal/layered"}},
		{"internal/tokens", nil},
		{"tools/tooltest", nil},
		{"tools/storm", []string{"tools/scratch"}},
		{"internal/ui", []string{"internal/cells", "internal/lazyre", "internal/phrase", "internal/redact"}},
		{"internal/web", []string{"internal/redact"}},
		{"internal/yamldoc", nil},
	}
}

// door is a library, or a part of the standard library, that only some folders may import.
type door struct {
	path    string // of the package, or the beginning of it
	folders []string
	why     string
}

func doors() []door {
	// Programs and test helpers check runplan from outside, so they may use these libraries directly.
	commandLine := []string{"cmd/runplan/app", "internal/cli", "internal/cli/..."}
	outside := []string{"tools/scratch", "tools/weakened", "tools/notice", "tools/mutate", "tools/mutation", "tools/dist",
		"tools/record", "tools/attack", "tools/precision", "tools/storm", "tools/bench", "tools/examples", "tools/retrieval",
		"tools/selection", "tools/shown", "tools/agenttest", "testscripts"}
	return []door{
		{"os/exec", append([]string{"internal/proc", "gates/plugin"}, outside...),
			"one place knows how to end a process and all of its children"},
		{"github.com/go-cmd/cmd", []string{"internal/proc"}, "internal/proc hides its traps"},
		{"modernc.org/sqlite", []string{"internal/store", "tools/storm"},
			"one place opens and migrates; the storm looks at the file with its own eyes"},
		{"database/sql", []string{"internal/store", "tools/storm"}, "queries live beside the schema"},
		{"github.com/spf13/cobra", append([]string{"tools/reference"}, commandLine...), "commands are flags and wiring"},
		{"github.com/santhosh-tekuri/jsonschema", []string{"internal/schema"},
			"one form of errors, and no schema is loaded from elsewhere"},
		{"gopkg.in/yaml.v3", []string{"internal/yamldoc"}, "the fast reader is for files of the program"},
		{"charm.land/", []string{"internal/ui"}, "one place talks to the terminal"},
		{"github.com/charmbracelet/", []string{"internal/ui", "internal/cells"},
			"one place talks to the terminal, and one measures what it shows"},
		{"github.com/yuin/goldmark", []string{"planparse", "tools/site"}, "markdown is read in one place"},
		{"github.com/shirou/gopsutil", []string{"routing"},
			"the machine is looked at where the number of workers is decided"},
		{"github.com/expr-lang/expr", []string{"internal/condition"}, "conditions are compiled in one place"},
		{"github.com/hashicorp/go-plugin", []string{"gates/plugin"}, "the plugin protocol is one package's affair"},
		{"github.com/rogpeppe/go-internal/testscript", []string{"agents/script", "testscripts"},
			"testscript blocks are a matter of the script agent"},
		{"github.com/gofrs/flock", []string{"internal/atomicfile", "runner/local"},
			"a lock is taken with the file that it guards, or where the order of locks is known"},
		{"os/signal", append([]string{"internal/proc", "tools/dist"}, commandLine...),
			"^C means one thing, decided in one place; the reaper is deaf to it"},
		{"log", []string{"internal/web"},
			"a tool prints for people or writes to the journal; it keeps no log on the side, and the page silences that of " +
				"net/http"},
		{"math/rand", nil, "chance is seeded and handed in: math/rand/v2 with a source"},
		{"net/http", []string{"runner/notify", "llm", "tools/llmtest", "internal/web", "runner/page", "tools/bench"},
			"nothing talks to the network but a webhook and a model server that the user named, and the page that the user " +
				"asked for"},
		{"github.com/ollama/ollama", []string{"llm", "tools/llmtest"}, "another provider changes one package"},
	}
}

type pkg struct {
	ImportPath, Dir string
	GoFiles         []string
	Imports         []string

	IgnoredGoFiles []string
}

func (p pkg) folder() string { return strings.TrimPrefix(p.ImportPath, module) }

// root returns the folder of the module.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,Imports,IgnoredGoFiles", "./...")
	cmd.Dir = root(t)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, errOut.String())
	}
	var all []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// Each package imports only the packages that the table of layers allows.
func TestLayers(t *testing.T) {
	table := map[string]layer{}
	for _, l := range layers() {
		table[l.folder] = l
	}
	for _, p := range packages(t) {
		l, ok := table[p.folder()]
		for up := p.folder(); !ok && up != "."; {
			up = path.Dir(up)
			l, ok = table[up+"/..."]
		}
		if !ok {
			t.Errorf("%s is not in the table of layers; say what it may import", p.folder())
			continue
		}
		for _, imp := range p.Imports {
			if target, ours := strings.CutPrefix(imp, module); ours && !l.allows(target) {
				t.Errorf("%s imports %s; it may import %v", p.folder(), target, l.may)
			}
			for _, d := range doors() {
				if within(imp, d.path) && !(layer{may: d.folders}).allows(p.folder()) {
					t.Errorf("%s imports %s, which only %v may: %s", p.folder(), imp, d.folders, d.why)
				}
			}
		}
	}
}

// large is the number of lines above which a package is divided, or explained in docs/ARCHITECTURE.md. Tests and
// generated files do not count.
const large = 2000

// The table "Large packages" of docs/ARCHITECTURE.md explains each package above the limit, and no other.
func TestLargePackagesAreExplained(t *testing.T) {
	_, text, found := strings.Cut(document(t, "docs/ARCHITECTURE.md"), "\n## Large packages\n")
	if !found {
		t.Fatal("docs/ARCHITECTURE.md has no section \"Large packages\"")
	}
	text, _, _ = strings.Cut(text, "\n## ")
	why := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (.*) \\|$").FindAllStringSubmatch(text, -1) {
		why[m[1]] = m[2]
	}
	for _, p := range packages(t) {
		n := 0
		for _, name := range slices.Concat(p.GoFiles, p.IgnoredGoFiles) {
			path := filepath.Join(p.Dir, name)
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(name, "_test.go") || ast.IsGenerated(f) {
				continue
			}
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			n += bytes.Count(src, []byte("\n"))
		}
		folder := p.folder()
		switch reason, listed := why[folder]; {
		case n > large && !listed:
			t.Errorf("%s has %d lines; divide it at %d, or say in docs/ARCHITECTURE.md why it is one package", folder, n, large)
		case n <= large && listed:
			t.Errorf("%s has %d lines; it is in the table of large packages, which have more than %d", folder, n, large)
		case listed && len(strings.Fields(reason)) < 6:
			t.Errorf("the reason of %s in docs/ARCHITECTURE.md is %q; write a sentence", folder, reason)
		}
		delete(why, folder)
	}
	for folder := range why {
		t.Errorf("the table of large packages in docs/ARCHITECTURE.md names %s; no package has that name", folder)
	}
}

// The file go.mod requires the library of each door directly, not only as an indirect dependency (PLAT-05).
func TestGoModRequiresDoorLibraries(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root(t), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	var direct []string
	for line := range strings.Lines(string(text)) {
		if name, version, ok := strings.Cut(strings.TrimSpace(line), " v"); ok && !strings.Contains(version, "// indirect") {
			direct = append(direct, name)
		}
	}
	for _, d := range doors() {
		if host, _, _ := strings.Cut(d.path, "/"); !strings.Contains(host, ".") {
			continue // of the standard library
		}
		if !slices.ContainsFunc(direct, func(name string) bool { return within(name, d.path) || within(d.path, name) }) {
			t.Errorf("%s is no direct requirement of go.mod", d.path)
		}
	}
}

func (l layer) allows(target string) bool {
	for _, m := range l.may {
		below, isTree := strings.CutSuffix(m, "...")
		if m == "*" || m == target || m == "core" && core(target) || m == "internal" &&
			strings.HasPrefix(target, "internal/") && core(target) || isTree && strings.HasPrefix(target, below) {
			return true
		}
	}
	return false
}

// core reports whether a folder belongs neither to the command line nor to a program.
func core(folder string) bool {
	return !slices.ContainsFunc([]string{"cmd", "examples", "internal/cli", "testscripts", "tools"},
		func(base string) bool { return within(folder, base) })
}

// within reports whether path is the package at base or is below it. A base that ends in a slash is a host.
func within(path, base string) bool {
	return path == base || strings.HasPrefix(path, strings.TrimSuffix(base, "/")+"/") && path != "math/rand/v2"
}

// The machine only decides: it uses no clock, disk, randomness, goroutine or lock.
func TestMachineIsPure(t *testing.T) {
	banned := []string{"os", "io", "net", "sync", "math/rand", "math/rand/v2", "crypto/rand", "os/exec", "runtime",
		"unsafe"}
	files := token.NewFileSet()
	paths, err := filepath.Glob(filepath.Join(root(t), "runner", "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files of the machine (%v)", err)
	}
	for _, path := range paths {
		name := filepath.Base(path)
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range f.Imports {
			path, _ := strconv.Unquote(imp.Path.Value)
			for _, b := range banned {
				if within(path, b) {
					t.Errorf("runner/%s imports %s", name, path)
				}
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: a goroutine in the machine", files.Position(n.Pos()))
			case *ast.SelectorExpr:
				if called(n, "time", "Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Sleep", "Tick") {
					t.Errorf("%s: the machine looks at the clock; time comes with events", files.Position(n.Pos()))
				}
			case *ast.SelectStmt, *ast.ChanType:
				t.Errorf("%s: a channel in the machine", files.Position(n.Pos()))
			}
			return true
		})
	}
}

func called(n *ast.SelectorExpr, from string, names ...string) bool {
	x, ok := n.X.(*ast.Ident)
	return ok && x.Name == from && slices.Contains(names, n.Sel.Name)
}

// habit lists names of a package that only some folders may use.
type habit struct {
	from    string
	names   []string
	folders []string
	why     string
}

func habits() []habit {
	programs := []string{"cmd/runplan", "cmd/runplan/app", "internal/reap", "tools/attack", "tools/bench", "tools/cross",
		"tools/dist", "tools/examples",
		"tools/mutate", "tools/mutation", "tools/notice", "tools/packages", "tools/record", "tools/reference", "tools/reflow",
		"tools/site", "tools/precision", "tools/retrieval", "tools/selection", "tools/shown", "tools/storm", "tools/weakened"}
	return []habit{
		{"os", []string{"Exit"}, programs, "the exit code is decided in one place"},
		{"os", []string{"Getenv", "LookupEnv"},
			[]string{"cmd/runplan/app", "internal/cli/control", "tools/attack", "tools/dist", "tools/precision",
				"internal/config", "tools/mutation", "tools/scratch", "tools/tooltest", "tools/agenttest"},
			"the environment is handed in"},
		{"os", []string{"Environ"},
			[]string{"cmd/runplan", "cmd/runplan/app", "tools/dist", "tools/notice", "tools/scratch", "tools/tooltest",
				"tools/bench", "tools/cross", "tools/mutation", "tools/retrieval", "tools/selection", "tools/weakened",
				"internal/proc", "gates", "tools/gatetest", "gates/plugin", "agents/command"}, "a nil environment means that of the process, as in os/exec"},
		{"os", []string{"Stdout", "Stderr", "Stdin"}, programs, "output goes where the caller says"},
		{"fmt", []string{"Print", "Println", "Printf"},
			[]string{"tools/cross", "tools/mutate", "tools/notice", "tools/record", "tools/site", "tools/attack", "tools/bench",
				"tools/storm", "tools/weakened"}, "output goes where the caller says"},
		{"store", []string{"OpenTraining"}, []string{"training"},
			"training data, adapters and datasets are written through one door"},
		{"os", []string{"Chdir"}, nil, "the working directory belongs to the whole process"},
	}
}

// attemptFiles are the files in the folder of an attempt, as literals.
var attemptFiles = []string{`"brief.md"`, `"agent.log"`, `"answer.md"`, `"changes.patch"`, `"critique.json"`}

// isRunInfo reports whether a literal makes a runner.Info outside of package runner.
func isRunInfo(lit *ast.CompositeLit) bool {
	sel, ok := lit.Type.(*ast.SelectorExpr)
	return ok && called(sel, "runner", "Info")
}

// longest is the maximum number of lines of a file. A longer file has more than one subject.
const longest = 700

// Only the listed folders exit, read the environment or print by themselves, and each file has a readable length.
func TestForbiddenCallsAndFileLength(t *testing.T) {
	for _, p := range packages(t) {
		for _, name := range slices.Concat(p.GoFiles, p.IgnoredGoFiles) {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			path := filepath.Join(p.Dir, name)
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files := token.NewFileSet()
			f, err := parser.ParseFile(files, path, src, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(src, []byte("\n")); n > longest && !ast.IsGenerated(f) {
				t.Errorf("%s/%s has %d lines; take it apart at %d", p.folder(), name, n, longest)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if lit, ok := n.(*ast.CompositeLit); ok && isRunInfo(lit) &&
					!slices.Contains([]string{"internal/cli/prepare", "tools/bench"}, p.folder()) {
					t.Errorf("%s: a runner.Info is made in internal/cli/prepare only", files.Position(lit.Pos()))
				}
				if lit, ok := n.(*ast.BasicLit); ok && slices.Contains(attemptFiles, lit.Value) &&
					!slices.Contains([]string{"runner/journal", "agents/command", "tools/agenttest", "tools/storm"}, p.folder()) {
					t.Errorf("%s: runner/journal names and reads the files of an attempt", files.Position(lit.Pos()))
				}
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				for _, h := range habits() {
					if called(sel, h.from, h.names...) && !slices.Contains(h.folders, p.folder()) {
						t.Errorf("%s: %s.%s: %s", files.Position(sel.Pos()), h.from, sel.Sel.Name, h.why)
					}
				}
				return true
			})
		}
	}
}
