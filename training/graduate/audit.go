package graduate

import (
	"fmt"
	"slices"
	"time"

	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/gates/blueprint/lifecycle"
	"github.com/runplan/runplan/internal/lists"
)

// Generated returns the times after a given time at which the adapter was asked to write units, in order.
func Generated(root string, after time.Time) ([]time.Time, error) {
	var out []time.Time
	units, err := allUnits(root)
	if err != nil {
		return nil, err
	}
	for _, u := range units {
		made, err := lifecycle.Generations(root, u)
		if err != nil {
			return nil, fmt.Errorf("count the generations: %w", err)
		}
		for _, g := range made {
			if g.Session == lifecycle.AdapterSession && g.At.After(after) {
				out = append(out, g.At)
			}
		}
	}
	slices.SortFunc(out, time.Time.Compare)
	return out, nil
}

// allUnits returns all live and candidate units without duplicates.
func allUnits(root string) ([]string, error) {
	var out []string
	for _, s := range []blueprint.State{blueprint.Live, blueprint.Candidate} {
		units, err := blueprint.Units(root, s)
		if err != nil {
			return nil, err
		}
		out = append(out, units...)
	}
	return lists.Unique(out), nil
}

// Audit reports whether the cold reviewer must review a unit before its promotion, and why (TRAIN-30). Before
// graduation it reviews each unit; after it, each fifth unit of the adapter. It always reviews units that the adapter
// did not write.
func Audit(root, adapter, unit string) (due bool, why string, err error) {
	s, err := Load(root, adapter)
	if err != nil {
		return true, "", err
	}
	if s.Since == nil {
		return true, adapter + " has not graduated", nil
	}
	made, err := lifecycle.Generations(root, unit)
	if err != nil {
		return true, "", err
	}
	if len(made) == 0 || made[len(made)-1].Session != lifecycle.AdapterSession {
		return true, fmt.Sprintf("no record says that %s wrote it", adapter), nil
	}
	last := made[len(made)-1].At
	if !last.After(*s.Since) {
		return true, fmt.Sprintf("it was written before %s graduated", adapter), nil
	}
	all, err := Generated(root, *s.Since)
	if err != nil {
		return true, "", err
	}
	n, _ := slices.BinarySearchFunc(all, last, time.Time.Compare)
	n++
	return AuditDue(true, n),
		fmt.Sprintf("%s has graduated, and this is generation %d since then; every %dth is reviewed", adapter, n, AuditEvery),
		nil
}
