package draft

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/runplan/runplan/internal/edit"
	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/planparse"
)

// Plan is a plan as a model makes it (SOLVE-01): what is to be changed, in which order, and why.
type Plan struct {
	Title   string          `json:"title"`
	Goal    string          `json:"goal"`
	Batches []Batch `json:"batches"`
}

// Batch is one unit of work of an [Plan].
type Batch struct {
	Title     string        `json:"title"`
	Rationale string        `json:"rationale"`
	Files     Files `json:"files"`
	Tasks     []string      `json:"tasks"`      // a first line that says what, and more lines if there is more to say
	DependsOn []int         `json:"depends_on"` // numbers of batches, the first is 1
}

// Files are the paths that a batch is about.
type Files struct {
	Create []string `json:"create"`
	Modify []string `json:"modify"`
	Test   []string `json:"test"`
	Delete []string `json:"delete"`
}

// ErrUnusable says that a model's plan cannot be written as a plan that runs.
var ErrUnusable = errors.New("the plan cannot be used")

// Normal returns the artifact as a plan says it: titles on one line and without markup, paths in their one spelling,
// each once. It refuses what no plan can say: no batch, a path out of the repository, an order that goes in circles.
func (a Plan) Normal() (Plan, error) {
	bad := func(format string, args ...any) (Plan, error) {
		return Plan{}, fmt.Errorf("%w: %s", ErrUnusable, fmt.Sprintf(format, args...))
	}
	if len(a.Batches) == 0 {
		return bad("it has no batch")
	}
	out := Plan{Title: title(a.Title, "Plan"), Goal: prose(a.Goal)}
	for i, b := range a.Batches {
		n := i + 1
		nb := Batch{Title: title(b.Title, fmt.Sprintf("Part %d", n)), Rationale: prose(b.Rationale)}
		for _, list := range []struct {
			from []string
			to   *[]string
		}{{b.Files.Create, &nb.Files.Create}, {b.Files.Modify, &nb.Files.Modify}, {b.Files.Test, &nb.Files.Test}, {b.Files.Delete, &nb.Files.Delete}} {
			for _, p := range list.from {
				clean, err := pathOf(p)
				if err != nil {
					return bad("batch %d: %v", n, err)
				}
				if !slices.Contains(*list.to, clean) {
					*list.to = append(*list.to, clean)
				}
			}
		}
		for _, t := range b.Tasks {
			if t = prose(t); t != "" {
				nb.Tasks = append(nb.Tasks, t)
			}
		}
		for _, d := range b.DependsOn {
			switch {
			case d < 1 || d > len(a.Batches):
				return bad("batch %d depends on batch %d, and there are %d", n, d, len(a.Batches))
			case d == n:
				return bad("batch %d depends on itself", n)
			}
			if !slices.Contains(nb.DependsOn, d) {
				nb.DependsOn = append(nb.DependsOn, d)
			}
		}
		if len(nb.Tasks) == 0 && nb.Rationale == "" {
			return bad("batch %d does not say what is to be done", n)
		}
		out.Batches = append(out.Batches, nb)
	}
	return out, nil
}

// maxTitle bounds a heading.
const maxTitle = 120

// Title makes one line of text that a heading of a plan holds as it is; none stands for a text that leaves nothing.
func Title(text, none string) string { return title(text, none) }

// title makes one line of text that a heading holds as it is.
func title(text, none string) string {
	text = strings.Join(strings.Fields(fence.Line(text)), " ")
	text = strings.Join(strings.Fields(strings.Map(withoutMarks, text)), " ")
	text = strings.TrimLeftFunc(text, func(r rune) bool { return !isWord(r) })
	if utf8.RuneCountInString(text) > maxTitle {
		text = strings.TrimSpace(string([]rune(text)[:maxTitle-1])) + "…"
	}
	if text == "" {
		return none
	}
	return text
}

// withoutMarks takes from a character what markdown would read into it.
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
	}
	return r
}

func isWord(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r > utf8.RuneSelf && r != utf8.RuneError
}

