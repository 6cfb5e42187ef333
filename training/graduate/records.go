package graduate

import (
	"cmp"
	"slices"

	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/gates/blueprint/lifecycle"
)

// Read derives generations from the reviews of candidates. Each code of a unit that the adapter wrote and another
// reviewer reviewed is one generation; its first review counts. The adapter's review of the same code and blueprint is
// its self-assessment. Promotions give the outcome.
func Read(root string) ([]Generation, error) {
	all, err := lifecycle.Reviews(root, lifecycle.ReviewFolder("*", blueprint.Candidate))
	if err != nil {
		return nil, err
	}
	var outside, own []lifecycle.Record
	for _, one := range all {
		switch rec := one.Record; {
		case rec.Scope != "" || rec.SourcesSHA256 == "":
		case rec.Reviewer == "adapter" || rec.Reviewer == "gaia-study":
			own = append(own, rec)
		default:
			outside = append(outside, rec)
		}
	}
	promotions, err := lifecycle.Promotions(root)
	if err != nil {
		return nil, err
	}
	byTime := func(a, b lifecycle.Record) int {
		return cmp.Or(a.ReceivedAt.Compare(b.ReceivedAt), cmp.Compare(a.ServiceID, b.ServiceID))
	}
	slices.SortStableFunc(outside, byTime)
	slices.SortStableFunc(own, byTime)
	var out []Generation
	seen := map[string]bool{}
	for _, r := range outside {
		if k := r.ServiceID + r.SourcesSHA256 + r.BlueprintSHA256; seen[k] {
			continue
		} else {
			seen[k] = true
		}
		if by, err := adapters(root, r); err != nil {
			return nil, err
		} else if !by {
			continue
		}
		g := Generation{Unit: r.ServiceID, At: r.ReceivedAt, Divergence: r.Divergence(), Reviewer: r.Discrepancies,
			Promoted: promoted(r, promotions)}
		for _, o := range own {
			if o.ServiceID == r.ServiceID && o.SourcesSHA256 == r.SourcesSHA256 && o.BlueprintSHA256 == r.BlueprintSHA256 {
				g.Self, g.SelfKnown = o.Discrepancies, true
				break
			}
		}
		out = append(out, g)
	}
	return out, nil
}

// adapters reports whether the adapter wrote the reviewed code: it was the last to receive the context before the
// review.
func adapters(root string, r lifecycle.Record) (bool, error) {
	made, err := lifecycle.Generations(root, r.ServiceID)
	if err != nil {
		return false, err
	}
	by := false
	for _, g := range made {
		if !g.At.After(r.ReceivedAt) {
			by = g.Session == lifecycle.AdapterSession
		}
	}
	return by, nil
}

// promoted reports whether the reviewed code was promoted unchanged. It returns false if the code was rejected or
// other code of the unit was promoted, and nil if that is undecided.
func promoted(r lifecycle.Record, all []lifecycle.Promotion) *bool {
	yes, no := true, false
	if r.Decision == lifecycle.Reject {
		return &no
	}
	for _, p := range all {
		if p.Unit != r.ServiceID || p.Outcome != lifecycle.Promoted || p.At.Before(r.ReceivedAt) {
			continue
		}
		if p.SourcesSHA256 == r.SourcesSHA256 {
			return &yes
		}
		return &no
	}
	return nil
}
