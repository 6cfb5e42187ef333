package tamper_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/runplan/runplan/gates/tamper"
	"github.com/runplan/runplan/tools/gatetest"
)

// A person may skip a test where it cannot run; an agent may not, unless the plan asks for it.
func TestAgentPlatformSkipNeedsPlan(t *testing.T) {
	test := func(first string) string {
		return "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n" + first +
			"\tif got := Add(2, 3); got != 5 {\n\t\tt.Errorf(\"%d\", got)\n\t}\n}\n"
	}
	for first, want := range map[string][2]string{
		"\tif runtime.GOOS == \"windows\" {\n\t\tt.Skip(\"no pipes there\")\n\t}\n": {"info", "error"},
		"\tif testing.Short() {\n\t\tt.Skip(\"slow\")\n\t}\n":                       {"info", "error"},
		"\tt.Skip(\"later\")\n": {"warning", "error"},
	} {
		s := gatetest.Change(t, map[string]string{"calc_test.go": test("")}, map[string]string{"calc_test.go": test(first)})
		for i, key := range []string{"", "1"} {
			s.Batch.Key = key
			_, got := gatetest.Look(t, tamper.New(), s)
			if !slices.ContainsFunc(got, func(f string) bool { return strings.HasPrefix(f, want[i]+" tamper/test-skipped") }) {
				t.Errorf("%q, batch %q: %v", first, key, got)
			}
		}
	}
}
