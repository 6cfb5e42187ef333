package planparse

import (
	"bytes"
	"cmp"
	"net/url"
	"path"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
)

// filesReader reads "**Files:**" blocks: a label line, and below it "- Create: `path`" items.
type filesReader struct {
	*builder
	open  bool   // in a Files block
	more  string // label of the item whose list continues on the next line, "" without one
	batch int32
	root  string // folder of the author's machine that contains all linked files, "" if it is not known yet
	asks  int    // the last line, if its instruction continues on the next line
}

// mark reads one mark. It returns the path that the line creates, if it names exactly one: a fence directly below is
// the content of that file.
func (r *filesReader) mark(m *mark) (create string) {
	n := len(r.named)
	create = r.entries(m)
	if !r.open && len(r.named) == n && m.kind != markFence && m.kind != markBreak {
		r.asked(m)
	}
	return create
}

// entries reads one mark as a part of a Files block.
func (r *filesReader) entries(m *mark) (create string) {
	switch m.kind {
	case markHeading:
		r.open = len(m.text) < 40 && filesLabel(strings.ToLower(strings.Trim(plain(m.text), ": ")))
		if verb, rest := fileHeading(m.text); verb != "" && m.owner.batch >= 0 {
			r.linked(m, verb, rest)
		}
		return ""
	case markFence, markBreak:
		r.open = false
		return ""
	}
	if m.owner.batch != r.batch {
		r.open, r.batch = false, m.owner.batch
	}
	if r.open && m.isRow() {
		r.row(m)
		return ""
	}
	label, more := r.more, r.open && r.more != "" && m.kind == markText && m.parent != nil
	if r.more = ""; more {
		r.goesOn(label, m.text)
		return r.read(m, label, m.text)
	}
	if !r.open && !containsAny(string(m.text), ":", "：", ".**") {
		return ""
	}
	label, rest, ok := cutLabel(m.text)
	r.goesOn(label, rest)
	if ok && filesLabel(label) {
		n := len(r.named)
		create = r.read(m, "", rest)
		r.open = label != "file" && len(r.named) == n // a list after the label is complete
		return create
	}
	switch {
	case ok && fileVerb(label) != "":
		if r.open || bytes.IndexByte(rest, '`') >= 0 || looksLikePath(string(rest)) { // "Create: src/a.go"
			return r.read(m, label, rest)
		}
	case r.open && m.kind == markBox && !startsWithPath(m.text): // the steps are directly below the list
		r.open = false
	case ok && r.open && m.kind != markText: // another label (Read, Reference, Verify): no change
	case r.open && (m.kind == markItem || m.kind == markBox):
		return r.read(m, "", m.text)
	case m.kind == markText && m.parent == nil:
		r.open = false
	}
	return ""
}

// fileHeading reads the start of a heading about a file: "[NEW] `a.go`", "[MODIFY] [a.go](file:///home/x/a.go)".
func fileHeading(text []byte) (verb string, rest []byte) {
	tag, rest, _ := bytes.Cut(text, []byte("]"))
	switch string(tag) {
	case "[NEW", "[CREATE":
		return "create", rest
	case "[MODIFY":
		return "modify", rest
	case "[DELETE":
		return "delete", rest
	}
	return "", nil
}

// linked adds the files of a heading. The target of a link is a path on the author's machine, and all such paths of the
// plan begin with the same folder.
func (r *filesReader) linked(m *mark, verb string, rest []byte) {
	f := filer{builder: r.builder, batch: &r.plan.Batches[m.owner.batch], line: m.line}
	if !bytes.Contains(rest, []byte("](")) {
		f.list(verb, bytes.Trim(rest, " []"))
	}
	for {
		name, target, after, ok := cutLink(rest)
		if !ok {
			break
		}
		rest = after
		if p, local := strings.CutPrefix(target, "file://"); local && (!strings.Contains(name, "/") || !looksLikePath(name)) {
			name = strings.TrimPrefix(p, r.home())
		}
		f.add(verb, strings.Trim(name, "`"))
	}
	f.remember(m.owner)
}

