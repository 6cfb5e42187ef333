package mutants

import (
	"fmt"
	"strings"
)

// TakenBack is the kind of a mutant that reverts one part of the change. It works in any language, and shows a part
// of the change that nothing tests.
const TakenBack Kind = "taken-back"

// mostCells limits the table that compares two versions of a file. Parts of larger files are not reverted.
const mostCells = 4 << 20

// TakeBack returns a mutant for each group of adjacent lines that differ between two versions of a file. It omits
// groups that contain only blank lines, comments and imports.
func TakeBack(file, before, after string) []Mutant {
	a, b := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	old, now := a[head:len(a)-tail], b[head:len(b)-tail]
	if (len(old)+1)*(len(now)+1) > mostCells {
		return nil
	}
	same := common(old, now)
	offset := len(strings.Join(b[:head], ""))
	var out []Mutant
	for i, j := 0, 0; i < len(old) || j < len(now); {
		from, at := i, j
		for i < len(old) || j < len(now) {
			if i < len(old) && j < len(now) && old[i] == now[j] {
				break
			}
			if j == len(now) || i < len(old) && same(i+1, j) >= same(i, j+1) {
				i++
			} else {
				j++
			}
		}
		was, is := strings.Join(old[from:i], ""), strings.Join(now[at:j], "")
		if was != is && (tells(old[from:i]) || tells(now[at:j])) {
			out = append(out, Mutant{Path: file, Line: head + at + 1, Start: offset, End: offset + len(is), Old: is, New: was,
				Kind: TakenBack})
		}
		offset += len(is)
		for i < len(old) && j < len(now) && old[i] == now[j] {
			offset += len(now[j])
			i, j = i+1, j+1
		}
	}
	return out
}

// common returns a function that counts the common lines of two tails, in order.
func common(a, b []string) func(i, j int) int {
	wide := len(b) + 1
	table := make([]int32, (len(a)+1)*wide)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				table[i*wide+j] = table[(i+1)*wide+j+1] + 1
			} else {
				table[i*wide+j] = max(table[(i+1)*wide+j], table[i*wide+j+1])
			}
		}
	}
	return func(i, j int) int { return int(table[i*wide+j]) }
}

// tells reports whether lines contain more than comments, imports and closing brackets.
func tells(lines []string) bool {
	for _, line := range lines {
		line = strings.TrimSpace(line)
		plain := strings.Trim(line, "{}()[];, ") == ""
		for _, head := range []string{"//", "#", "/*", "*", "import ", "from ", "package ", "\"\"\""} {
			plain = plain || strings.HasPrefix(line, head)
		}
		if !plain {
			return true
		}
	}
	return false
}

// last returns the last line of a mutant in the file, or its first line if it only restores lines.
func (m Mutant) last() int {
	return m.Line + max(0, strings.Count(strings.TrimSuffix(m.Old, "\n"), "\n"))
}

// describeBack names the lines of a part of the change.
func (m Mutant) describeBack() string {
	switch {
	case m.Old == "":
		return fmt.Sprintf("the lines removed before line %d are restored", m.Line)
	case m.last() == m.Line:
		return fmt.Sprintf("line %d is reverted", m.Line)
	}
	return fmt.Sprintf("lines %d to %d are reverted", m.Line, m.last())
}
