package routing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/runplan/runplan/internal/condition"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/planparse"
)

// ClassFact holds the variables of the expression routing.class.
type ClassFact struct {
	Creates     int    `expr:"creates"` // number of files, including those of literal blocks
	Modifies    int    `expr:"modifies"`
	Tests       int    `expr:"tests"`
	Deletes     int    `expr:"deletes"`
	Commands    int    `expr:"commands"` // to run and to verify
	Scripts     int    `expr:"scripts"`  // literal shell and testscript blocks, whose effect is unknown
	Title       string `expr:"title"`
	Group       string `expr:"group"` // title of the group, or its number without one
	Critical    bool   `expr:"critical"`
	Tasks       int    `expr:"tasks"`
	ContextRefs int    `expr:"context_refs"`

	more bool     // a task asks for more than a check
	docs bool     // all files are prose
	task []string // titles of the tasks
}

// Confidence of a class, in percent. Explicit titles and missing file changes are stronger evidence than indirect
// hints. Without evidence, the class with the better model is chosen with a confidence of 50.
const (
	sureOverride = 100 // an expression in the settings decided
	sureTitle    = 90  // architecture, by its title
	sureFiles    = 90  // code is created or changed
	sureCommands = 85  // only commands
	sureBoth     = 95  // only commands, and the title says verify, check or test
	sureWiring   = 80  // the title says wire, and no file is created
	sureTasks    = 65  // each task connects existing parts
	sureProse    = 60  // only prose changes; or only the title says verify
	sureNothing  = 50
)

// words in titles. They match whole words only, so "resigned" does not match "design".
var (
	architectureWords = []string{"design", "designs", "architecture", "architectures", "architectural"}
	wiringWords       = []string{"wire", "wires", "wired", "wiring", "rewire", "hook up", "hooks up", "hook into",
		"register", "registers", "registration",
		"integrate", "integrates", "integration", "connect", "connects", "plug in", "plug into", "glue", "expose"}
	verifyWords = []string{"verify", "verifies", "verification", "validate", "validation", "check", "checks", "test",
		"tests", "testing", "smoke",
		"e2e", "end-to-end", "acceptance", "trace", "audit", "benchmark"}
	// A batch with one of these words contains logic, whatever else it connects. Tests count as logic too.
	logicWords = []string{"implement", "implements", "implementation", "rewrite", "refactor", "algorithm", "logic",
		"parser", "engine", "migrate", "migration", "fix"}
)

// classify returns the class of a batch (ROUTE-12), its confidence in percent, and the reason.
func classify(p *planparse.Plan, b *planparse.Batch, r Rules) (Class, int, string, error) {
	f := classFactOf(p, b)
	if r.Class != "" {
		class, err := classByRule(r.Class, b.Number, f)
		return class, sureOverride, "by routing.class; " + f.counts(), err
	}
	class, sure, why := f.class()
	return class, sure, why, nil
}

// classByRule evaluates the rule of the settings. Errors are errors of the rule, not of the plan.
func classByRule(text, number string, f ClassFact) (Class, error) {
	c, err := condition.ParseText[ClassFact](text)
	if err != nil {
		return "", fmt.Errorf("routing.class: %w", err)
	}
	name, err := c.Value(f)
	if err != nil {
		return "", fmt.Errorf("routing.class: for batch %s: %w", number, err)
	}
	switch class := Class(name); class {
	case Implementation, Verification, Architecture, Wiring:
		return class, nil
	}
	return "", fmt.Errorf("routing.class: expression %q gives %q for batch %s; classes are %s, %s, %s and %s",
		text, name, number, Implementation, Verification, Architecture, Wiring)
}

func classFactOf(p *planparse.Plan, b *planparse.Batch) ClassFact {
	create, modify, remove := slices.Clone(b.Files.Create), slices.Clone(b.Files.Modify), slices.Clone(b.Files.Delete)
	f := ClassFact{
		Tests: len(b.Files.Test), Commands: len(b.Commands), Title: b.Title,
		more:     b.AsksMore(),
		Critical: b.Critical || p.Header.Critical, Tasks: len(b.Tasks), ContextRefs: len(b.ContextRefs),
	}
	named := func(path string) bool {
		return path != "" && (slices.Contains(create, path) || slices.Contains(modify, path) ||
			slices.Contains(remove, path) || slices.Contains(b.Files.Test, path))
	}
	for _, x := range b.Blocks {
		switch {
		case x.Kind == planparse.BlockShell || x.Kind == planparse.BlockTestscript:
			f.Scripts++
		case x.Kind == planparse.BlockRun || named(x.Path):
		case x.Kind == planparse.BlockFile:
			create = append(create, x.Path)
		case x.Kind == planparse.BlockDelete:
			remove = append(remove, x.Path)
		case x.Path != "" || len(modify) == 0: // all unnamed patches count as one file
			modify = append(modify, x.Path)
		}
	}
	f.Creates, f.Modifies, f.Deletes = len(create), len(modify), len(remove)
	f.docs = !slices.ContainsFunc(slices.Concat(create, modify, b.Files.Test, remove),
		func(path string) bool { return !language.IsProse(path) })
	group := lists.First(p.Groups, func(g planparse.Group) bool { return g.Number == b.Group && g.Title != "" })
	f.Group = cmp.Or(group.Title, b.Group)
	f.task = lists.Map(b.Tasks, func(t planparse.Task) string { return t.Title })
	return f
}

