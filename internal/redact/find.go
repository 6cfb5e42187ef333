package redact

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/literal"
)

// These limit the decoded layers of escapes and of base64.
const (
	layers  = 3
	nesting = 2
)

// hints finds the kinds of secrets that a text may contain. Most texts contain none, and the expressions are slow.
var hints = sync.OnceValue(func() *literal.Groups {
	return literal.NewGroups(lists.Map(kinds(), func(k Kind) []literal.Lit { return k.needs() })...)
})

// hinted returns the kinds of secrets that a text may contain, as bits.
func hinted(text string) uint64 {
	all := kinds()
	return hints().Where(text, func(kind, at int) bool { return all[kind].at == nil || all[kind].at(text, at) })
}

type span struct {
	from, to int
	mark     string
	guess    int // 1 if only the form of the value is known
}

// Match is a secret found by its form.
type Match struct {
	Kind     *Kind
	From, To int    // its place in the original text
	Context  int    // start of the text by which it was found, at or before From
	Value    string // without escapes; "" inside base64
	Behind   string // the text after it, without escapes
}

// Find returns the secrets of a text with a known form, in order of position. It decodes escapes and base64.
func Find(text string) []Match {
	var none *Redactor
	var out []Match
	if none.quiet(text, 0) {
		return nil
	}
	none.search(text, 0, func(m Match, _ string) bool {
		if !slices.ContainsFunc(out, func(o Match) bool { return o.From < m.To && m.From < o.To }) {
			out = append(out, m)
		}
		return true
	})
	slices.SortStableFunc(out, func(a, b Match) int { return cmp.Compare(a.From, b.From) })
	return out
}

// quiet reports whether a text has no secret, without finding positions.
func (r *Redactor) quiet(text string, depth int) bool {
	for range layers + 1 {
		if hinted(text) != 0 || r != nil && r.known.Next(text, 0) >= 0 || r.encoded(text, depth) {
			return false
		}
		if !mayEscape(text) {
			break
		}
		next, ok := decode(text, nil)
		if !ok {
			break
		}
		text = next
	}
	return true
}

// encoded reports whether a run of base64 may hold a secret.
func (r *Redactor) encoded(text string, depth int) (found bool) {
	if depth == nesting {
		return false
	}
	runs(text, func(from, to int) bool {
		found = decodings(text[from:to], func(inner string) bool { return !r.quiet(inner, depth+1) })
		return !found
	})
	return found
}

// search calls found with the secrets of a text until it returns false. name is that of a known value, and Kind is nil
// then. Places may overlap.
func (r *Redactor) search(text string, depth int, found func(m Match, name string) bool) bool {
	v := view{text: text}
	for range layers + 1 {
		if !r.values(v, found) || !shapes(v, found) || !r.inside(v, depth, found) {
			return false
		}
		next, ok := v.decoded()
		if !ok {
			break
		}
		v = next
	}
	return true
}

func (r *Redactor) values(v view, found func(Match, string) bool) bool {
	if r == nil {
		return true
	}
	for at := r.known.Next(v.text, 0); at >= 0; at = r.known.Next(v.text, at+1) {
		for _, value := range r.ordered {
			if strings.HasPrefix(v.text[at:], value) {
				from, to := v.place(at, at+len(value))
				if !found(Match{From: from, To: to, Value: value}, r.names[value]) {
					return false
				}
				at += len(value) - 1
				break
			}
		}
	}
	return true
}

func shapes(v view, found func(Match, string) bool) bool {
	may := hinted(v.text)
	for i := 0; may>>i != 0; i++ {
		if may>>i&1 != 0 && !kinds()[i].each(v, found) {
			return false
		}
	}
	return true
}

func (k *Kind) each(v view, found func(Match, string) bool) bool {
	if k.ID == "assignment" {
		return k.assignments(v, found)
	}
	re := k.Re.Re()
	for at := 0; at < len(v.text); {
		m := re.FindStringSubmatchIndex(v.text[at:])
		if m == nil {
			return true
		}
		start, end := at+m[0], at+m[1]
		from, to := start, end
		if len(m) > 2 && m[2] >= 0 {
			from, to = at+m[2], at+m[3]
		}
		switch {
		case k.Edge && start > 0 && wordByte(v.text[start-1]) && !v.gap(start), k.Exact && end < len(v.text) &&
			wordByte(v.text[end]) && !v.gap(end), k.check != nil && !k.check(v.text[from:to]):
			at = start + 1
			continue
		}
		if !k.tell(v, start, from, to, found) {
			return false
		}
		at = max(end, start+1)
	}
	return true
}

func (k *Kind) tell(v view, start, from, to int, found func(Match, string) bool) bool {
	context, _ := v.place(start, start)
	a, b := v.place(from, to)
	return b == a || found(Match{Kind: k, From: a, To: b, Context: context, Value: v.text[from:to], Behind: v.text[to:]},
		"")
}

// assignments applies the expression only at words of secret names, because trying it everywhere is slow.
func (k *Kind) assignments(v view, found func(Match, string) bool) bool {
	for at := speaking().Next(v.text, 0); at >= 0; {
		next := at + literal.Shortest
		if m := assignmentAt(v.text, at); m != nil {
			next = m[3]
			if start, from, to, ok := assigned(v.text, m); ok {
				if !k.tell(v, start, from, to, found) {
					return false
				}
				next = to
			}
		}
		at = speaking().Next(v.text, next)
	}
	return true
}

func wordByte(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || c == '_'
}

// inside searches base64 for secrets. If it finds one, the whole run is the secret.
func (r *Redactor) inside(v view, depth int, found func(Match, string) bool) bool {
	if depth == nesting {
		return true
	}
	more := true
	runs(v.text, func(from, to int) bool {
		if from > 0 && v.text[from-1] == '\\' { // the run begins with the rest of an escape, which stays
			if _, n := backslash(v.text[from-1:]); n > 1 && from+n-1 < to {
				from += n - 1
			}
		}
		decodings(v.text[from:to], func(inner string) bool {
			if r.quiet(inner, depth+1) {
				return false
			}
			hit := false
			r.search(inner, depth+1, func(m Match, name string) bool {
				hit = true
				m.From, m.To = v.place(from, to)
				m.Context, m.Value, m.Behind = m.From, "", ""
				more = found(m, name)
				return false
			})
			return hit
		})
		return more
	})
	return more
}
