package history

import "strings"

// lineSet is a bounded set of lines by file path. It forgets lines that were not seen recently.
type lineSet struct {
	now, before map[string]map[string]bool
	held        int
}

// mostLinesHeld limits the bytes in the younger half of the set.
const mostLinesHeld = 2 << 20

// of returns a function that reports whether a line of a file is in the set. It may be called concurrently while
// nothing is added.
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
		of[strings.Clone(line)] = true // a substring would keep the whole file in memory
		l.held += len(line) + 100
	}
}
