// Package draft writes plans from the answer of a model or from the sections of a document. Each written plan is parsed
// again, and the result must equal the intended plan.
package draft

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/runplan/runplan/internal/edit"
	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/planparse"
)

// Plan is the content of a plan before it is written (SOLVE-01): the changes, their order and the reasons.
type Plan struct {
	Title   string  `json:"title"`
	Goal    string  `json:"goal"`
	Batches []Batch `json:"batches"`

	Left []Left `json:"-"` // parts of the document outside all batches, listed below the batches
}

// Left is a part of a document outside all batches.
type Left struct {
	First int    `json:"first"`
	Last  int    `json:"last"`
	Title string `json:"title"`
	Why   string `json:"why"`
}

// Batch is one unit of work of a [Plan].
type Batch struct {
	Title     string   `json:"title"`
	Rationale string   `json:"rationale"`
	Files     Files    `json:"files"`
	Tasks     []string `json:"tasks"`      // first line: the task; more lines: details
	DependsOn []int    `json:"depends_on"` // numbers of batches, from 1

	Origin string   `json:"-"` // its source, as PATH:LINE
	From   []string `json:"-"` // source of each task; as many as tasks, or none
	Refs   []string `json:"-"` // files to read first
	Checks []Check  `json:"-"`
}

// Check is a command that verifies the batch.
type Check struct {
	Run      string `json:"run"`
	Expected string `json:"expected,omitempty"` // "PASS" or ""
}

// Files are the paths of a batch, by action.
type Files = planparse.Files

// ErrUnusable means that a plan cannot be written in a form that runs.
var ErrUnusable = errors.New("the plan cannot be used")

// Normal returns the plan in normal form: one-line titles without markup, normalized paths without duplicates. It
// rejects a plan without batches, with a path outside the repository, or with circular dependencies.
func (a Plan) Normal() (Plan, error) {
	bad := func(format string, args ...any) (Plan, error) {
		return Plan{}, fmt.Errorf("%w: %s", ErrUnusable, fmt.Sprintf(format, args...))
	}
	if len(a.Batches) == 0 {
		return bad("it has no batch")
	}
	out := Plan{Title: Title(a.Title, "Plan"), Goal: prose(a.Goal)}
	for i, b := range a.Batches {
		n := i + 1
		nb := Batch{Title: Title(b.Title, fmt.Sprintf("Part %d", n)), Rationale: prose(b.Rationale), Files: b.Files}
		for _, list := range nb.Files.Actions() {
			var clean []string
			for _, p := range *list {
				p, err := pathOf(p)
				if err != nil {
					return bad("batch %d: %v", n, err)
				}
				clean = lists.Add(clean, p)
			}
			*list = clean
		}
		for i, t := range b.Tasks {
			if t = prose(t); t != "" {
				nb.Tasks = append(nb.Tasks, t)
				if len(b.From) == len(b.Tasks) {
					nb.From = append(nb.From, b.From[i])
				}
			}
		}
		nb.Origin, nb.Refs, nb.Checks = b.Origin, b.Refs, b.Checks
		for _, d := range b.DependsOn {
			switch {
			case d < 1 || d > len(a.Batches):
				return bad("batch %d depends on batch %d, but there are only %d", n, d, len(a.Batches))
			case d == n:
				return bad("batch %d depends on itself", n)
			}
			nb.DependsOn = lists.Add(nb.DependsOn, d)
		}
		if len(nb.Tasks) == 0 && nb.Rationale == "" {
			return bad("batch %d describes no work", n)
		}
		out.Batches = append(out.Batches, nb)
	}
	return out, nil
}

// maxTitle limits the length of a heading, in characters.
const maxTitle = 120

// Title returns text as one line that is valid in a plan's heading. It returns "" if no text remains.
func Title(text, none string) string {
	text = image.ReplaceAllString(phrase.Line(fence.Line(text)), "$1")
	text = link.ReplaceAllString(text, "$1")
	text = phrase.Line(strings.Map(withoutMarks, underscores(text)))
	text = strings.TrimLeftFunc(text, func(r rune) bool { return !isWord(r) })
	if utf8.RuneCountInString(text) > maxTitle {
		text = strings.TrimSpace(string([]rune(text)[:maxTitle-1])) + "…"
	}
	return cmp.Or(text, none)
}

// image and link match markup with a text and a target: "[text](url)", "[text][name]". A link may contain an image.
var (
	image = lazyre.New(`!\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])`)
	link  = lazyre.New(`\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])`)
)

// withoutMarks replaces or removes a character with a meaning in markdown.
func withoutMarks(r rune) rune {
	switch r {
	case '*', '#', '~':
		return -1
	case '<', '[':
		return '('
	case '>', ']':
		return ')'
	case '|', '\\':
		return '/'
	case '`':
		return '\''
	case '_':
		return ' '
	case inWord:
		return '_'
	}
	return r
}

// inWord marks an underscore inside a word, which is not markup.
const inWord = '\x1a'

