package gates

import (
	"path"
	"strings"

	"github.com/runplan/runplan/internal/checksum"
)

// Identity identifies the problem behind a finding of gate. Two findings with the same identity on two trees are the
// same problem, even if lines, durations or temporary paths differ. A failing test is identified by its name, whatever
// its message says.
func (f Finding) Identity(gate string) string {
	parts := []string{gate, f.Rule, f.Path, normal(f.Message)}
	if f.Test != "" && f.Rule == ruleTest {
		parts = []string{gate, f.Rule, path.Dir(f.Path), f.Test}
	}
	return checksum.SHA256(strings.Join(parts, "\x00"))[:32]
}
