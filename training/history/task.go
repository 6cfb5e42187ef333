package history

import (
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/knowledge/retrieve"
)

// query holds what retrieval would find in the text of a task, and the truth about it.
type query struct {
	text     string
	fenced   string // text as in retrieval prompts
	intent   string
	kind     retrieve.TaskKind
	keywords []string
	files    []string // files that it names
	symbols  []string // symbols that it names, as written
}

var (
	ticked   = lazyre.New("`([^`\n]{1,200})`")
	codeName = lazyre.New(`[A-Za-z_$][\w$]*(?:(?:\.|::)[A-Za-z_$][\w$]*)*`)
	codeLike = lazyre.New(`^[A-Z][a-z0-9]+[A-Z]\w*$|^[a-z]+[A-Z]\w*$|^[A-Z]{2,}[a-z]\w*$|^_*[A-Za-z][A-Za-z0-9]*_[A-Za-z0-9_]*$|^\w{2,}(?:\.\w{2,})+$`)
	pathLike = lazyre.New(`[\w./-]+\.[A-Za-z]{1,5}\b`)
)

// understood makes the query of a commit.
func understood(w *work) query {
	q := query{text: w.task, kind: retrieve.KindOf(w.task), keywords: w.keywords, fenced: fenced(w.task)}
	q.intent = intentOf(w.task)
	known := w.known()
	for _, p := range pathLike.FindAllString(w.task, 60) {
		p = strings.Trim(p, "./")
		name := p
		if w.tree.file(p).blob == "" {
			name = ""
			for _, s := range known {
				if path.Base(s.path) == p || strings.HasSuffix(s.path, "/"+p) {
					name = s.path
					break
				}
			}
		}
		if name != "" && !slices.Contains(q.files, name) {
			q.files = append(q.files, name)
		}
	}
	for _, as := range spoken(w.task) {
		if !slices.Contains(q.symbols, as) &&
			slices.ContainsFunc(known, func(s *source) bool { return len(s.find(as)) > 0 }) {
			q.symbols = append(q.symbols, as)
		}
	}
	return q
}

// spoken returns the words of a text that are code: in backticks, with parentheses, or spelled like names.
func spoken(text string) []string {
	var out []string
	add := func(name string) {
		name = strings.ReplaceAll(name, "::", ".")
		if !slices.Contains(out, name) && len(out) < 60 {
			out = append(out, name)
		}
	}
	for _, m := range ticked.FindAllStringSubmatch(text, 60) {
		name := codeName.FindString(m[1])
		if _, rest, _ := strings.Cut(m[1], name); name != "" && !strings.HasPrefix(rest, "-") { // "no-empty" is no code
			add(name)
		}
	}
	for _, m := range codeName.Re().FindAllStringIndex(text, -1) {
		if w := text[m[0]:m[1]]; mayBeCode(w) && codeLike.MatchString(w) || strings.HasPrefix(text[m[1]:], "()") {
			add(w)
		}
	}
	return out
}

// mayBeCode is a fast check before codeLike: all words that codeLike accepts pass it.
func mayBeCode(word string) bool {
	for i := range len(word) {
		if c := word[i]; c == '_' || c == '.' || i > 0 && c >= 'A' && c <= 'Z' {
			return true
		}
	}
	return false
}

// before returns the changed files as they were before the commit.
func (w *work) before() []*source {
	var out []*source
	for _, c := range w.changes {
		if c.before != nil {
			out = append(out, c.before)
		}
	}
	return out
}

// known returns the loaded files as they were before the commit.
func (w *work) known() []*source {
	out := w.before()
	for _, list := range [][]related{w.deps, w.others, w.unused} {
		out = append(out, lists.Map(list, func(r related) *source { return r.source })...)
	}
	return out
}

// named reports whether a symbol has a name, given with or without class.
func (s *symbol) named(name string) bool {
	return s.name == name || s.short == name || strings.HasSuffix(s.name, "."+name)
}

// find returns the symbols with a name.
func (s *source) find(name string) []int {
	var out []int
	for i := range s.symbols {
		if s.symbols[i].named(name) {
			out = append(out, i)
		}
	}
	return out
}

// names returns how the task names a file or one of its symbols, in retrieval's words, or "".
func (q query) names(s *source) string {
	if slices.Contains(q.files, s.path) {
		return "the task names it"
	}
	for _, as := range q.symbols {
		if len(s.find(as)) > 0 {
			return "the task names `" + as + "`"
		}
	}
	return ""
}

// suspects returns why retrieval offers a file that the task does not name, or "": its path has words of the task, or it
// has a symbol that readers of the task may expect, one of those at first.
func (w *work) suspects(s *source, first []int) string {
	have := stems(strings.TrimSuffix(s.path, path.Ext(s.path)))
	words := lists.Filter(w.keywords, func(k string) bool { return slices.Contains(have, retrieve.Stem(k)) })
	if len(words) > 0 {
		return "it has words of the task: " + strings.Join(words, ", ")
	}
	for i := range len(first) + len(s.symbols) {
		if i < len(first) {
			i = first[i]
		} else {
			i -= len(first)
		}
		if name := w.expected(s.symbols[i].name); name != "" && s.symbols[i].piece {
			return "the task does not name `" + name + "`, but may need it"
		}
	}
	return ""
}
