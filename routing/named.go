package routing

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/planparse"
)

// named makes a batch wait for earlier ones that its text mentions by number: "the loader from batch 4". This is
// weaker than a declaration, so it never points backwards.
func (g *graph) named() {
	u := unitsOf(g.plan)
	for _, to := range g.order {
		b := &g.plan.Batches[to]
		for _, p := range paragraphsOf(b) {
			u.namesIn(p.text, func(id string) bool {
				from, ok := u.batch(id, to)
				return ok && g.at[from] < g.at[to] && g.found[[2]int{from, to}] == nil
			}, func(id string, at int, quote string) {
				from, _ := u.batch(id, to)
				g.add(from, to, EdgeText, p.line(at), fmt.Sprintf("the text says %q", quote))
			})
		}
	}
}

// units holds the names by which a plan refers to its batches and tasks.
type units struct {
	ids map[string][]int // "batch 4" and "T012", to the batches with that name
	at  *regexp.Regexp   // matches a name in a text
}

// unitsOf collects the names from the headings of a plan. "Phase 2" has no meaning in a plan of batches.
func unitsOf(p *planparse.Plan) *units {
	u := &units{ids: map[string][]int{}}
	add := func(id string, i int) {
		u.ids[id] = lists.Add(u.ids[id], i)
	}
	for id, i := range spoken(p) {
		add(id, i)
	}
	words := []string{"tasks?"}
	short := `T[0-9]{2,5}`
	switch p.Format {
	case planparse.FormatSpecKit, planparse.FormatPhases, planparse.FormatOpenSpec:
		words = append(words, "phases?")
	case planparse.FormatRunPlan:
		for i := range p.Batches {
			add("B"+strings.ToUpper(p.Batches[i].Number), i)
		}
		words = append(words, "batch(?:es)?")
		short += `|B[0-9]+`
	}
	const id = `[0-9]+(?:\.[0-9]+)*[a-z]?`
	u.at = regexp.MustCompile(`\b(?:(?i:(` + strings.Join(words, "|") + `)[ -]#?(` + id +
		`(?:(?: ?(?:,|-|–|&|and|or|nor|to|through|, and|, or) ?)` + id + `)*))|(` + short + `))\b`)
	return u
}

// spoken yields the names of a plan's batches and tasks, each with the index of the batch. The words are from the
// plan's headings.
func spoken(p *planparse.Plan) iter.Seq2[string, int] {
	word := "task "
	switch p.Format {
	case planparse.FormatSpecKit, planparse.FormatPhases, planparse.FormatOpenSpec:
		word = "phase "
	case planparse.FormatRunPlan:
		word = "batch "
	}
	return func(yield func(string, int) bool) {
		for i := range p.Batches {
			b := &p.Batches[i]
			if !yield(word+strings.ToLower(b.Number), i) {
				return
			}
			for _, t := range b.Tasks {
				n := strings.ToLower(t.Number)
				if !yield("task "+n, i) || len(n) > 1 && n[0] == 't' && !yield(strings.ToUpper(n), i) {
					return
				}
			}
		}
	}
}

// batch returns the batch with an id in the text of batch at. It returns false if several batches have that id or
// if it is the batch itself.
func (u *units) batch(id string, at int) (int, bool) {
	list := u.ids[id]
	if len(list) != 1 || list[0] == at {
		return 0, false
	}
	return list[0], true
}

// namesIn calls found for each wanted batch or task that a text mentions, except those that it declares
// irrelevant.
func (u *units) namesIn(text string, wanted func(id string) bool, found func(id string, at int, quote string)) {
	ends := clauseEnd.FindAllStringIndex(text, -1)
	for _, m := range u.at.FindAllStringSubmatchIndex(text, -1) {
		ids := slices.DeleteFunc(idsOf(text, m), func(id string) bool { return !wanted(id) })
		if len(ids) == 0 {
			continue
		}
		clause, before, behind := clauseAt(text, ends, m[0], m[1])
		if denied(before, behind) {
			continue
		}
		quote := quoteOf(clause, text[m[0]:m[1]])
		for _, id := range ids {
			found(id, m[0], quote)
		}
	}
}

