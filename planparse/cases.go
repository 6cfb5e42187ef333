package planparse

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// cases warns of paths that differ only in their case. On file systems that ignore case, as on most Macs and on
// Windows, they are one file. A batch that deletes one of them intends a rename.
func (c *checker) cases() {
	first := map[string]string{} // the spelling that came first, by the path in lower case
	said := map[string]bool{}
	c.report.Diagnostics = slices.Clone(c.report.Diagnostics)
	for i := range c.plan.Batches {
		b := &c.plan.Batches[i]
		for _, p := range b.Files.All() {
			folded := strings.ToLower(p)
			other, known := first[folded]
			switch {
			case !known:
				first[folded] = p
			case other != p && !said[p] && !slices.Contains(b.Files.Delete, other):
				said[p] = true
				c.warn(b.StartLine, "case-clash",
					"%s differs from %s only in case: a file system that ignores case has one file for both; spell them alike", p,
					other)
			}
		}
		for _, p := range b.Files.Delete {
			if folded := strings.ToLower(p); first[folded] == p {
				delete(first, folded)
			}
		}
	}
	slices.SortStableFunc(c.report.Diagnostics, func(x, y Diagnostic) int { return cmp.Compare(x.Line, y.Line) })
}

func (c *checker) warn(line int, code, format string, args ...any) {
	c.report.Diagnostics = append(c.report.Diagnostics,
		Diagnostic{SeverityWarning, line, code, fmt.Sprintf(format, args...)})
}
