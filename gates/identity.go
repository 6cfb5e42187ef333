package gates

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"
)

// Identity names what a finding of gate is about: two of the same identity on two trees tell of the same thing, whatever
// the lines, durations and temporary paths in them. A test is the same by its name, whatever it says.
func (f Finding) Identity(gate string) string {
	parts := []string{gate, f.Rule, f.Path, normal(f.Message)}
	if f.Test != "" && f.Rule == ruleTest {
		parts = []string{gate, f.Rule, path.Dir(f.Path), f.Test}
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}
