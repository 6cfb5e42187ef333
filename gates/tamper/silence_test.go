package tamper

import "testing"

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
