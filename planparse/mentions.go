package planparse

import (
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

// Mention is a requirement that a line of a batch names.
type Mention struct {
	ID    string
	Batch int // index into Plan.Batches
	Task  int // index into its tasks; -1 if the line is in no task
	Line  int
	Known bool // a document defines it
}

// ownPrefixes count as prefixes of requirements even if no document defines one.
const ownPrefixes = " FR NFR REQ SC "

// mostInRange limits the number of ids in a range such as "1.1-1.9".
const mostInRange = 50

// A mentionReader finds the ids that the lines of a plan name.
type mentionReader struct {
	known    map[string]bool
	prefixes map[string]bool
	titles   []Requirement // that are named by their titles
	numbered bool          // a document numbers its requirements, as Kiro does
}

var (
	mentionedID     = lazyre.New(`(?:^|[^\w./-])(` + idPattern + `)`)
	mentionedStory  = lazyre.New(`(?i)\[US(\d+)\]|\buser stor(?:y|ies) (\d+)\b`)
	mentionedList   = lazyre.New(`(?i)^[\s>*+_-]*requirements?\s*[:：][\s*_]*(.*)$`)
	mentionedNumber = lazyre.New(`(?i)\breq(?:uirement)?s?\.? (\d+(?:\.\d+)*)`)
	listedNumbers   = lazyre.New(`(?:^|[\s,;(])(\d+(?:\.\d+)*)(?:\s*[-–]\s*(\d+(?:\.\d+)*))?`)
)

// Mentions finds the requirements that the batches of a plan name, in document order, each at most once per line. known
// are the requirements that documents define. src is the text that [Parse] read.
//
// These count: an id with the prefix of a known id, or with FR, NFR, REQ or SC; [US1] and "User Story 1"; the numbers
// after "Requirements:"; "Requirement 1.2" in text, if known requirements are numbered; the title of an OpenSpec
// requirement or scenario with at least two words.
func (p *Plan) Mentions(src []byte, known []Requirement) []Mention {
	if readable(src) != nil {
		return nil
	}
	r := newMentionReader(known)
	b := newBuilder("", src)
	var out []Mention
	for _, m := range b.marks {
		if m.kind == markFence || m.kind == markBreak {
			continue
		}
		batch, task := p.at(m.line)
		if batch < 0 {
			continue
		}
		var ids []string
		for _, id := range r.ids(string(b.lineText(m.line))) {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
				out = append(out, Mention{ID: id, Batch: batch, Task: task, Line: m.line, Known: r.known[id]})
			}
		}
	}
	return out
}

// at finds the batch and the innermost task that contain a line, -1 for none. The heading of a group belongs to no
// batch.
func (p *Plan) at(line int) (batch, task int) {
	batch, task = -1, -1
	for i := range p.Batches {
		if b := &p.Batches[i]; b.StartLine > 0 && b.StartLine <= line && line <= b.EndLine {
			batch = i
		}
	}
	if batch >= 0 {
		for j, t := range p.Batches[batch].Tasks {
			if t.Line <= line && line <= t.EndLine {
				task = j
			}
		}
	}
	return batch, task
}

func newMentionReader(known []Requirement) *mentionReader {
	r := &mentionReader{known: map[string]bool{}, prefixes: lists.Set(strings.Fields(ownPrefixes))}
	for _, q := range known {
		r.known[q.ID] = true
		switch {
		case q.Kind == KindID:
			r.prefixes[Prefix(q.ID)] = true
		case isDigit(q.ID[0]):
			r.numbered = true
		case q.Kind != KindStory && len(strings.Fields(q.Title)) > 1:
			r.titles = append(r.titles, q)
		}
	}
	return r
}

func (r *mentionReader) ids(line string) []string {
	var out []string
	for _, at := range mentionedID.FindAllStringSubmatchIndex(line, -1) {
		id := line[at[2]:at[3]]
		if at[3] < len(line) && (isLetter(line[at[3]]) || line[at[3]] == '_') {
			continue // "REQ-12abc" is another name
		}
		if r.known[id] || r.prefixes[Prefix(id)] && !standard(id) {
			out = append(out, id)
		}
	}
	for _, m := range mentionedStory.FindAllStringSubmatch(line, -1) {
		out = append(out, "US"+m[1]+m[2])
	}
	if m := mentionedList.FindStringSubmatch(line); m != nil {
		out = append(out, numbers(m[1])...)
	} else if r.numbered {
		out = append(out, lists.Map(mentionedNumber.FindAllStringSubmatch(line, -1), func(m []string) string { return m[1] })...)
	}
	if len(r.titles) > 0 {
		text := " " + fold(line) + " "
		for _, q := range r.titles {
			if strings.Contains(text, " "+fold(q.Title)+" ") {
				out = append(out, q.ID)
			}
		}
	}
	return out
}

// numbers reads a list like "1.1, 2.3, 4.1-4.3".
func numbers(text string) []string {
	var out []string
	for _, m := range listedNumbers.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
		parent, from := lastNumber(m[1])
		other, to := lastNumber(m[2])
		if m[2] == "" || parent != other || to-from > mostInRange {
			continue
		}
		for n := from + 1; n <= to; n++ {
			out = append(out, parent+strconv.Itoa(n))
		}
	}
	return out
}

// lastNumber splits "4.12" into "4." and 12.
func lastNumber(id string) (parent string, n int) {
	at := strings.LastIndexByte(id, '.') + 1
	return id[:at], atoi(id[at:])
}
