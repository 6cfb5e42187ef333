package history

import (
	"strings"
	"sync"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/planparse/draft"
)

// Only the plan parser knows whether a plan reads as intended, but it takes longer than all other work on a commit.
// Plain sentences contain nothing that the parser could interpret, so they skip it. A test checks that the parser
// agrees.

// signalWords start instructions to runplan in a plan. A text that contains one is checked by the parser, even if it
// is plain.
var signalWords = finder(
	"batch", "phase", "depend", "critical", "parallel", "approv", "verif", "todo",
)

// plain reports whether a text consists only of words and punctuation, with each line starting with a letter.
func plain(text string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		for i := range len(line) {
			switch c := line[i]; {
			case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
			case i == 0:
				return false
			case c >= '0' && c <= '9', strings.IndexByte(".,;?!'\"()/+%-", c) >= 0:
			case c == ' ' && line[i-1] != ' ' && i < len(line)-1:
			default:
				return false
			}
		}
	}
	return signalWords().Next(text, 0) < 0
}

// paths caches which paths plans can name.
type paths struct {
	mutex sync.Mutex
	known map[string]bool
}

// plainPath reports whether all elements of a path are words.
func plainPath(path string) bool {
	stem, end, ok := strings.Cut(path, ".")
	for part := range strings.SplitSeq(stem, "/") {
		ok = ok && part != "" && part[0] != '-' &&
			strings.IndexFunc(part, func(c rune) bool { return c > 0x7f || !isWord(byte(c)) && c != '-' || c == '$' }) < 0
	}
	ok = ok && end != "" && strings.IndexFunc(end, func(c rune) bool { return c < 'a' || c > 'z' }) < 0
	return ok && len(path) < 100 && signalWords().Next(path, 0) < 0
}

// named reports whether a plan can name a path.
func (p *paths) named(path string) bool {
	if plainPath(path) {
		return true
	}
	p.mutex.Lock()
	ok, known := p.known[path]
	p.mutex.Unlock()
	if known {
		return ok
	}
	one := draft.Plan{Title: "Change it",
		Batches: []draft.Batch{{Title: "Change it", Tasks: []string{"Change it"},
			Files: draft.Files{Modify: []string{path}}}}}
	one.Batches[0].Tasks = append(one.Batches[0].Tasks, "Create "+path, "Delete "+path, "In "+path+" change Name.part")
	ok = readable(one) == nil
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.known == nil || len(p.known) > 10_000 {
		p.known = map[string]bool{}
	}
	p.known[path] = ok
	return ok
}

// readable reports whether the parser accepts an artifact of one batch as a plan. Its tasks come from [change.task].
func (p *paths) readable(a draft.Plan) error {
	b := a.Batches[0]
	ok := plain(a.Title) && plain(a.Goal) && plain(b.Title) && plain(b.Rationale)
	for _, list := range [][]string{b.Files.Create, b.Files.Modify, b.Files.Test, b.Files.Delete} {
		for _, path := range list {
			ok = ok && p.named(path)
		}
	}
	for _, t := range b.Tasks {
		ok = ok && code(t)
	}
	if ok {
		return nil
	}
	return readable(a)
}

// code reports whether a text is one line of names and paths.
func code(text string) bool {
	for i := range len(text) {
		if c := text[i]; !isWord(c) && c != '.' && c != ',' && c != '/' && c != ' ' && c != '-' || c == '$' {
			return false
		}
	}
	return len(text) < 200
}

// readable reports whether the parser accepts an artifact as a plan.
func readable(a draft.Plan) error {
	n, err := a.Normal()
	if err == nil {
		_, err = n.Markdown()
	}
	return err
}

// taskPlan returns the plan of one batch for a task.
func taskPlan(task string) (*planparse.Plan, error) {
	first, _, _ := strings.Cut(task, "\n")
	title := draft.Title(phrase.Cut(first, 80), "Solve the task")
	if plain(title) && plain(strings.TrimRight(task, "\n")) {
		return &planparse.Plan{Title: title,
			Batches: []planparse.Batch{{Number: "1", Title: title, Text: "\n" + strings.TrimRight(task, "\n") + "\n"}}}, nil
	}
	return parsedPlan(title, task)
}