// mostOfRange limits ranges such as "tasks 1-4000".
const mostOfRange = 100

// idsOf returns all ids of one match: "batches 1, 3-5".
func idsOf(text string, m []int) []string {
	if m[2] < 0 {
		return []string{text[m[6]:m[7]]}
	}
	kind := strings.ToLower(text[m[2]:m[3]])
	for _, word := range []string{"batch", "task", "phase"} {
		if strings.HasPrefix(kind, word) {
			kind = word
		}
	}
	var out []string
	var ranged bool
	for _, w := range partOfList.FindAllString(strings.ToLower(text[m[4]:m[5]]), -1) {
		if w[0] < '0' || w[0] > '9' {
			ranged = true
			continue
		}
		if ranged && len(out) > 0 {
			first, err1 := strconv.Atoi(strings.TrimPrefix(out[len(out)-1], kind+" "))
			last, err2 := strconv.Atoi(w)
			for n := first + 1; err1 == nil && err2 == nil && n < last && n < first+mostOfRange; n++ {
				out = append(out, kind+" "+strconv.Itoa(n))
			}
		}
		ranged = false
		out = append(out, kind+" "+w)
	}
	return out
}

var (
	clauseEnd = lazyre.New(`[.!?;](?:\s|$)|\s[—–-]+\s|[()|]|,? (?:but|though|although|whereas|while|so that)\s|, `)
	unitAhead = lazyre.New(`^(?:(?i:and|or|nor)\s)?(?i:batch|batches|task|tasks|phase|phases|[TB][0-9])`)

	// Words before a name that deny a dependency. To break or change another batch's result, or to wait "until",
	// requires that result, so these are no denials.
	denial = lazyre.New(`(?i)\b(?:independent(?:ly)?|unlike|without|neither|nothing|regardless|irrespective|in parallel|parallel (?:with|to)|alongside|beside|` +
		`concurrently|simultaneously|side by side|same time as|instead of|rather than|apart from|except|unrelated|` +
		`no (?:longer|need|dependency|dependencies|relation)|(?:can|may|could) (?:\w+ ){0,4}before)\b|\bno $|` +
		`(?:\b(?:not|never|cannot)|n't|n’t)\b(?: (?:from|in|of|by|part of) $|.{0,30}\b(?:needs?|needed|requires?|required|depends?|depended|dependent|depending|uses?|used|` +
		`waits?|waiting|relies|rely|relied|relying|involves?|calls?|imports?|reads?|touch|touches|blocked|concern|concerns|related|relevant)\b)`)
	negation   = lazyre.New(`(?i)(?:\b(?:not|never|cannot)|n't|n’t)\b`)
	still      = lazyre.New(`(?i)\b(?:until|till|unless|before|without|only)\b`)
	takenBack  = lazyre.New(`(?i)^(?:'s|’s)?(?: (?:and|or|nor) [\w ]{1,20})? (?:is|are|was|were|does|do|has|have|need|needs|may|can|could|should)?(?:n't| ?not)? ?(?:also )?(?:be )?(?:run |done |made |worked on )?(?:independent|in parallel|side by side|unrelated|irrelevant|at the same time|concurrently)\b`)
	notNeeded  = lazyre.New(`(?i)^(?:'s|’s)? (?:is|are|was|were|need|needs|does|do)(?:n't|n’t| not)(?: (?:be|a|an|have to be|need to be))? (?:needed|required|necessary|used|relevant|prerequisite|dependency|done|finished|there|matter)\b`)
	partOfList = lazyre.New(`[0-9]+(?:\.[0-9]+)*[a-z]?|-|–|to|through`)
	checkbox   = lazyre.New(`^\s*(?:[-*+] )?\[[ xX]\] `)
	whitespace = lazyre.New(`\s+`)
)

// farthest is the maximum distance of related words from a name, in bytes.
const farthest = 200

