package routing

import "slices"

// early returns the dependencies of a batch if it may start on their unmerged candidates, before their gates have
// passed (TEAM-04): all or none. The candidate's tree contains what the batch needs. The batch waits if both change too
// many common files, if they share machine state, or if their overlap is unknown.
func (s *layout) early(i int, rules Rules) []string {
	for _, need := range s.needs[i] {
		if ok, _ := s.mayStart(need, i, rules); !ok {
			return []string{}
		}
	}
	return s.keys(s.needs[i])
}

// mayStart reports whether a batch may start on the candidate of one that it needs. The reason is for people, and
// empty if the overlap is sufficient.
func (s *layout) mayStart(need, i int, rules Rules) (ok bool, reason string) {
	if s.overlap(need, i) >= float64(rules.SpeculateMaxOverlap) {
		return false, ""
	}
	if e := s.found[[2]int{need, i}]; e != nil {
		switch {
		case slices.Contains(e.kinds, EdgeSequential):
			return false, "it was requested to run after it"
		case slices.Contains(e.kinds, EdgeRuntime):
			return false, "both touch the same state of the machine"
		}
	}
	for _, x := range []int{need, i} {
		if s.open(x) {
			return false, "it is unknown which files " + s.name(x) + " touches"
		}
	}
	return true, ""
}

// speculation decides for each batch with exactly one dependency whether it starts on the candidate of that dependency.
func (s *layout) speculation(o Options) []Speculation {
	out := []Speculation{}
	for _, i := range s.run {
		if len(s.needs[i]) != 1 {
			continue
		}
		on := s.needs[i][0]
		x := Speculation{Batch: s.plan.Batches[i].Key, On: s.plan.Batches[on].Key, Overlap: s.overlap(on, i)}
		switch {
		case o.NoSpeculate:
			x.Reason = "--no-speculate"
		case !o.Rules.Speculate:
			x.Reason = "routing.speculate is off"
		default:
			x.Starts, x.Reason = s.mayStart(on, i, o.Rules)
		}
		out = append(out, x)
	}
	return out
}
