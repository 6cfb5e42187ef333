package planparse

import (
	"cmp"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
)

// Requirement is a requirement with an id, from a document.
type Requirement struct {
	ID     string          `json:"id"`               // as tasks name it: "FR-001", "US1", "1.2"; for OpenSpec its title
	Parent string          `json:"parent,omitempty"` // id of the requirement that it is a part of
	Kind   RequirementKind `json:"kind"`
	Title  string          `json:"title"` // its first line, without the id and without marks
	Text   string          `json:"-"`     // its wording, see [WordingOf]
	Path   string          `json:"path"`
	Line   int             `json:"line"`
}

// RequirementKind says in which form a requirement is written.
type RequirementKind string

// The kinds of requirements.
const (
	KindID          RequirementKind = "id"          // a line that begins with an id: FR-001, SC-001, REQ-12
	KindStory       RequirementKind = "story"       // spec-kit: ### User Story 1 - Title
	KindRequirement RequirementKind = "requirement" // Kiro: ### Requirement 1; OpenSpec: ### Requirement: Title
	KindCriterion   RequirementKind = "criterion"   // Kiro: a numbered item below a requirement
	KindScenario    RequirementKind = "scenario"    // OpenSpec: #### Scenario: Title
)

// idPattern is an id in text: groups of capitals and digits, a hyphen, and a number: "REQ-12", "NFR-SEC-01", "FR-003a".
const idPattern = `[A-Z][A-Z0-9]*(?:-[A-Z][A-Z0-9]*)*-[0-9]+(?:\.[0-9]+)*[a-z]?`

// notIDs lists prefixes of standards, whose names look like ids.
const notIDs = " AES BASE CVE ES GPT HTTP ISO MD RFC RSA SHA TLS UTF "

var (
	storyTitle    = lazyre.New(`(?i)^user story (\d+)\b[\s:.–—-]*(.*)$`)
	numberedTitle = lazyre.New(`(?i)^requirement (\d+(?:\.\d+)*)\b[\s:.–—-]*(.*)$`)
	namedTitle    = lazyre.New(`(?i)^(requirement|scenario)\s*:\s*(\S.*)$`)
	leadingID     = lazyre.New("^([|\\s]*)([*_`\\[]*)(" + idPattern + "(?:, " + idPattern + // **FR-001**: text
		")*)([*_`\\]]*)\\s*(:|\\||\\)|–|—|- |\\.\\s|$)?(.*)$")
	countedItem = lazyre.New(`^\s*(?:(\d+)[.)]|(?:[-*+]\s+)?(\d+(?:\.\d+)+)[.)]?)\s+(.*)$`)
)

// A requirementReader reads one document.
type requirementReader struct {
	*builder
	path    string
	skip    func(line int) bool
	found   []Requirement
	seen    map[string]bool
	wording func(first, last int) string
}

// Requirements reads the requirements of a document. The path is only noted. A document that is not text has none.
//
// Two forms outside of fences and comments are requirements. The first is a heading "User Story 1" (US1), "Requirement
// 1" (1, and the numbered items below it 1.1, 1.2), "Requirement: Title" or "Scenario: Title". The second is a heading,
// list item, paragraph line or table row that begins with an id. That id must be in bold, in code or in brackets, or be
// followed by ":", "|", ")" or a dash. So a sentence that begins with UTF-8 defines nothing. If several places define
// an id, the first counts.
func Requirements(path string, src []byte) []Requirement {
	return requirements(path, src, func(int) bool { return false })
}

// Requirements returns the requirements that the plan defines outside of its batches.
func (p *Plan) Requirements(path string, src []byte) []Requirement {
	return requirements(path, src, func(line int) bool {
		return slices.ContainsFunc(p.Batches, func(b Batch) bool { return b.StartLine <= line && line <= b.EndLine })
	})
}

func requirements(path string, src []byte, skip func(line int) bool) []Requirement {
	if readable(src) != nil {
		return nil
	}
	r := &requirementReader{builder: newBuilder(path, src), path: path, skip: skip, seen: map[string]bool{}}
	r.wording = WordingOf(r.src)
	r.read()
	return r.found
}

// read walks over the marks. open is the heading whose requirement the next marks belong to.
func (r *requirementReader) read() {
	open, level := -1, 0
	removed := func(h *mark) bool { return strings.EqualFold(plain(h.text), "REMOVED Requirements") } // OpenSpec
	for i, m := range r.marks {
		if m.kind == markFence || m.kind == markBreak || r.skip(m.line) || m.below(removed) != nil ||
			m.kind == markHeading && removed(m) {
			continue
		}
		if m.kind == markHeading {
			if open >= 0 && m.level <= level {
				open = -1
			}
			if at := r.heading(i, plain(m.text), open); at >= 0 && r.found[at].Kind != KindScenario {
				open, level = at, m.level
			}
			continue
		}
		if open >= 0 && r.criterion(i, r.found[open]) {
			continue
		}
		r.line(i)
	}
	slices.SortStableFunc(r.found, func(a, b Requirement) int { return cmp.Compare(a.Line, b.Line) })
}

