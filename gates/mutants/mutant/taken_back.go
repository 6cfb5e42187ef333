package mutant

import (
	"fmt"
	"strings"

	"github.com/runplan/runplan/internal/linediff"
)

// TakenBack is the kind of a mutant that reverts one part of the change. It works in any language, and shows a part
// of the change that nothing tests.
const TakenBack Kind = "taken-back"

// mostChanged limits the lines that differ between two versions of a file. Parts of a larger change are not reverted.
const mostChanged = 1000

// TakeBack returns a mutant for each group of adjacent lines that differ between two versions of a file. It omits
// groups that contain only blank lines, comments and imports.
func TakeBack(file, before, after string) []Mutant {
	old, now := linediff.Lines(before), linediff.Lines(after)
	hunks, _, ok := linediff.Compare(old, now, mostChanged)
	if !ok {
		return nil
	}
	var out []Mutant
	for _, h := range hunks {
		was, is := old[h.From:h.To], now[h.NewFrom:h.NewTo]
		if !tells(was) && !tells(is) {
			continue
		}
		m := Mutant{Path: file, Line: h.NewFrom + 1, Start: len(strings.Join(now[:h.NewFrom], "")),
			Old: strings.Join(is, ""), New: strings.Join(was, ""), Kind: TakenBack}
		m.End = m.Start + len(m.Old)
		out = append(out, m)
	}
	return out
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

// Last returns the last line of a mutant in the file, or its first line if it only restores lines.
func (m Mutant) Last() int {
	return m.Line + max(0, strings.Count(strings.TrimSuffix(m.Old, "\n"), "\n"))
}

// DescribeBack names the lines of a part of the change.
func (m Mutant) DescribeBack() string {
	switch {
	case m.Old == "":
		return fmt.Sprintf("the lines removed before line %d are restored", m.Line)
	case m.Last() == m.Line:
		return fmt.Sprintf("line %d is reverted", m.Line)
	}
	return fmt.Sprintf("lines %d to %d are reverted", m.Line, m.Last())
}
