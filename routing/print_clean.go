package routing

import "slices"

// Cleaned returns a copy without terminal control codes in its texts, because they quote plans. Keys of batches are
// already clean.
func (d Decision) Cleaned() Decision {
	each := func(list []string) []string {
		list = slices.Clone(list)
		for i := range list {
			list[i] = oneLine(list[i])
		}
		return list
	}
	d.Reasons, d.Score.Plus, d.Score.Minus = each(d.Reasons), each(d.Score.Plus), each(d.Score.Minus)
	d.Memory.Note = oneLine(d.Memory.Note)
	d.Steps, d.Edges, d.Pairs = slices.Clone(d.Steps), slices.Clone(d.Edges), slices.Clone(d.Pairs)
	for i := range d.Steps {
		s := &d.Steps[i]
		s.Skip, s.Why, s.Label, s.Model = oneLine(s.Skip), oneLine(s.Why), oneLine(s.Label), oneLine(s.Model)
	}
	for i := range d.Edges {
		d.Edges[i].Reason = oneLine(d.Edges[i].Reason)
	}
	for i := range d.Pairs {
		d.Pairs[i].Reason = oneLine(d.Pairs[i].Reason)
	}
	return d
}
