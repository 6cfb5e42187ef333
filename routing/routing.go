// Package routing decides how a plan is run: in which mode, in which order, and which batches not at all.
//
// A decision carries its reasons. Where nothing proves that two batches are independent, they run one after
// the other, in the order of the plan.
package routing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/planparse"
)

// Mode is how batches are worked on.
type Mode string

// The modes. Headless works on one batch at a time; team on several, each in a worktree of its own.
const (
	Headless Mode = "headless"
	Team     Mode = "team"
)

// Options narrow a decision.
type Options struct {
	From, To string            // numbers or keys of the first and last batch to run; "" is no bound
	Env      map[string]string // what conditions may read as env.NAME
}

// EmptyNote is printed for a batch without content (PLAN-03).
const EmptyNote = "(empty batch -- skipping)"

// Decide routes p. Errors name the plan's line where one is to blame.
func Decide(p *planparse.Plan, o Options) (Decision, error) {
	from, to, err := bounds(p, o)
	if err != nil {
		return Decision{}, err
	}
	d := Decision{Mode: Headless, Workers: 1, Reasons: []string{"headless: batches run one after the other, in the order of the plan"}}
	order, err := topological(p)
	if err != nil {
		return Decision{}, err
	}
	steps := make([]Step, len(p.Batches))
	previous := ""
	for _, i := range order {
		b := &p.Batches[i]
		s := Step{Batch: b.Key, Needs: slices.Clone(b.DependsOn)}
		if s.Skip, err = skip(p, b, i, from, to, o.Env); err != nil {
			return Decision{}, err
		}
		if s.Skip == "" {
			if previous != "" && !slices.Contains(s.Needs, previous) {
				s.Needs = append(s.Needs, previous)
			}
			previous = b.Key
		}
		steps[i] = s
	}
	d.Steps = steps
	return d, nil
}

func skip(p *planparse.Plan, b *planparse.Batch, i, from, to int, env map[string]string) (string, error) {
	switch {
	case i < from || i > to:
		return "outside --from/--to", nil
	case b.Empty:
		return EmptyNote, nil
	case b.Done():
		return "all of it is ticked off in the plan", nil
	}
	for _, when := range []string{p.Header.When, b.When} {
		if when == "" {
			continue
		}
		ok, err := Holds(when, FactsOf(b, env))
		if err != nil {
			return "", fmt.Errorf("line %d: batch %s: when: %w", b.StartLine, b.Number, err)
		}
		if !ok {
			return "its condition does not hold: " + when, nil
		}
	}
	return "", nil
}

func bounds(p *planparse.Plan, o Options) (from, to int, err error) {
	to = len(p.Batches) - 1
	if o.From != "" {
		if from, err = find(p, "--from", o.From); err != nil {
			return 0, 0, err
		}
	}
	if o.To != "" {
		if to, err = find(p, "--to", o.To); err != nil {
			return 0, 0, err
		}
	}
	if from > to && len(p.Batches) > 0 {
		return 0, 0, fmt.Errorf("--from %s comes after --to %s in the plan", o.From, o.To)
	}
	return from, to, nil
}

// find takes a key, or else a number, of which the first counts; "B3" is read as "3".
func find(p *planparse.Plan, flag, name string) (int, error) {
	key := func(b *planparse.Batch) string { return b.Key }
	number := func(b *planparse.Batch) string { return b.Number }
	for _, want := range []string{name, strings.TrimLeft(name, "Bb")} {
		for _, of := range []func(*planparse.Batch) string{key, number} {
			for i := range p.Batches {
				if want != "" && of(&p.Batches[i]) == want {
					return i, nil
				}
			}
		}
	}
	keys := make([]string, len(p.Batches))
	for i := range p.Batches {
		keys[i] = p.Batches[i].Key
	}
	return 0, fmt.Errorf("%s %s: the plan has no such batch; it has %s", flag, name, strings.Join(keys, ", "))
}

// topological orders batches by what they depend on, otherwise as the plan has them.
func topological(p *planparse.Plan) ([]int, error) {
	index := map[string]int{}
	for i := range p.Batches {
		index[p.Batches[i].Key] = i
	}
	var order []int
	placed := make([]bool, len(p.Batches))
	for len(order) < len(p.Batches) {
		before := len(order)
		for i := range p.Batches {
			if placed[i] {
				continue
			}
			ready := true
			for _, d := range p.Batches[i].DependsOn {
				k, ok := index[d]
				if !ok {
					return nil, fmt.Errorf("line %d: batch %s depends on %s, which is not there", p.Batches[i].StartLine, p.Batches[i].Number, d)
				}
				ready = ready && placed[k]
			}
			if ready {
				placed[i] = true
				order = append(order, i)
				break // start over, so that the plan's order wins wherever it can
			}
		}
		if len(order) == before {
			return nil, fmt.Errorf("the dependencies of the plan form a circle")
		}
	}
	return order, nil
}