// home returns the folder that contains the targets of all links to files of the author's machine.
func (r *filesReader) home() string {
	if r.root == "" {
		for _, rest, found := bytes.Cut(r.src, []byte("](file://")); found; _, rest, found = bytes.Cut(rest,
			[]byte("](file://")) {
			p, _, _ := linkTarget(rest)
			n := 0
			for n < len(p) && (r.root == "" || n < len(r.root) && p[n] == r.root[n]) {
				n++
			}
			r.root = p[:strings.LastIndexByte(p[:n], '/')+1]
		}
	}
	return r.root
}

// cutLink splits text at its first link.
func cutLink(text []byte) (name, target string, after []byte, ok bool) {
	before, rest, ok := bytes.Cut(text, []byte("]("))
	if !ok {
		return "", "", nil, false
	}
	target, after, ok = linkTarget(rest)
	return string(before[bytes.LastIndexByte(before, '[')+1:]), target, after, ok
}

// linkTarget splits the text after "](" behind the target. The target may contain brackets: "app/(auth)/page.tsx".
func linkTarget(text []byte) (target string, after []byte, ok bool) {
	text, _, _ = bytes.Cut(text, []byte("\n"))
	end := bytes.LastIndexByte(text, ')')
	if next := bytes.Index(text, []byte(") ")); next >= 0 {
		end = next
	}
	if end < 0 {
		return "", nil, false
	}
	target = string(text[:end])
	if plain, err := url.PathUnescape(target); err == nil { // "%20"
		target = plain
	}
	return target, text[end+1:], true
}

// row reads a row of a table of files: "| Modify | `a.go` | why |", "| a.go | new |". The first path counts.
func (r *filesReader) row(m *mark) {
	verb, file := "", []byte(nil)
	for row := m.text; len(row) > 1; {
		var cell []byte
		cell, row = cutCell(row)
		if v := fileVerb(strings.ToLower(strings.Trim(plain(cell), "_:"))); v != "" && v != "move" {
			verb = strings.ToLower(strings.Trim(plain(cell), "_:"))
		} else if file == nil && (bytes.HasPrefix(cell, []byte("`")) || looksLikePath(string(cell))) {
			file = cell
		}
	}
	if file != nil {
		r.read(m, verb, file)
	}
}

// goesOn remembers the label of a line that ends in the middle of its list.
func (r *filesReader) goesOn(label string, rest []byte) {
	if n := len(rest); r.open && n > 0 && (rest[n-1] == ',' || rest[n-1] == ';') && fileVerb(label) != "" {
		r.more = label
	}
}

// read adds the paths of one line to the plan. The label may be inside: "Create `a`, modify `b`".
func (r *filesReader) read(m *mark, label string, rest []byte) (create string) {
	if m.owner.batch < 0 {
		return ""
	}
	f := filer{builder: r.builder, batch: &r.plan.Batches[m.owner.batch], line: m.line}
	verb := fileVerb(label)
	if verb == "move" {
		f.move(string(rest))
		f.remember(m.owner)
		return ""
	}
	verb = cmp.Or(verb, "modify")
	f.list(verb, rest)
	f.remember(m.owner)
	if verb == "create" && len(f.seen) == 1 {
		return f.seen[0].path
	}
	return ""
}

// labelled matches "Label:" at the start of a line.
var labelled = lazyre.New(`^[*_ ]*([A-Za-z/ \x{80}-\x{FF19}\x{FF1B}-\x{10FFFF}]{1,34})(?:\.\*\*|[*_ \t]*[:：])[*_ \t]*`)

// cutLabel removes "Label:" from a line: "Create:", "**Files:**", "- **Modify**:", "*Test:*".
func cutLabel(text []byte) (label string, rest []byte, ok bool) {
	m := labelled.FindSubmatch(text)
	if m == nil {
		return "", nil, false
	}
	rest = text[len(m[0]):]
	if start := bytes.TrimLeft(m[0], " "); start[0] == '_' && bytes.Count(start, []byte("_")) == 1 {
		rest = bytes.TrimSuffix(bytes.TrimRight(rest, " "), []byte("_")) // Kiro: "_Files: src/a.ts_"
	}
	return strings.ToLower(string(bytes.TrimSpace(m[1]))), rest, true
}

// startsWithPath reports whether the text starts with code that is a path: "`a.go`: why", but not "`Parse("")` fails".
func startsWithPath(text []byte) bool {
	before, span, _, ok := cutSpan(string(text))
	return ok && before == "" && looksLikePath(stripRange(span))
}

