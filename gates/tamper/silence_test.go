package tamper

import (
	"testing"

	"github.com/runplan/runplan/internal/lazyre"
)

// The table of comments has valid expressions.
func TestSilencersAreValid(t *testing.T) {
	for _, s := range silencers() {
		s.Re.Re()
		if s.Reasoned != nil {
			s.Reasoned.Re()
		}
		if s.Name == "" {
			t.Errorf("%s has no name", s.Re)
		}
	}
}

// The table of signs has valid expressions.
func TestSignsAreValid(t *testing.T) {
	for ext, s := range signs() {
		if s.Awareness == nil {
			t.Errorf("%s: without awareness, the rest has no effect", ext)
		}
		for _, re := range []*lazyre.Regexp{s.Awareness, s.Hidden, s.Dated, s.Introspection, s.Stack, s.Identity, s.EqualToAll} {
			if re != nil {
				re.Re()
			}
		}
	}
}
