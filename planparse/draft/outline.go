package draft

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/wordset"
	"github.com/runplan/runplan/planparse"
)

// ErrNoWork means that no work was found in a document.
var ErrNoWork = errors.New("the document describes no work that can be recognized")

// Outline drafts a plan from another document: a design note, a specification, a change request. Sections that describe
// work become batches with their files; the items of a test plan become checks. The text of each section stays
// unchanged. All other lines are in [Plan.Left], so no line of the document is lost. It uses no model: the same
// document and repository give the same draft.
//
// name is the path of the document, and exists reports whether the repository has a path.
func Outline(name string, src []byte, exists func(path string) bool) (Plan, error) {
	d, err := readDocument(name, src, exists)
	if err != nil {
		return Plan{}, err
	}
	d.walk(d.root)
	if len(d.batches) == d.checked { // the document says little about the work: try again with a lower threshold
		for _, s := range d.all {
			s.enough = enough - 1
		}
		d.left, d.fileLists, d.batches, d.checked = d.front, nil, nil, 0
		d.walk(d.root)
	}
	if len(d.batches) == 0 {
		return Plan{}, fmt.Errorf("%w: %s", ErrNoWork, d.missing())
	}
	d.order()
	d.unnamed()
	p := Plan{Title: cmp.Or(d.title, strings.TrimSuffix(path.Base(name), path.Ext(name))), Goal: d.goal(), Left: d.left}
	p.Batches = append(p.Batches, lists.Map(d.batches, func(b *batch) Batch { return b.Batch })...)
	slices.SortStableFunc(p.Left, func(a, b Left) int { return cmp.Compare(a.First, b.First) })
	left := p.Left
	if p, err = p.Normal(); err != nil {
		return Plan{}, err
	}
	p.Left = left
	return p, nil
}

// document is the document being outlined.
type document struct {
	name    string
	lines   []string
	code    map[int]bool
	exists  func(string) bool
	title   string
	root    *section
	all     []*section
	batches []*batch
	checked int // number of batches that a test plan already covers
	left    []Left
	front   []Left            // the part of left from the front matter
	listed  map[string]string // action of each path in tables of files: "create", "modify" or "delete"

	named     map[string][]string // paths in the document, by file name
	fileLists []int               // indexes in left of sections that list files
}

// section is a heading with its lines and subsections.
type section struct {
	planparse.Section
	number string // "3.1" of "3.1 Parser"
	phase  string // "2" of "Phase 2: Parser"
	name   string // title without number
	kind   sectionKind
	enough int // minimum score to count as work
	kids   []*section
}

// batch is a batch of the draft with its source.
type batch struct {
	Batch
	numbers, phases []string
	text            string // complete source text
	plain           string // source text without fenced code
	item            bool   // made from a list item, with its own files
}

// testItem is an item of a list.
type testItem struct {
	text        string
	first, last int
}

// end returns the last line of a section including its subsections.
func (s *section) end() int {
	last := max(s.Last, s.Line)
	for _, k := range s.kids {
		last = max(last, k.end())
	}
	return last
}

var (
	numbered = lazyre.New(`^(?:§\s*)?(\d+(?:\.\d+)*[a-z]?)[.):]?\s+(\S.*)$`)
	phased   = lazyre.New(`(?i)^(?:phase|step|stage|part|milestone)\s+(\d+(?:\.\d+)*)\b[\s:.—–-]*`)
)

