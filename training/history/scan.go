package history

import "strings"

// finder looks for several words in one pass, whether their letters are large or small. The words are in ASCII and have three
// characters or more.
type finder struct {
	begins [1 << 12]bool // by the first three characters
	words  [256][]string // by the first character
}

func newFinder(words ...string) *finder {
	f := &finder{}
	for _, w := range words {
		f.begins[begin(w[0], w[1], w[2])] = true
		f.words[small(w[0])] = append(f.words[small(w[0])], w)
	}
	return f
}

// small makes large letters small; what it makes of other characters does not matter, as long as it is the same.
func small(c byte) byte { return c | 0x20 }

func begin(a, b, c byte) int {
	return (int(small(a))*61 + int(small(b))*11 + int(small(c))*3) & (1<<12 - 1)
}

// next is where the first of the words begins, from a place on, or -1.
func (f *finder) next(text string, from int) int {
	for i := from; i+2 < len(text); i++ {
		if !f.begins[begin(text[i], text[i+1], text[i+2])] {
			continue
		}
		for _, w := range f.words[small(text[i])] {
			if i+len(w) <= len(text) && alike(text[i:i+len(w)], w) {
				return i
			}
		}
	}
	return -1
}

// alike tells whether two texts of one length differ in large and small letters only, or in characters that are as close.
func alike(a, b string) bool {
	for i := range len(a) {
		if small(a[i]) != small(b[i]) {
			return false
		}
	}
	return true
}

// lineSet are lines of files, by the path of the file. It forgets those that were not seen for long.
type lineSet struct {
	now, before map[string]map[string]bool
	held        int
}

// mostLinesHeld bounds the bytes that the younger half of a set holds.
const mostLinesHeld = 2 << 20

// of tells which lines of a file are there. Several goroutines may ask, as long as none adds any.
func (l *lineSet) of(path string) func(line string) bool {
	now, before := l.now[path], l.before[path]
	return func(line string) bool { return now[line] || before[line] }
}

func (l *lineSet) add(path, line string) {
	if l.now == nil || l.held > mostLinesHeld {
		l.before, l.now, l.held = l.now, map[string]map[string]bool{}, 0
	}
	of := l.now[path]
	if of == nil {
		of = map[string]bool{}
		l.now[path] = of
		l.held += 500
	}
	if !of[line] {
		of[strings.Clone(line)] = true // it would hold on to all of its file
		l.held += len(line) + 100
	}
}
