package training

import "slices"

// Guard is what each example passes on its way out, whoever made it: secrets are taken out, what is left is looked
// through, and the example is checked.
type Guard struct {
	Redact func(string) string // takes secrets out; may be nil
	Canary Canary
}

// Seal returns e without secrets and with its id. An example that leaks nevertheless is a [LeakError], one that is not
// whole another error.
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