func readDocument(name string, src []byte, exists func(string) bool) (*document, error) {
	src = []byte(strings.ReplaceAll(strings.ReplaceAll(string(src), "\r\n", "\n"), "\r", "\n"))
	list, code, err := planparse.Sections(name, src)
	if err != nil {
		return nil, fmt.Errorf("read document %s: %w", name, err)
	}
	d := &document{
		name: name, lines: strings.Split(strings.TrimSuffix(string(src), "\n"), "\n"), code: code, exists: exists,
		listed: map[string]string{},
	}
	list = d.plainHeadings(list)
	d.root = &section{enough: enough, Section: planparse.Section{First: list[0].First, Last: list[0].Last}}
	d.all = []*section{d.root}
	if list[0].First > 1 {
		d.leave(1, list[0].First-1, "front matter", "it is not text")
		d.front = slices.Clone(d.left)
	}
	open := []*section{d.root}
	for _, s := range list[1:] {
		x := &section{Section: s, name: strings.TrimSpace(s.Title), enough: enough}
		x.Last = min(x.Last, len(d.lines))
		if m := numbered.FindStringSubmatch(x.name); m != nil {
			x.number, x.name = m[1], m[2]
		}
		if m := phased.FindStringSubmatch(x.name); m != nil {
			x.phase = m[1]
		}
		for len(open) > 1 && open[len(open)-1].Level >= s.Level {
			open = open[:len(open)-1]
		}
		up := open[len(open)-1]
		if up.phase != "" {
			x.enough = enough - 1
		}
		up.kids = append(up.kids, x)
		open, d.all = append(open, x), append(d.all, x)
	}
	d.root.Last = min(d.root.Last, len(d.lines))
	if len(d.root.kids) > 0 && d.root.kids[0].Level == 1 {
		d.title = d.root.kids[0].name
	}
	for _, s := range d.all {
		s.kind = kindOf(s)
		if s.kind == filesSection {
			d.tableOfFiles(s)
		}
	}
	return d, nil
}

// plainHeadings finds headings in text without markup, such as the page of a change request: a short known title
// alone between blank lines.
func (d *document) plainHeadings(list []planparse.Section) []planparse.Section {
	var out []planparse.Section
	for _, s := range list {
		cur := s
		for n := s.First; n <= min(s.Last, len(d.lines)); n++ {
			line := strings.TrimSpace(d.lines[n-1])
			if d.code[n] || len(line) > 64 || n > 1 && strings.TrimSpace(d.lines[n-2]) != "" || n >= len(d.lines) ||
				strings.TrimSpace(d.lines[n]) != "" {
				continue
			}
			if !knownTitle(line) {
				continue
			}
			cur.Last = n - 1
			out = append(out, cur)
			cur = planparse.Section{Level: max(2, s.Level), Title: line, Line: n, First: n + 1, Last: s.Last}
		}
		out = append(out, cur)
	}
	return out
}

// walk makes batches from the sections below s, or adds them to left.
func (d *document) walk(s *section) {
	switch s.kind {
	case contextSection:
		d.leaveAll(s, "background, not work")
		return
	case orderSection:
		d.leaveAll(s, "it gives an order: compare it with depends_on")
		return
	case filesSection:
		d.fileLists = append(d.fileLists, len(d.left))
		d.leaveAll(s, "the files that it lists are in the batches that name them")
		return
	case testSection:
		d.checkAll(d.collectTests(s))
		return
	}
	own := d.body(s)
	if items := d.items(s); s.kind == listSection && len(items) > 0 && !d.anyWork(s.kids) {
		d.batchesOf(s, items)
		for _, k := range s.kids {
			d.walk(k)
		}
		return
	}
	switch {
	case (s.Level > 1 || len(s.kids) == 0) && d.score(s) >= s.enough && (located.MatchString(own) || !d.anyWork(s.kids)):
		d.batchOf(s)
	case d.anyWork(s.kids) || s.Level == 0 || s.Level == 1 && len(s.kids) > 0:
		if s.Line > 0 && s.Level > 1 || s.Level == 1 {
			d.leave(s.Line, s.Last, s.name, "it introduces the next section")
		} else if s.First <= s.Last {
			d.leave(s.First, s.Last, "text before the first heading", "it introduces the next section")
		}
		for _, k := range s.kids {
			if s.Level > 1 { // below a section that is work, subsections need a lower score
				k.enough = enough - 1
			}
			d.walk(k)
		}
	default:
		d.leaveAll(s, "no work can be recognized in its text")
	}
}