// underscores replaces the underscores inside words by inWord.
func underscores(text string) string {
	runes := []rune(strings.ReplaceAll(text, string(inWord), ""))
	for i := 1; i+1 < len(runes); i++ {
		if runes[i] == '_' && isWord(runes[i-1]) && isWord(runes[i+1]) {
			runes[i] = inWord
		}
	}
	return string(runes)
}

func isWord(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r > utf8.RuneSelf && r != utf8.RuneError
}

// prose cleans text with several lines.
func prose(text string) string {
	var lines []string
	for line := range strings.Lines(fence.Hide(fence.Clean(text))) {
		lines = append(lines, strings.TrimRight(line, " \t\n"))
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// plainPath matches paths that the parser reads unchanged, as it does for nearly all paths.
var plainPath = lazyre.New(`^\w[\w-]*(?:[/.]\w[\w-]*)*\.[a-z]+$`)

// pathOf normalizes a path. It fails if a plan cannot express the path.
func pathOf(p string) (string, error) {
	clean := strings.TrimPrefix(strings.TrimSpace(p), "./")
	if err := edit.Lexical(clean); err != nil {
		return "", err
	}
	if !plainPath.MatchString(clean) && !namesPath(clean) {
		return "", fmt.Errorf("a plan cannot name the path %q", p)
	}
	return clean, nil
}

// namesPath reports whether the parser reads a path of a plan exactly as it is.
func namesPath(path string) bool {
	plan, err := planparse.Parse("", []byte("## Batch 1: x\n\n- Modify: `"+path+"`\n"))
	return err == nil && len(plan.Batches) == 1 && slices.Equal(plan.Batches[0].Files.Modify, []string{path})
}

// Markdown writes the plan in the run-plan dialect, parses it again and compares the result. The plan must be normal:
// see [Plan.Normal].
func (a Plan) Markdown() (string, error) {
	var err error
	for _, fenced := range []bool{false, true} {
		text := a.markdown(fenced)
		if err = a.readsAs(text); err == nil {
			return text, nil
		}
	}
	return "", fmt.Errorf("%w: %w", ErrUnusable, err)
}

// Readable checks a plan like [Plan.Markdown], but returns only the error. It puts prose in fences, which is parsed
// faster.
func (a Plan) Readable() error {
	if a.readsAs(a.markdown(true)) == nil {
		return nil
	}
	_, err := a.Markdown()
	return err
}

// markdown writes the plan. With fenced, all prose is in fences.
func (a Plan) markdown(fenced bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", a.Title)
	paragraph := func(text string) {
		switch {
		case text == "":
		case fenced || !plainProse(text) && !harmless(text):
			b.WriteString("\n" + fence.Around("text", text))
		default:
			b.WriteString("\n" + text + "\n")
		}
	}
	paragraph(a.Goal)
	from := func(origin string) {
		if origin = strings.ReplaceAll(fence.Line(origin), "--", "- -"); origin != "" {
			fmt.Fprintf(&b, "\n<!-- from %s -->\n", origin)
		}
	}
	for i, x := range a.Batches {
		fmt.Fprintf(&b, "\n## Batch %d: %s\n", i+1, x.Title)
		if len(x.DependsOn) > 0 {
			on := lists.Map(x.DependsOn, func(d int) string { return fmt.Sprintf("batch-%d", d) })
			fmt.Fprintf(&b, "\ndepends_on: %s\n", strings.Join(on, ", "))
		}
		if len(x.Refs) > 0 {
			fmt.Fprintf(&b, "\ncontext_refs: %s\n", strings.Join(x.Refs, ", "))
		}
		from(x.Origin)
		paragraph(x.Rationale)
		b.WriteString(fileList(x.Files))
		for j, t := range x.Tasks {
			name, more := splitTask(t)
			fmt.Fprintf(&b, "\n### Task %d: %s\n", j+1, Title(name, fmt.Sprintf("Step %d", j+1)))
			if j < len(x.From) && x.From[j] != x.Origin {
				from(x.From[j])
			}
			paragraph(more)
		}
		for _, c := range x.Checks {
			fmt.Fprintf(&b, "\nRun: `%s`\n", c.Run)
			if c.Expected != "" {
				fmt.Fprintf(&b, "Expected: %s\n", c.Expected)
			}
		}
	}
	if len(a.Left) > 0 {
		b.WriteString("\n## Not in any batch\n\n")
		for _, l := range a.Left {
			fmt.Fprintf(&b, "- lines %d to %d, %s: %s\n", l.First, l.Last, Title(l.Title, "without a title"),
				Title(l.Why, "omitted"))
		}
	}
	return b.String()
}

// harmless reports whether a plan can contain a text with markup unchanged. According to the parser, the text must
// contain no work, files, commands or keys, and must not affect what follows.
func harmless(text string) bool {
	if lines := strings.Split(strings.TrimSpace(text), "\n"); strings.Trim(lines[len(lines)-1], "- \t") == "" {
		return false // the parser does not count a rule at the end of a batch as part of it
	}
	mini := "# p\n\n## Batch 1: x\n\nText.\n\n### Task 1: y\n\n" + text +
		"\n\n### Task 2: z\n\nText.\n\n## Batch 2: w\n\nText.\n"
	p, err := planparse.Parse("", []byte(mini))
	if err != nil || p.Format != planparse.FormatRunPlan || len(p.Batches) != 2 || len(p.Batches[0].Tasks) != 2 ||
		len(p.Unassigned) > 0 {
		return false
	}
	for _, d := range p.Diagnostics {
		if d.Severity != planparse.SeverityInfo {
			return false
		}
	}
	b, tasks := p.Batches[0], p.Batches[0].Tasks
	return tasks[0].Title == "y" && tasks[1].Title == "z" && len(tasks[0].Steps)+len(tasks[1].Steps) == 0 &&
		len(b.Files.All())+len(b.Commands)+len(b.Blocks)+len(b.DependsOn)+len(b.ContextRefs) == 0 && !instructs(&b) &&
		p.Batches[1].Title == "w"
}

// instructs reports whether a batch contains an instruction to runplan that drafts never contain.
func instructs(b *planparse.Batch) bool {
	return len(b.Steps)+len(b.Regression)+b.Mutants > 0 || b.EstimateMS > 0 || b.Approve || b.TestFirst || b.Critical ||
		b.ParallelSafe || b.When != "" ||
		slices.ContainsFunc(b.Blocks, func(k planparse.Block) bool { return k.Kind != planparse.BlockRun })
}

// fileList returns the list of files as a plan contains it.
func fileList(f Files) string {
	if len(f.All()) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n**Files:**\n")
	for verb, paths := range f.Actions() {
		for _, p := range *paths {
			fmt.Fprintf(&b, "- %s: `%s`\n", verb, p)
		}
	}
	return b.String()
}

// splitTask splits a task into its heading and the text below. If the heading cannot hold the complete first line,
// the text repeats it.
func splitTask(t string) (name, more string) {
	first, rest, _ := strings.Cut(t, "\n")
	if Title(first, "") == strings.TrimSpace(first) {
		return first, strings.Trim(rest, "\n")
	}
	return first, t
}

// plainProse reports whether a plan can contain a text unchanged: it has only sentences, without headings, lists,
// labels or fences.
func plainProse(text string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line == "" {
			continue
		}
		if r, _ := utf8.DecodeRuneInString(line); !isWord(r) || r >= '0' && r <= '9' {
			return false
		}
		if strings.ContainsAny(line, "`<>*_#~|[]\\:：=") {
			return false
		}
	}
	return true
}

// readsAs verifies with the parser that text means the plan a, and names the first difference.
func (a Plan) readsAs(text string) error {
	p, err := planparse.Parse("", []byte(text))
	if err != nil {
		return err
	}
	if ds := p.Errors(); len(ds) > 0 {
		return fmt.Errorf("line %d: %s", ds[0].Line, ds[0].Message)
	}
	if p.Format != planparse.FormatRunPlan || p.Title != a.Title || len(p.Batches) != len(a.Batches) {
		return fmt.Errorf("it reads as %q in the format %s, with %d batches", p.Title, p.Format, len(p.Batches))
	}
	for i, want := range a.Batches {
		if err := want.readsAs(&p.Batches[i], i+1); err != nil {
			return fmt.Errorf("batch %d: %w", i+1, err)
		}
	}
	return nil
}

// checksOf converts the commands of a batch to checks.
func checksOf(b *planparse.Batch) []Check {
	return lists.Map(b.Commands, func(c planparse.Command) Check { return Check{c.Run, c.Expected} })
}

func (x Batch) readsAs(b *planparse.Batch, n int) error {
	on := lists.Map(x.DependsOn, func(d int) string { return fmt.Sprint(d) })
	switch {
	case b.Number != fmt.Sprint(n) || b.Title != x.Title:
		return fmt.Errorf("it is parsed as number %s with the title %q", b.Number, b.Title)
	case !slices.Equal(b.DependsOn, on):
		return fmt.Errorf("it depends on %v", b.DependsOn)
	case len(b.Tasks) != len(x.Tasks):
		return fmt.Errorf("it has %d tasks", len(b.Tasks))
	case !slices.Equal(b.ContextRefs, x.Refs):
		return fmt.Errorf("it refers to %v", b.ContextRefs)
	case !slices.Equal(checksOf(b), x.Checks):
		return fmt.Errorf("it runs %v", checksOf(b))
	case fileList(b.Files) != fileList(x.Files):
		return fmt.Errorf("it names the files %v", b.Files.All())
	case instructs(b):
		return errors.New("something in its text reads as an instruction to runplan")
	}
	for j, t := range b.Tasks {
		name, _ := splitTask(x.Tasks[j])
		if want := Title(name, fmt.Sprintf("Step %d", j+1)); t.Title != want || t.Done || len(t.Steps) > 0 ||
			t.Number != fmt.Sprint(j+1) {
			return fmt.Errorf("task %d reads as %q", j+1, t.Title)
		}
	}
	return nil
}
