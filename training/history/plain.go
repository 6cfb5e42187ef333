package history

import (
	"strings"
	"sync"

	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/planparse/draft"
)

// Whether a plan reads as what it is meant to say, only the parser of plans knows, and it takes longer than all else that
// is done for a commit. Sentences of plain words hold nothing that it could take for something else, so it is not asked
// about these; that it would agree is tested.

// signalWords begin what a plan may tell runplan: text with one of them is read by the parser, however plain it is.
var signalWords = finder(
	"batch", "phase", "depend", "critical", "parallel", "approv", "verif", "todo",
)

// plain tells text of words and the marks of sentences, each line of which begins with a letter.
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

// paths are those that plans were found to be able to name, or not.
type paths struct {
	mutex sync.Mutex
	known map[string]bool
}

// plainPath tells the path of a file in folders, all of whose names are words.
func plainPath(path string) bool {
	stem, end, ok := strings.Cut(path, ".")
	for part := range strings.SplitSeq(stem, "/") {
		ok = ok && part != "" && part[0] != '-' && strings.IndexFunc(part, func(c rune) bool { return c > 0x7f || !isWord(byte(c)) && c != '-' || c == '$' }) < 0
	}
	ok = ok && end != "" && strings.IndexFunc(end, func(c rune) bool { return c < 'a' || c > 'z' }) < 0
	return ok && len(path) < 100 && signalWords().Next(path, 0) < 0
}

// named tells whether a plan can name a path.
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
	one := draft.Plan{Title: "Change it", Batches: []draft.Batch{{Title: "Change it", Tasks: []string{"Change it"}, Files: draft.Files{Modify: []string{path}}}}}
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

// readable tells whether the product takes an artifact of one batch for a plan. The tasks are those that [change.task] writes.
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

// code tells text of names and paths on one line.
func code(text string) bool {
	for i := range len(text) {
		if c := text[i]; !isWord(c) && c != '.' && c != ',' && c != '/' && c != ' ' && c != '-' || c == '$' {
			return false
		}
	}
	return len(text) < 200
}

// readable tells whether the product takes an artifact for a plan.
func readable(a draft.Plan) error {
	n, err := a.Normal()
	if err == nil {
		_, err = n.Markdown()
	}
	return err
}

// taskPlan is the plan of one batch that a task is run as.
func taskPlan(task string) (*planparse.Plan, error) {
	first, _, _ := strings.Cut(task, "\n")
	title := draft.Title(cut(first, 80), "Solve the task")
	if plain(title) && plain(strings.TrimRight(task, "\n")) {
		return &planparse.Plan{Title: title, Batches: []planparse.Batch{{Number: "1", Title: title, Text: "\n" + strings.TrimRight(task, "\n") + "\n"}}}, nil
	}
	return parsedPlan(title, task)
}