func (d *document) anyWork(list []*section) bool {
	return slices.ContainsFunc(list, func(s *section) bool {
		switch s.kind {
		case contextSection, orderSection, filesSection, testSection:
			return false
		case listSection:
			return len(d.items(s)) > 0 || d.anyWork(s.kids)
		}
		return d.score(s) >= s.enough || d.anyWork(s.kids)
	})
}

// leave records lines outside all batches. It skips blank lines at both ends.
func (d *document) leave(first, last int, name, why string) {
	first, last = max(first, 1), min(last, len(d.lines))
	for first <= last && rule(d.lines[last-1]) {
		last--
	}
	for first <= last && rule(d.lines[first-1]) {
		first++
	}
	if first <= last {
		d.left = append(d.left, Left{first, last, cmp.Or(name, "text"), why})
	}
}

func (d *document) leaveAll(s *section, why string) {
	d.leave(max(s.Line, 1), s.end(), cmp.Or(s.name, "text before the first heading"), why)
}

// body returns the text of a section without its subsections.
func (d *document) body(s *section) string { return d.text(s.First, s.Last) }

func (d *document) text(first, last int) string {
	first, last = max(first, 1), min(last, len(d.lines))
	if first > last {
		return ""
	}
	for first <= last && rule(d.lines[last-1]) {
		last--
	}
	return strings.Trim(strings.Join(d.lines[first-1:last], "\n"), "\n")
}

// rule reports whether a line is blank or a horizontal rule.
func rule(line string) bool { return strings.Trim(line, "-*_ \t") == "" }

func (d *document) at(line int) string { return fmt.Sprintf("%s:%d", d.name, line) }

// batchOf makes one batch from a section: its own text and each subsection become a task.
func (d *document) batchOf(s *section) {
	b := &batch{Batch: Batch{Title: cmp.Or(strings.ReplaceAll(s.name, "`", ""), "Part")},
		text: d.text(max(s.Line, 1), s.end()), plain: d.prose(max(s.Line, 1), s.end())}
	d.note(b, s)
	task := func(name string, first, last, line int) {
		name = strings.ReplaceAll(name, "`", "")
		if text := d.text(first, last); strings.TrimSpace(text) != "" {
			b.Tasks, b.From = append(b.Tasks, name+"\n\n"+text), append(b.From, d.at(line))
		}
	}
	var later []testItem
	task(b.Title, s.First, s.Last, s.Line)
	for _, k := range s.kids {
		if k.kind == testSection {
			later = append(later, d.collectTests(k)...)
			continue
		}
		if strings.TrimSpace(d.text(k.First, k.end())) == "" {
			b.Tasks, b.From = append(b.Tasks, k.name), append(b.From, d.at(k.Line))
		}
		task(k.name, k.First, k.end(), k.Line)
	}
	if len(b.Tasks) == 0 {
		b.Tasks, b.From = []string{b.Title}, []string{d.at(s.Line)}
	}
	for _, it := range later {
		b.check(d, it)
	}
	d.add(b, s.Line)
}

// note collects the section numbers by which the text may refer to a batch.
func (d *document) note(b *batch, s *section) {
	if s.number != "" {
		b.numbers = append(b.numbers, s.number)
	}
	for _, k := range s.kids {
		d.note(b, k)
	}
}

// batchesOf makes a batch from each item of a list.
func (d *document) batchesOf(s *section, items []testItem) {
	d.leave(s.Line, items[0].first-1, s.name, "it introduces the items below it")
	for i, it := range items {
		b := &batch{Batch: Batch{Title: lead(it.text)}, text: it.text, plain: d.prose(it.first, it.last)}
		b.Tasks, b.From = []string{b.Title + "\n\n" + it.text}, []string{d.at(it.first)}
		b.item = true
		d.add(b, it.first)
		next := s.Last
		if i+1 < len(items) {
			next = items[i+1].first - 1
		}
		d.leave(it.last+1, next, s.name, "text between the items of a list")
	}
}