// clauseAt returns the clause around start and end, and its parts before and after them. ends are the ends of all
// clauses.
func clauseAt(text string, ends [][]int, start, end int) (clause, before, behind string) {
	from, to := max(0, start-farthest), min(len(text), end+farthest)
	k, _ := slices.BinarySearchFunc(ends, from, func(m []int, at int) int { return m[0] - at })
	for _, m := range ends[k:] {
		if m[0] >= to {
			break
		}
		switch {
		case text[m[0]:m[1]] == ", " && unitAhead.MatchString(text[m[1]:]): // a list continues
		case m[1] <= start:
			from = m[1]
		case m[0] >= end:
			to = m[0]
		}
	}
	return strings.ToValidUTF8(text[from:to], ""), text[from:start], text[end:to]
}

// denied reports whether a clause says that the named batch is irrelevant.
func denied(before, behind string) bool {
	if takenBack.MatchString(behind) || notNeeded.MatchString(behind) {
		return true
	}
	m := denial.FindAllStringIndex(before, -1)
	if len(m) == 0 {
		return false
	}
	last := m[len(m)-1]
	// "do not start before batch 3", and "not without batch 3".
	said := strings.ToLower(before[last[0]:])
	if strings.HasSuffix(said, "before ") && !negation.MatchString(said) { // "may be done before batch 3"
		return true
	}
	if strings.HasPrefix(said, "without") {
		return !negation.MatchString(before[:last[0]])
	}
	return !still.MatchString(said)
}

// quoteOf shortens a clause to a few words around a name.
func quoteOf(clause, name string) string {
	tidy := func(s string) string {
		return strings.Trim(whitespace.ReplaceAllString(strings.NewReplacer("**", "", "`", "", "__", "").Replace(s), " "),
			" -*+•>#_,\"")
	}
	clause, name = tidy(strings.TrimLeft(checkbox.ReplaceAllString(clause, ""), " ")), tidy(name)
	head, tail, ok := strings.Cut(clause, name)
	if !ok {
		return name
	}
	const wordsBefore, wordsBehind = 7, 4
	if w := strings.Fields(head); len(w) > wordsBefore {
		head = "… " + strings.Join(w[len(w)-wordsBefore:], " ") + " "
	}
	if w := strings.Fields(tail); len(w) > wordsBehind {
		gap := ""
		if strings.HasPrefix(tail, " ") {
			gap = " "
		}
		tail = gap + strings.Join(w[:wordsBehind], " ") + " …"
	}
	return head + name + tail
}

// paragraph is coherent text of one or several lines.
type paragraph struct {
	text   string
	starts []int // start of each line in text
	lines  []int // line numbers in the plan
}

func (p *paragraph) line(at int) int {
	k, found := slices.BinarySearch(p.starts, at)
	if !found {
		k--
	}
	return p.lines[k]
}

var newItem = lazyre.New(`^\s*(?:[-*+•>|#]|[0-9]+[.)]\s|\*\*[^*]+:|[A-Z][A-Za-z ]{0,20}: )`)

// paragraphsOf returns the text of a batch without fences and code spans.
func paragraphsOf(b *planparse.Batch) []paragraph {
	out := []paragraph{{text: b.Title, starts: []int{0}, lines: []int{b.StartLine}}}
	open := false
	var joined strings.Builder // text of the last paragraph
	end := func() {
		if len(out) > 1 {
			out[len(out)-1].text = joined.String()
			joined.Reset()
		}
	}
	planparse.EachLine(b, func(l planparse.Line) {
		text := strings.TrimSpace(withoutSpans(l.Text))
		if l.Fenced || text == "" {
			open = false
			return
		}
		if !open || newItem.MatchString(l.Text) {
			end()
			out, open = append(out, paragraph{}), !strings.HasPrefix(text, "#")
		}
		p := &out[len(out)-1]
		if joined.Len() > 0 {
			joined.WriteByte(' ')
		}
		p.starts, p.lines = append(p.starts, joined.Len()), append(p.lines, l.Number)
		joined.WriteString(text)
	})
	end()
	return out
}

// withoutSpans removes the content of code spans, which does not refer to batches.
func withoutSpans(text string) string {
	var b strings.Builder
	at := 0
	for from, to := range planparse.SpansAt(text) {
		b.WriteString(text[at:from])
		at = to
	}
	return b.String() + text[at:]
}