// heading adds the requirement that a heading opens, and returns its index or -1.
func (r *requirementReader) heading(i int, title string, open int) int {
	last := r.sectionEnd(i)
	if m := storyTitle.FindStringSubmatch(title); m != nil {
		return r.add(Requirement{ID: "US" + m[1], Kind: KindStory, Title: m[2]}, i, last)
	}
	if m := numberedTitle.FindStringSubmatch(title); m != nil {
		return r.add(Requirement{ID: m[1], Kind: KindRequirement, Title: m[2]}, i, last)
	}
	m := namedTitle.FindStringSubmatch(title)
	switch {
	case m == nil:
		return r.line(i)
	case strings.EqualFold(m[1], "requirement"):
		return r.add(Requirement{ID: m[2], Kind: KindRequirement, Title: m[2]}, i, last)
	case open >= 0 && r.found[open].Kind == KindRequirement:
		return r.add(Requirement{ID: r.found[open].ID + " / " + m[2], Parent: r.found[open].ID, Kind: KindScenario,
			Title: m[2]}, i, last)
	}
	return -1
}

// criterion adds a numbered item below a numbered requirement.
func (r *requirementReader) criterion(i int, of Requirement) bool {
	m := r.marks[i]
	if of.Kind != KindRequirement || !isDigit(of.ID[0]) || m.parent != nil {
		return false
	}
	c := countedItem.FindStringSubmatch(string(r.lineText(m.line)))
	if c == nil {
		return false
	}
	id := c[2]
	if c[1] != "" {
		id = of.ID + "." + c[1]
	}
	return belongs(id, of.ID) &&
		r.add(Requirement{ID: id, Parent: of.ID, Kind: KindCriterion, Title: c[3]}, i, r.blockEnd(i)) >= 0
}

// line adds the ids at the start of a line, and returns the index of the first or -1.
func (r *requirementReader) line(i int) int {
	m := r.marks[i]
	f := leadingID.FindStringSubmatch(string(m.text))
	if f == nil || f[2] == "" && f[5] == "" && m.kind != markHeading && !strings.Contains(f[1], "|") {
		return -1
	}
	last := r.blockEnd(i)
	if m.kind == markHeading {
		last = r.sectionEnd(i)
	}
	first := -1
	for id := range strings.SplitSeq(f[3], ", ") {
		if standard(id) {
			continue
		}
		at := r.add(Requirement{ID: id, Kind: KindID, Title: strings.Trim(f[6], " |*_:–—-")}, i, last)
		if first < 0 {
			first = at
		}
	}
	return first
}

// standard reports whether an id is the name of a standard, such as UTF-8.
func standard(id string) bool { return strings.Contains(notIDs, " "+Prefix(id)+" ") }

// Prefix is an id without its number: "REQ" of "REQ-12".
func Prefix(id string) string { return id[:max(0, strings.LastIndexByte(id, '-'))] }

func (r *requirementReader) add(q Requirement, i, last int) int {
	q.ID = phrase.Line(q.ID)
	if r.seen[q.ID] {
		return -1
	}
	r.seen[q.ID] = true
	q.Path, q.Line = r.path, r.marks[i].line
	q.Title = phrase.Line(plain([]byte(q.Title)))
	q.Text = r.wording(q.Line, last)
	r.found = append(r.found, q)
	return len(r.found) - 1
}

// sectionEnd returns the last line of the section that heading i opens.
func (r *requirementReader) sectionEnd(i int) int {
	for _, m := range r.marks[i+1:] {
		if m.kind == markHeading && m.level <= r.marks[i].level {
			return r.trimEnd(r.marks[i].line, m.line-1)
		}
	}
	return r.trimEnd(r.marks[i].line, len(r.lines))
}

// blockEnd returns the last line of item i, or of the paragraph that continues from line i. A row of a
// table is one line, and the next line that begins with an id is another requirement.
func (r *requirementReader) blockEnd(i int) int {
	m := r.marks[i]
	end := m.end
	for _, next := range r.marks[i+1:] {
		inside := false
		for up := next.parent; up != nil; up = up.parent {
			inside = inside || up == m
		}
		goesOn := m.kind == markText && next.kind == markText && next.parent == m.parent && next.line == end+1 &&
			!strings.HasPrefix(string(m.text), "|") && leadingID.FindSubmatch(next.text) == nil
		if !inside && !goesOn {
			break
		}
		end = max(end, next.end)
	}
	return end
}