// class applies the built-in rules. The title comes first, because the plan's author chose it; then the file
// changes.
func (f ClassFact) class() (Class, int, string) {
	files := f.Creates + f.Modifies + f.Tests + f.Deletes
	none := files+f.Scripts == 0
	verify := said(f.Title, verifyWords)
	wiring, logic := said(f.Title, wiringWords), said(f.Title, logicWords)
	switch word := said(f.Title, architectureWords); {
	case word != "":
		return Architecture, sureTitle, fmt.Sprintf("title says %q", word)
	case none && f.Commands > 0 && f.more:
		return Implementation, sureNothing, f.counts() + ", and tasks that list no files"
	case none && f.Commands > 0 && verify != "":
		return Verification, sureBoth, f.counts()
	case files == 0 && f.Scripts > 0 && verify != "":
		return Verification, sureProse, fmt.Sprintf("%s, title says %q", f.counts(), verify)
	case none && f.Commands > 0:
		return Verification, sureCommands, f.counts()
	case none && verify != "":
		return Verification, sureProse, fmt.Sprintf("0 creates, title says %q", verify)
	case none:
		return Implementation, sureNothing, "lists neither files nor commands"
	}
	if f.Creates+f.Deletes+f.Scripts == 0 && f.Modifies > 0 && logic+verify == "" {
		if wiring != "" {
			return Wiring, sureWiring, fmt.Sprintf("no new logic: %s, title says %q", f.counts(), wiring)
		}
		if f.each(wiringWords) {
			return Wiring, sureTasks, fmt.Sprintf("no new logic: %s, each task connects existing parts", f.counts())
		}
	}
	switch {
	case files == 0:
		return Implementation, sureNothing, f.counts()
	case f.docs:
		return Implementation, sureProse, f.counts() + ", text only"
	}
	return Implementation, sureFiles, f.counts()
}

// each reports whether each task title has one of the words and none has a logic word.
func (f ClassFact) each(words []string) bool {
	return len(f.task) > 0 && !slices.ContainsFunc(f.task,
		func(title string) bool { return said(title, words) == "" || said(title, logicWords) != "" })
}

// counts describes a batch's changes: "creates 4 files, adds tests", or "0 creates, 5 run commands".
func (f ClassFact) counts() string {
	var parts []string
	add := func(verb string, n int, noun string) {
		if n > 0 {
			parts = append(parts, verb+" "+phrase.Count(n, noun))
		}
	}
	add("creates", f.Creates, "file")
	add("modifies", f.Modifies, "file")
	add("deletes", f.Deletes, "file")
	switch {
	case f.Tests > 0 && len(parts) > 0:
		parts = append(parts, "adds tests")
	case f.Tests > 0:
		add("writes", f.Tests, "test file")
	}
	if len(parts) > 0 {
		return strings.Join(parts, ", ")
	}
	text := "0 creates, " + phrase.Count(f.Commands, "run command")
	if f.Scripts > 0 {
		text += ", " + phrase.Count(f.Scripts, "script")
	}
	return text
}

// said returns the first of the words in a text, ignoring case; a word may consist of two.
func said(text string, words []string) string {
	// A hyphen joins words, as in end-to-end.
	fields := strings.FieldsFunc(strings.ToLower(text),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_' })
	line := " " + strings.Join(fields, " ") + " "
	best, at := "", len(line)
	for _, w := range words {
		if i := strings.Index(line, " "+w+" "); i >= 0 && i < at {
			best, at = w, i
		}
	}
	return best
}

// Facts are the variables of a condition.
type Facts struct {
	Env   map[string]string `expr:"env"`
	Batch BatchFacts        `expr:"batch"`
}

// BatchFacts describes the batch that has a condition.
type BatchFacts struct {
	Number   string `expr:"number"`
	Title    string `expr:"title"`
	Tasks    int    `expr:"tasks"`
	Creates  int    `expr:"creates"`
	Modifies int    `expr:"modifies"`
	Tests    int    `expr:"tests"`
	Deletes  int    `expr:"deletes"`
	Commands int    `expr:"commands"`
	Critical bool   `expr:"critical"`
}

// FactsOf collects the facts of one batch.
func FactsOf(b *planparse.Batch, env map[string]string) Facts {
	if env == nil {
		env = map[string]string{}
	}
	return Facts{Env: env, Batch: BatchFacts{
		Number: b.Number, Title: b.Title, Tasks: len(b.Tasks), Critical: b.Critical,
		Creates: len(b.Files.Create), Modifies: len(b.Files.Modify), Tests: len(b.Files.Test), Deletes: len(b.Files.Delete),
		Commands: len(b.Commands),
	}}
}

// Holds evaluates a condition. An unknown name, or a condition whose value is not yes or no, is an error with its
// position.
func Holds(text string, f Facts) (bool, error) {
	c, err := condition.Parse[Facts](text)
	if err != nil {
		return false, err
	}
	return c.Holds(f)
}
