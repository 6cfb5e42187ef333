package planparse

import (
	"strconv"
	"strings"
)

// mutants reads the share of wrong versions that the tests of a batch must detect: "80 %". An invalid value is an
// error in runplan's own form, and prose otherwise.
func (f *filler) mutants(line int, value string, strict bool) {
	n, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.Trim(value, "` \t"), "%")))
	switch {
	case err == nil && n > 0 && n <= 100:
		f.plan.Batches[f.meta].Mutants = n
	case strict:
		f.report(SeverityError, line, "malformed-header", "mutants: %s is not a percentage from 1 to 100, such as 80 %%",
			strconv.Quote(value))
	}
}
