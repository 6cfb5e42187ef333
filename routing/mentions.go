package routing

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
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
			// otherwise it only repeats known evidence
			if what := r.hits[from]; len(what) > 0 && g.found[[2]int{from, to}] == nil {
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

var (
	pathWord = lazyre.New(`[\w$[:^ascii:]./\\~@\[\]-]+`)
	nameWord = lazyre.New(`[\w$[:^ascii:]]+`)
)

// words reads each word of a text. A word may be a path, and each of its parts an identifier.
func (r *reader) words(text string, line int, code bool) {
	before := ""
	for _, at := range pathWord.FindAllStringIndex(text, -1) {
		word := text[at[0]:at[1]]
		imported := code && (before == "import" || before == "from") // in prose they are plain words
		if strings.ContainsAny(word, `/.\-`) || imported {
			r.path(word, imported, line)
		}
		for _, part := range nameWord.FindAllStringIndex(word, -1) {
			name := word[part[0]:part[1]]
			called := strings.HasPrefix(text[at[0]+part[1]:], "(")
			member := strings.HasSuffix(word[:part[0]], ".")
			if distinctive(name) {
				r.stem(name, line)
			}
			if distinctive(name) || code && isPlainWord(name) && (unicode.IsUpper([]rune(name)[0]) || called && !member) {
				r.name(name, line)
			}
		}
		before = word
	}
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
	if ext := path.Ext(short); codeFiles.Has(ext) {
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

// touched holds the files of a batch: the paths of its Files block and of its literal blocks.
type touched struct {
	all   []string // sorted, each once
	makes []string // those of them that it creates, and tests, which are usually new
	wide  []span   // those of them that match many: folders and patterns
}

func touchedBy(b *planparse.Batch) touched {
	var t touched
	t.makes = lists.Map(slices.Concat(b.Files.Create, b.Files.Test), clean)
	t.all = lists.Map(slices.Concat(b.Files.Modify, b.Files.Delete), clean)
	for _, x := range b.Blocks {
		switch x.Kind {
		case planparse.BlockFile:
			if p := clean(x.Path); !slices.Contains(t.all, p) {
				t.makes = append(t.makes, p)
			}
		case planparse.BlockEdit, planparse.BlockDelete:
			if x.Path != "" {
				t.all = append(t.all, clean(x.Path))
			}
		case planparse.BlockDiff:
			created, changed := patched(x.Text)
			t.makes, t.all = append(t.makes, created...), append(t.all, changed...)
		}
	}
	t.makes = lists.Unique(t.makes)
	t.all = lists.Unique(append(t.all, t.makes...))
	return t
}

// patched lists the files of a patch.
func patched(text string) (created, changed []string) {
	before := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if p, ok := strings.CutPrefix(line, "--- "); ok {
			before = p
		}
		p, ok := strings.CutPrefix(line, "+++ ")
		if !ok {
			continue
		}
		p, _, _ = strings.Cut(strings.TrimPrefix(p, "b/"), "\t")
		switch {
		case p == "/dev/null":
			changed = append(changed, clean(strings.TrimPrefix(before, "a/")))
		case strings.HasPrefix(before, "/dev/null"):
			created = append(created, clean(p))
		default:
			changed = append(changed, clean(p))
		}
	}
	return created, changed
}

// clean normalizes a path; a folder keeps the slash at its end.
func clean(p string) string {
	out := path.Clean(strings.ReplaceAll(p, `\`, "/"))
	if strings.HasSuffix(p, "/") && out != "/" {
		out += "/"
	}
	return strings.TrimPrefix(out, "./")
}

// isPattern reports whether a path matches many. Square brackets do not make a pattern, because frameworks use them
// in file names.
func isPattern(p string) bool { return strings.ContainsAny(p, "*?{") }

// span is a path that covers many files: a folder or a pattern.
type span struct {
	path    string
	below   string // prefix of the paths in a folder
	pattern bool
}

func spanOf(p string) span {
	return span{p, strings.TrimSuffix(p, "/") + "/", isPattern(p)}
}

// covers reports whether the files that w matches may include p.
func (w span) covers(p string) bool {
	if !w.pattern {
		return w.below == "./" || strings.HasPrefix(p, w.below) || p == w.below[:len(w.below)-1]
	}
	dir, _ := doublestar.SplitPattern(w.path)
	if isPattern(p) {
		other, _ := doublestar.SplitPattern(p)
		return spanOf(dir).covers(other) || spanOf(other).covers(dir) // the common files of two patterns are unknown
	}
	ok, err := doublestar.Match(w.path, strings.TrimSuffix(p, "/"))
	if err != nil { // invalid pattern, so it is read as the folder before it
		return spanOf(dir).covers(p)
	}
	// A folder and a pattern may have common files if one is in the other.
	return ok || strings.HasSuffix(p, "/") && (spanOf(p).covers(dir) || spanOf(dir).covers(p))
}

// markFolders finds the paths that match many. One that another path goes through is a folder, with a slash at its
// end or without.
func markFolders(all []touched) {
	through := map[string]bool{}
	for _, t := range all {
		for _, p := range t.all {
			for i := strings.LastIndexByte(p, '/'); i > 0; i = strings.LastIndexByte(p[:i], '/') {
				if through[p[:i]] {
					break
				}
				through[p[:i]] = true
			}
		}
	}
	for i := range all {
		for _, p := range all[i].all {
			if strings.HasSuffix(p, "/") || p == "." || isPattern(p) || through[p] {
				all[i].wide = append(all[i].wide, spanOf(p))
			}
		}
	}
}

// shared lists the paths of a that b touches too, by name or through a folder or pattern of either.
func shared(a, b touched) []string {
	return lists.Filter(a.all, func(p string) bool { return a.shares(p, b) })
}

// sharing counts them.
func sharing(a, b touched) int { return len(shared(a, b)) }

func (a touched) shares(p string, b touched) bool {
	if _, found := slices.BinarySearch(b.all, p); found {
		return true
	}
	if slices.ContainsFunc(b.wide, func(w span) bool { return w.covers(p) }) {
		return true
	}
	w, wide := lists.Find(a.wide, func(w span) bool { return w.path == p })
	return wide && slices.ContainsFunc(b.all, w.covers)
}

// overlap is the share of common files in those of the smaller set, in percent (TEAM-05). Without files it is 0,
// which the caller must interpret.
func overlap(a, b touched) float64 {
	smaller := min(len(a.all), len(b.all))
	if smaller == 0 {
		return 0
	}
	n := 0
	if len(a.all) == smaller {
		n = sharing(a, b)
	}
	if len(b.all) == smaller {
		n = max(n, sharing(b, a))
	}
	return 100 * float64(n) / float64(smaller)
}

// list names up to three of many: "a.go, b.go and 4 more".
func list(names []string) string {
	switch n := len(names); {
	case n > 3:
		return strings.Join(names[:2], ", ") + " and " + strconv.Itoa(n-2) + " more"
	case n > 1:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}
