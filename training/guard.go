package training

import "slices"

// Guard processes each example before it is written: it removes secrets, searches for remaining ones, and checks the
// example.
type Guard struct {
	Redact func(string) string // removes secrets; may be nil
	Canary Canary
}

// Seal returns e without secrets and with its id. It returns a [LeakError] if a secret remains, and another error if
// the example is invalid.
func (g Guard) Seal(e Example) (Example, error) {
	e.Prompt, e.Signals = slices.Clone(e.Prompt), slices.Clone(e.Signals)
	e.Origin.Files = slices.Clone(e.Origin.Files)
	if g.Redact != nil {
		for _, p := range e.texts() {
			*p.text = g.Redact(*p.text)
		}
		for i := range e.Origin.Files {
			e.Origin.Files[i].Path = g.Redact(e.Origin.Files[i].Path)
		}
	}
	e.ID = e.Sum()
	if err := e.check(e.ID); err != nil {
		return e, err
	}
	return e, g.Canary.Check(e)
}