func (d *document) add(b *batch, line int) {
	b.Origin = d.at(line)
	for _, s := range d.all {
		if s.phase != "" && s.Line <= line && line <= s.end() {
			b.phases = append(b.phases, s.phase)
		}
	}
	d.files(b)
	if d.exists(d.name) {
		b.Refs = append([]string{d.name}, slices.DeleteFunc(b.Refs, func(r string) bool { return r == d.name })...)
	}
	d.batches = append(d.batches, b)
}

var itemMark = lazyre.New(`^(\s*)(?:[-*+•]|\d+[.)])\s+(?:\[[ xX]\]\s+)?(\S.*)$`)

// items returns the top-level items of the lists directly in a section, each with its nested content.
func (d *document) items(s *section) []testItem {
	var out []testItem
	outer, blank := -1, false
	for n := max(s.First, 1); n <= min(s.Last, len(d.lines)); n++ {
		line := d.lines[n-1]
		m := itemMark.FindStringSubmatch(line)
		switch {
		case strings.TrimSpace(line) == "":
			blank = true
			continue
		case m != nil && !d.code[n] && (outer < 0 || len(m[1]) <= outer):
			outer = len(m[1])
			out = append(out, testItem{first: n, last: n})
		case len(out) > 0 && (!blank || len(line)-len(strings.TrimLeft(line, " \t")) > outer || d.code[n]):
			out[len(out)-1].last = n
		default:
			if len(out) > 0 {
				outer = -1 // text after the list; a later list is separate
			}
		}
		blank = false
	}
	for i, it := range out {
		line := d.lines[it.first-1]
		out[i].text = itemMark.FindStringSubmatch(line)[2] + strings.TrimPrefix(d.text(it.first, it.last), line)
	}
	return out
}

// severities are bold words at the start of an item that do not describe it.
var severities = wordset.New(
	"critical important minor major high medium low blocker breaking note optional must should")

var leadEnd = lazyre.New(`\s+[—–-]\s|[:;]\s|[:;]$|\s\(|\.\s|\.$|\n`)

// lead returns a title for an item: its leading bold text, or its first words.
func lead(text string) string {
	if rest, ok := strings.CutPrefix(text, "**"); ok {
		if bold, more, ok := strings.Cut(rest, "**"); ok && only(bold, severities) {
			text = strings.TrimLeft(more, " \t—–:-")
		} else if ok && strings.TrimSpace(bold) != "" {
			text = bold
		}
	}
	text = strings.ReplaceAll(text, "`", "")
	if at := leadEnd.FindStringIndex(text); at != nil && at[0] > 2 {
		text = text[:at[0]]
	}
	words := strings.Fields(text)
	if len(words) > 12 {
		words = append(words[:12], "…")
	}
	return Title(strings.Join(words, " "), "Part")
}

// goal returns the goal of the drafted plan, which names the document.
func (d *document) goal() string {
	return fmt.Sprintf(
		"Drafted from %s, without a model. Before you run the plan, read and correct each batch and its files.", d.name)
}

// missing returns why no batch could be made.
func (d *document) missing() string {
	var names []string
	for _, s := range d.all[1:] {
		if s.kind == workSection && (s.Level > 1 || len(s.kids) == 0) {
			names = append(names, fmt.Sprintf("%q", s.name))
		}
	}
	if len(names) == 0 {
		return "it has only background headings; give each piece of work a heading, and name its files below it"
	}
	more := ""
	if n := len(names) - 5; n > 0 {
		names, more = names[:5], fmt.Sprintf(" and %d more", n)
	}
	return "no section names files to create or change, or says what to add, change or remove; sections: " +
		strings.Join(names, ", ") + more
}
