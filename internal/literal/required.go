// Package literal speeds up searching with many regular expressions. From an expression it derives literals: every
// match contains at least one of them ([Required]). It finds the literals of all expressions in one pass over a text
// ([Set]). An expression is then tried only near those places.
package literal

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
)

// Lit is a literal. With Fold it is in lower case and matches its ASCII letters in any case.
type Lit struct {
	Text string
	Fold bool
}

// Shortest is the minimum length of a literal in bytes. Shorter ones occur everywhere.
const Shortest = 3

// most limits the number of alternatives in a set of literals.
const most = 40

// Need describes what a text must contain for a match.
type Need struct {
	Any []Lit // each match contains one of these; empty if unknown
	// Before says that a match may begin on an earlier line than the one with the literal.
	Before bool
}

// Required derives the literals of an expression. It ignores letters that equal an ASCII one only under Unicode
// folding (the long s, the Kelvin sign).
func Required(expr *syntax.Regexp) Need {
	i := analyse(fewer(expr).Simplify())
	if best := better(i.any, Need{Any: i.exact}); len(best.Any) > 0 && shortest(best.Any) >= Shortest {
		return best
	}
	return Need{}
}

// fewer shortens repetitions of a class without known literals, which Simplify would expand to as many parts as the
// repetition has: two of them have the same literals as a hundred. It copies what it changes.
func fewer(re *syntax.Regexp) *syntax.Regexp {
	out := *re
	out.Sub = make([]*syntax.Regexp, len(re.Sub))
	for i, sub := range re.Sub {
		out.Sub[i] = fewer(sub)
	}
	if re.Op != syntax.OpRepeat || !unknown(re.Sub[0]) {
		return &out
	}
	out.Min = min(re.Min, 2)
	switch {
	case re.Max == re.Min:
		out.Max = out.Min
	case re.Max > 0:
		out.Max = out.Min + 1
	}
	return &out
}

// unknown reports whether re matches one character of many.
func unknown(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return true
	case syntax.OpCharClass:
		return class(re.Rune) == nil
	}
	return false
}

// CrossesLines reports whether an expression can match a line feed.
func CrossesLines(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpAnyChar:
		return true
	case syntax.OpLiteral:
		return slices.Contains(re.Rune, '\n')
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			if re.Rune[i] <= '\n' && '\n' <= re.Rune[i+1] {
				return true
			}
		}
	}
	return slices.ContainsFunc(re.Sub, CrossesLines)
}

// info holds the known literals of a part of an expression.
type info struct {
	exact []Lit // all texts that it can match; nil if unknown or too many
	first []Lit // each match begins with one of these; nil if exact is set or if unknown
	any   Need  // each match contains one of these

	crosses bool // it can match a line feed
}

// start returns the literals with which each match begins.
func (i info) start() []Lit {
	if i.exact != nil {
		return i.exact
	}
	return i.first
}

// analyse visits each part once, including whether it spans lines: expressions with repetitions are nested as deeply as
// they are long.
func analyse(re *syntax.Regexp) info {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return info{exact: []Lit{{}}}
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 {
			return info{exact: []Lit{{strings.ToLower(string(re.Rune)), true}}, crosses: CrossesLines(re)}
		}
		return info{exact: []Lit{{string(re.Rune), false}}, crosses: CrossesLines(re)}
	case syntax.OpCharClass:
		return info{exact: class(re.Rune), crosses: CrossesLines(re)}
	case syntax.OpCapture:
		return analyse(re.Sub[0])
	case syntax.OpPlus:
		sub := analyse(re.Sub[0])
		return info{first: sub.start(), any: better(sub.any, Need{Any: sub.exact}), crosses: sub.crosses}
	case syntax.OpQuest:
		sub := analyse(re.Sub[0])
		if sub.exact != nil && len(sub.exact) < most {
			return info{exact: append(slices.Clone(sub.exact), Lit{}), crosses: sub.crosses}
		}
		return info{crosses: sub.crosses}
	case syntax.OpConcat:
		return concat(re.Sub)
	case syntax.OpAlternate:
		return alternate(re.Sub)
	}
	return info{crosses: CrossesLines(re)}
}

// class lists a small class of characters.
func class(ranges []rune) []Lit {
	var out []Lit
	for i := 0; i < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if len(out) == 6 || r > unicode.MaxASCII {
				return nil
			}
			out = append(out, Lit{string(r), false})
		}
	}
	return out
}

// concat tracks the present run of exactly known parts, and the best run so far.
func concat(subs []*syntax.Regexp) info {
	var best Need
	var first []Lit
	run, whole := []Lit{{}}, true
	crossed, before := false, false // whether it spans lines, up to here and up to the start of the run
	flush := func() {
		best = better(best, Need{Any: run, Before: before})
		if whole {
			first, whole = run, false
		}
	}
	for _, sub := range subs {
		i := analyse(sub)
		if i.exact != nil && len(run)*len(i.exact) <= most {
			run = cross(run, i.exact)
		} else {
			next := []Lit{{}}
			if start := i.start(); start != nil && len(run)*len(start) <= most {
				run = cross(run, start) // the first literals of the part extend the run and end it
			} else if i.exact != nil {
				next = i.exact
			}
			flush()
			if i.any.Any != nil {
				i.any.Before = i.any.Before || crossed
				best = better(best, i.any)
			}
			run, before = next, crossed
			if i.exact == nil {
				before = crossed || i.crosses
			}
		}
		crossed = crossed || i.crosses
	}
	if whole {
		return info{exact: run, crosses: crossed}
	}
	flush()
	return info{first: first, any: best, crosses: crossed}
}

func cross(a, b []Lit) []Lit {
	out := make([]Lit, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			l := Lit{x.Text + y.Text, x.Fold || y.Fold}
			if l.Fold {
				l.Text = strings.ToLower(l.Text)
			}
			out = append(out, l)
		}
	}
	return out
}

func alternate(subs []*syntax.Regexp) info {
	var out info
	exact, known, starts := true, true, true
	for _, sub := range subs {
		i := analyse(sub)
		out.crosses = out.crosses || i.crosses
		exact = exact && i.exact != nil && len(out.exact)+len(i.exact) <= most
		if exact {
			out.exact = append(out.exact, i.exact...)
		}
		start := i.start()
		if starts = starts && start != nil && len(out.first)+len(start) <= most; starts {
			out.first = append(out.first, start...)
		}
		need := better(i.any, Need{Any: i.exact})
		known = known && shortest(need.Any) >= Shortest && len(out.any.Any)+len(need.Any) <= 4*most
		if known {
			out.any.Any = append(out.any.Any, need.Any...)
			out.any.Before = out.any.Before || need.Before
		}
	}
	if !exact {
		out.exact = nil
	}
	if exact || !starts {
		out.first = nil
	}
	if !known {
		out.any = Need{}
	}
	return out
}

// better prefers long literals, then few of them.
func better(a, b Need) Need {
	score := func(n Need) int { return 8*min(shortest(n.Any), 8) - len(n.Any)/4 }
	if score(b) > score(a) {
		return b
	}
	return a
}

func shortest(lits []Lit) int {
	if len(lits) == 0 {
		return 0
	}
	n := len(lits[0].Text)
	for _, l := range lits[1:] {
		n = min(n, len(l.Text))
	}
	return n
}