// filer adds paths to a batch.
type filer struct {
	*builder
	batch *Batch
	line  int
	seen  []namedFile // paths added by this line
}

// remember records the task that names the files, and the files to delete.
func (f *filer) remember(o owner) {
	maybe := len(f.seen) > 0 && saysMaybe(f.lineText(f.line))
	for _, n := range f.seen {
		n.batch, n.task = int(o.batch), int(o.task)
		f.named = append(f.named, n)
		f.batch.Named = append(f.batch.Named, Named{Verb: n.verb, Path: n.path, Line: n.line, Maybe: maybe})
	}
}

// saysMaybe reports whether a line says that a change is optional: "Modify: `a.go` (if needed)".
func saysMaybe(line []byte) bool {
	return containsAny(strings.ToLower(string(line)), "if needed", "if necessary", "if required", "if present",
		"if it exists", "if applicable", "if any", "(placeholder", "optional", "as needed", "as necessary",
		"where needed", "maybe", "possibly", "may need", "might", "likely", "potentially", "read-only", "read only",
		"no change", "unchanged", "verify only", "verification only", "falls nötig", "si nécessaire",
		"si es necesario", "必要なら", "如需", "필요시")
}

// list adds the paths of a line: its code spans if there are any, else its words.
func (f *filer) list(verb string, rest []byte) {
	text := string(rest)
	if !strings.Contains(text, "`") {
		for _, item := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ';' }) {
			f.entry(verb, item)
		}
		return
	}
	verbNow := verb
	for text != "" {
		before, span, after, ok := cutSpan(text)
		if !ok {
			return
		}
		if v := lastVerb(before); v != "" {
			verbNow = v
		}
		if depth := strings.Count(before, "(") - strings.Count(before, ")"); depth > 0 { // a note about the path before
			_, after, ok = strings.Cut(after, ")")
			if !ok {
				return
			}
		} else if strings.HasPrefix(span, ".") && strings.HasPrefix(after, " file") { // "various `.go` files"
			text = after
			continue
		} else if len(f.seen) > 0 && containsAny(before, "—", "–", " - ", " -- ") && !strings.Contains(span, "/") {
			return
		} else {
			v := verbNow
			if isNew(after) {
				v = "create"
			}
			f.add(v, span)
		}
		text = after
	}
}

// cutSpan splits text at its first code span.
func cutSpan(text string) (before, span, after string, ok bool) {
	for from, to := range SpansAt(text) {
		start := strings.IndexByte(text, '`')
		return text[:start], text[from:to], text[to+from-start:], true
	}
	return text, "", "", false
}

// lastVerb finds the label inside of a line: "`a`; Modify: ".
func lastVerb(s string) string {
	s = strings.TrimRight(s, " :*")
	i := strings.LastIndexAny(s, " ,;*")
	return fileVerb(strings.ToLower(s[i+1:]))
}

var isNew = lazyre.New(`(?i)^[ *]*[(\[](?:new|create)`).MatchString

// entry adds one word of a list without code spans.
func (f *filer) entry(verb, item string) {
	item = strings.TrimSpace(strings.Trim(strings.TrimSpace(item), "*"))
	name, note, _ := strings.Cut(item, " ")
	if isNew(note) {
		verb = "create"
	}
	if v := fileVerb(strings.ToLower(strings.TrimSuffix(name, ":"))); v != "" && v != "move" && note != "" {
		f.entry(v, note)
		return
	}
	f.add(verb, strings.Trim(name, "`"))
}

// add cleans a path and adds it to the plan. It ignores text that is not a path ("none", a symbol).
func (f *filer) add(verb, raw string) {
	raw = stripRange(raw)
	if !looksLikePath(raw) {
		return
	}
	p, ok := cleanPath(raw)
	if !ok {
		f.warn(f.line, "path-outside-workspace", "%s is not a path in the workspace; it is ignored",
			raw)
		return
	}
	if verb != "create" && verb != "test" && verb != "delete" {
		verb = "modify"
	}
	f.seen = append(f.seen, namedFile{line: f.line, verb: verb, path: p})
	list := &f.batch.Files.Modify
	switch verb {
	case "create":
		list = &f.batch.Files.Create
	case "test":
		list = &f.batch.Files.Test
	case "delete":
		list = &f.batch.Files.Delete
	}
	if k := (listedKey{f.batch.StartLine, verb, p}); !f.listed[k] {
		f.listed[k] = true
		*list = append(*list, p)
	}
}