// prose cleans text of more than one line.
func prose(text string) string {
	var lines []string
	for line := range strings.Lines(fence.Hide(fence.Clean(text))) {
		lines = append(lines, strings.TrimRight(line, " \t\n"))
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// pathOf gives a path the spelling that plans have. One that a plan cannot name is an error.
func pathOf(p string) (string, error) {
	clean := strings.TrimPrefix(strings.TrimSpace(p), "./")
	if err := edit.Lexical(clean); err != nil {
		return "", err
	}
	// The parser is the judge: what it does not read as this very path is none.
	text := "## Batch 1: x\n\n- Modify: `" + clean + "`\n"
	plan, err := planparse.Parse("", []byte(text))
	if err != nil || len(plan.Batches) != 1 || !slices.Equal(plan.Batches[0].Files.Modify, []string{clean}) {
		return "", fmt.Errorf("%q is no path that a plan can name", p)
	}
	return clean, nil
}

// Markdown writes the artifact as a plan in the run-plan dialect, and has the parser confirm that it reads as what is
// meant. The artifact has to be [Plan.Normal].
func (a Plan) Markdown() (string, error) {
	text := a.markdown(false)
	if a.readsAs(text) != nil {
		text = a.markdown(true)
	}
	if err := a.readsAs(text); err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	return text, nil
}

// markdown writes the plan. With fenced, all prose stands in fences, whatever it looks like.
func (a Plan) markdown(fenced bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", a.Title)
	paragraph := func(text string) {
		switch {
		case text == "":
		case fenced || !plainProse(text):
			b.WriteString("\n" + fence.Around("text", text))
		default:
			b.WriteString("\n" + text + "\n")
		}
	}
	paragraph(a.Goal)
	for i, x := range a.Batches {
		fmt.Fprintf(&b, "\n## Batch %d: %s\n", i+1, x.Title)
		if len(x.DependsOn) > 0 {
			var on []string
			for _, d := range x.DependsOn {
				on = append(on, fmt.Sprintf("batch-%d", d))
			}
			fmt.Fprintf(&b, "\ndepends_on: %s\n", strings.Join(on, ", "))
		}
		paragraph(x.Rationale)
		x.Files.markdown(&b)
		for j, t := range x.Tasks {
			name, more := splitTask(t)
			fmt.Fprintf(&b, "\n### Task %d: %s\n", j+1, title(name, fmt.Sprintf("Step %d", j+1)))
			paragraph(more)
		}
	}
	return b.String()
}

func (f Files) markdown(b *strings.Builder) {
	if len(f.Create)+len(f.Modify)+len(f.Test)+len(f.Delete) == 0 {
		return
	}
	b.WriteString("\n**Files:**\n")
	for _, l := range []struct {
		verb  string
		paths []string
	}{{"Create", f.Create}, {"Modify", f.Modify}, {"Test", f.Test}, {"Delete", f.Delete}} {
		for _, p := range l.paths {
			fmt.Fprintf(b, "- %s: `%s`\n", l.verb, p)
		}
	}
}

// splitTask returns what stands in the heading of a task and what below it. A heading that cannot have all of the
// first line leaves it to the text as well.
func splitTask(t string) (name, more string) {
	first, rest, _ := strings.Cut(t, "\n")
	if title(first, "") == strings.TrimSpace(first) {
		return first, strings.Trim(rest, "\n")
	}
	return first, t
}

// plainProse tells text that a plan can hold as it is: sentences, nothing that reads like a heading, a list, a label or a
// fence.
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

// readsAs has the parser read text, and says what it takes for something else.
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

func (x Batch) readsAs(b *planparse.Batch, n int) error {
	var on []string
	for _, d := range x.DependsOn {
		on = append(on, fmt.Sprint(d))
	}
	switch {
	case b.Number != fmt.Sprint(n) || b.Title != x.Title:
		return fmt.Errorf("it reads as number %s with the title %q", b.Number, b.Title)
	case !slices.Equal(b.DependsOn, on):
		return fmt.Errorf("it depends on %v", b.DependsOn)
	case len(b.Tasks) != len(x.Tasks):
		return fmt.Errorf("it has %d tasks", len(b.Tasks))
	case len(b.Blocks) > 0 || len(b.Commands) > 0 || len(b.ContextRefs) > 0 || b.Critical || b.When != "" || b.ParallelSafe:
		return errors.New("something in its text reads as an instruction to runplan")
	}
	for _, list := range [][2][]string{{b.Files.Create, x.Files.Create}, {b.Files.Modify, x.Files.Modify}, {b.Files.Test, x.Files.Test}, {b.Files.Delete, x.Files.Delete}} {
		if !slices.Equal(list[0], list[1]) {
			return fmt.Errorf("it names the files %v", list[0])
		}
	}
	for j, t := range b.Tasks {
		name, _ := splitTask(x.Tasks[j])
		if want := title(name, fmt.Sprintf("Step %d", j+1)); t.Title != want || t.Done || len(t.Steps) > 0 || t.Number != fmt.Sprint(j+1) {
			return fmt.Errorf("task %d reads as %q", j+1, t.Title)
		}
	}
	return nil
}
