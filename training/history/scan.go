package history

import "strings"

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
