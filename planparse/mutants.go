package planparse

import (
	"strconv"
	"strings"
)

// mutants reads the share of wrong versions that the tests of a batch must notice: "80 %". A value that is no
// percentage is an error in the form that was written for runplan, and prose otherwise.
func (f *filler) mutants(line int, value string, strict bool) {
	n, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.Trim(value, "` \t"), "%")))
	switch {
	case err == nil && n > 0 && n <= 100:
		f.plan.Batches[f.meta].Mutants = n
	case strict:
		f.report(SeverityError, line, "malformed-header", "mutants: %s is no percentage from 1 to 100, such as 80 %%",
			strconv.Quote(value))
	}
}
