package planparse

import (
	"strconv"
	"strings"
)

// regression reads the regression test of a batch. In runplan's own form an invalid path is an error, because the
// batch would merge without its check. Prose ("**Regression:** none known") is ignored.
func (f *filler) regression(line int, value string, strict bool) {
	batch := &f.plan.Batches[f.meta]
	items := splitList(value)
	if !strict {
		for _, item := range items {
			if strings.ContainsAny(item, " \t") || !strings.ContainsAny(item, "./") {
				return
			}
		}
	}
	if len(items) == 0 && strict {
		f.report(SeverityError, line, "malformed-header",
			"regression: names no test; write the path of a test file, or PATH::NAME for one test in it")
	}
	for _, item := range items {
		file, name, _ := strings.Cut(item, "::")
		p, ok := cleanPath(file)
		if !ok {
			f.report(SeverityError, line, "malformed-header", "regression: %s is not a path in the workspace",
				strconv.Quote(item))
			continue
		}
		if name != "" {
			p += "::" + name
		}
		batch.Regression = append(batch.Regression, p)
	}
}
