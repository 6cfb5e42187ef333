package routing

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/planparse"
)

// mentions makes a batch wait for the batches that create things that its text names: a file, a module or an
// identifier.
func (g *graph) mentions() {
	v := g.vocabulary()
	for _, to := range g.order {
		r := reader{graph: g, vocabulary: v, to: to, seen: map[string]bool{}, hits: map[int][]string{}, lines: map[int]int{}}
		b := &g.plan.Batches[to]
		r.prose(b.Title, b.StartLine)
		planparse.EachLine(b, func(l planparse.Line) {
			if l.Fenced {
				r.code(l.Text, l.Number)
			} else {
				r.prose(l.Text, l.Number)
			}
		})
		for _, from := range g.order[:g.at[to]] {
			if what := r.hits[from]; len(what) > 0 && g.found[[2]int{from, to}] == nil { // otherwise it only repeats known evidence
				g.add(from, to, EdgeText, r.lines[from], "names "+list(what)+", which "+g.name(from)+" creates")
			}
		}
		r.built()
		r.tested()
	}
}

// reader looks for words of the vocabulary in the text of one batch.
type reader struct {
	*graph
	*vocabulary
	to    int
	seen  map[string]bool
	hits  map[int][]string // by the batch that creates it
	lines map[int]int      // of the first hit
}

// hit records that the text names m. Files that the batch touches itself are another kind of evidence.
func (r *reader) hit(m *maker, word string, line int) {
	what := m.what
	if m.isPath {
		if !strings.HasSuffix(what, strings.Trim(word, "[]")) {
			what = strings.Trim(word, "[]") + " (" + what + ")"
		}
		if _, mine := slices.BinarySearch(r.does[r.to].all, m.what); mine ||
			slices.Contains(r.plan.Batches[r.to].ContextRefs, m.what) {
			return
		}
	}
	for _, from := range m.batches {
		seen := fmt.Sprint("hit ", from, " ", m.what)
		if r.at[from] >= r.at[r.to] || r.seen[seen] {
			continue
		}
		r.seen[seen] = true
		if len(r.hits[from]) == 0 {
			r.lines[from] = line
		}
		r.hits[from] = append(r.hits[from], what)
	}
}

// prose reads a line outside of fences. Its code spans are code.
func (r *reader) prose(text string, line int) {
	for k, part := range strings.Split(text, "`") {
		if k%2 == 1 {
			r.code(part, line)
			if isPlainWord(strings.TrimSuffix(part, "()")) {
				r.name(strings.TrimSuffix(part, "()"), line)
			}
			continue
		}
		r.words(part, line, false)
	}
}

func (r *reader) code(text string, line int) { r.words(text, line, true) }

// words reads each word of a text. A word may be a path, and each of its parts an identifier.
func (r *reader) words(text string, line int, code bool) {
	before := ""
	for i := 0; i < len(text); {
		if !isPathByte(text[i]) {
			i++
			continue
		}
		start := i
		for i < len(text) && isPathByte(text[i]) {
			i++
		}
		word := text[start:i]
		imported := code && (before == "import" || before == "from") // in prose they are plain words
		if strings.ContainsAny(word, `/.\-`) || imported {
			r.path(word, imported, line)
		}
		for k := 0; k < len(word); {
			if !isNameByte(word[k]) {
				k++
				continue
			}
			from := k
			for k < len(word) && isNameByte(word[k]) {
				k++
			}
			name := word[from:k]
			called := start+k < len(text) && text[start+k] == '('
			member := from > 0 && word[from-1] == '.'
			if distinctive(name) {
				r.stem(name, line)
			}
			if distinctive(name) || code && isPlainWord(name) && (name[0] >= 'A' && name[0] <= 'Z' || called && !member) {
				r.name(name, line)
			}
		}
		before = word
	}
}

func isPathByte(c byte) bool {
	return isNameByte(c) || c == '.' || c == '/' || c == '-' || c == '\\' || c == '~' || c == '@' || c == '[' || c == ']'
}

func isNameByte(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func (r *reader) name(name string, line int) {
	m := r.names[name]
	if m == nil || len(m.batches) > tooMany || r.own[r.to][name] || r.seen["name "+name] {
		return
	}
	r.seen["name "+name] = true
	r.hit(m, name, line)
}

// stem looks up a file name without its extension.
func (r *reader) stem(name string, line int) {
	if m := r.stems[name]; m != nil && !r.seen["stem "+name] {
		r.seen["stem "+name] = true
		r.hit(m, name, line)
	}
}

// path looks up a word as a path, as the end of a path, and as a module.
func (r *reader) path(word string, imported bool, line int) {
	word = strings.TrimRight(strings.ReplaceAll(word, `\`, "/"), "./-")
	if r.seen[word] || word == "" {
		return
	}
	r.seen[word] = true
	relative := strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../") || strings.HasPrefix(word, "@/")
	short := strings.TrimLeft(word, "./~@-")
	if m := r.paths[short]; m != nil {
		r.hit(m, short, line)
		return
	}
	if m := r.paths[strings.Trim(short, "[]")]; m != nil {
		r.hit(m, short, line)
		return
	}
	for _, end := range endings(short)[1:] { // a path from further up, or an import with the module's name in front
		if m := r.paths[end]; m != nil && m.what == end && strings.Contains(end, "/") {
			r.hit(m, short, line)
			return
		}
	}
	for _, stem := range modules(short) {
		if m := r.stems[stem]; m != nil &&
			(strings.Contains(stem, "/") || relative || imported && len(stem) >= 4 && !quoted(m.what) || distinctive(stem) &&
				strings.ContainsAny(stem, "-_")) {
			r.hit(m, short, line)
			return
		}
	}
}

// quoted reports whether a language imports only quoted names, and files only by a relative path.
func quoted(file string) bool {
	switch path.Ext(file) {
	case ".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".vue", ".svelte", ".go":
		return true
	}
	return false
}

// modules returns the possible module names in a word: "app/models" for app.models.User and for app/models.js.
func modules(short string) []string {
	out := []string{short}
	if ext := path.Ext(short); isCode(ext) {
		out = append(out, strings.TrimSuffix(short, ext))
	}
	if !strings.Contains(short, "/") && strings.Contains(short, ".") {
		parts := strings.Split(short, ".")
		for n := len(parts); n >= 2 && n >= len(parts)-2; n-- {
			out = append(out, strings.Join(parts[:n], "/"))
		}
	}
	return out
}