// move records "`a` → `b`" as a deletion and a creation.
func (f *filer) move(text string) {
	var paths []string
	if strings.Contains(text, "`") {
		paths = Spans(text)
	} else {
		paths = strings.FieldsFunc(strings.NewReplacer("→", " ", "->", " ", " to ", " ").Replace(text),
			func(r rune) bool { return r == ' ' })
	}
	if len(paths) > 0 {
		f.add("delete", paths[0])
	}
	if len(paths) > 1 {
		f.add("create", paths[1])
	}
}

// stripRange removes line ranges from a path: ":96-102", ":12,40", "#L12", "~L40", " (new)", "（新規）".
func stripRange(p string) string {
	p, _, _ = strings.Cut(strings.TrimSpace(p), " (")
	p, _, _ = strings.Cut(p, "（")
	for _, sep := range []string{":", "#L", "~L"} {
		i := strings.LastIndex(p, sep)
		if i <= 0 {
			continue
		}
		tail := strings.Trim(p[i+len(sep):], "L")
		if sep == ":" && tail != "" && strings.Trim(tail, "0123456789-,–~+L") != "" {
			continue
		}
		p = stripRange(p[:i])
	}
	return strings.TrimRight(strings.TrimSpace(p), ":")
}

// looksLikePath reports whether a word is a path, not a symbol, a flag or prose.
func looksLikePath(p string) bool {
	bare := p
	if strings.ContainsAny(p, "($") { // folders and files of routes: "app/(auth)/page.tsx", "routes/posts.$id.tsx"
		bare = strings.NewReplacer("/(", "/", ")/", "/", "/$", "/", ".$", ".").Replace(p)
	}
	if p == "" || len(p) > 300 || p[0] == '-' || strings.ContainsAny(bare, " \t\n()\"'|;&$=") &&
		!strings.HasPrefix(p, "$HOME") {
		return false
	}
	if strings.ContainsAny(p, `/\`) {
		return p != "/" && !strings.Contains(p, "://")
	}
	switch p {
	case "Makefile", "Dockerfile", "LICENSE", "README", "Procfile", "Gemfile", "Rakefile", "Justfile", "justfile",
		"Jenkinsfile", "Brewfile", "CODEOWNERS", "VERSION":
		return true
	}
	dot := strings.LastIndexByte(p, '.')
	if dot == 0 {
		return len(p) > 1 // .gitignore
	}
	return dot > 0 && dot < len(p)-1 && len(p)-dot <= 12 && !strings.HasSuffix(p, "...") && !strings.HasPrefix(p, "N/") &&
		!version.MatchString(p)
}

// version matches "1.2", "v2.0.0rc1", ">=3.11", "1.x" and "1.4.0-beta.2": numbers with dots and a usual version
// suffix. "1.2.md" and "v2.py" are files.
var version = lazyre.New(`^[\^~<>=!]*v?\d+(?:\.(?:\d+|[x*]))+(?:[-._+\d]*` + versionWord +
	`(?:[-._+\d]+` + versionWord + `)*)?[-._+\d]*$`)

const versionWord = `(?i:alpha|a|beta|build|b|rc|pre|dev|post|final|snapshot)`

// cleanPath normalizes a path, with slashes. ok is false if the path leaves the workspace.
func cleanPath(p string) (string, bool) {
	p = strings.TrimSpace(p)
	if !strings.Contains(p, "/") {
		p = strings.ReplaceAll(p, `\`, "/")
	}
	if p == "" || p[0] == '/' || p[0] == '~' || strings.HasPrefix(p, "$HOME") || strings.HasPrefix(p, "%") ||
		(len(p) > 1 && p[1] == ':' && isLetter(p[0])) || strings.IndexByte(p, 0) >= 0 {
		return p, false
	}
	out := path.Clean(p)
	if out == "." || out == ".." || strings.HasPrefix(out, "../") {
		return p, false
	}
	if strings.HasSuffix(p, "/") {
		out += "/"
	}
	return out, true
}
