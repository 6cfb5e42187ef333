package trust

import (
	"fmt"
	"slices"
)

// Tier is how far runplan is trusted, from 0 to 5 (TRUST-01).
type Tier int

// Where everybody begins, and the ends of the scale.
const (
	Lowest  Tier = 0
	Highest Tier = 5
)

// Valid reports whether there is such a tier.
func (t Tier) Valid() bool { return t >= Lowest && t <= Highest }

// Action is something that runplan may do by itself, or not.
type Action string

// The actions.
const (
	Read        Action = "read"
	Draft       Action = "draft"
	Branch      Action = "branch"
	DraftChange Action = "draft_change"
	KeepGreen   Action = "keep_green"
	EditSelf    Action = "edit_self"
	Merge       Action = "merge"
)

// Rule is a line of the table of tiers.
type Rule struct {
	Action Action `json:"action"`
	Tier   Tier   `json:"tier"` // the lowest that allows it
	What   string `json:"what"`
	OptIn  bool   `json:"opt_in,omitempty"` // a higher tier does not bring it along
}

// Table says which tier an action needs. It is the only place that does: the contract, the checks and the documents
// follow it.
func Table() []Rule {
	return []Rule{
		{Action: Read, Tier: 0, What: "read the repository and the journal, and report"},
		{Action: Draft, Tier: 1, What: "draft plans, reviews and answers, as files under .runplan"},
		{Action: Branch, Tier: 2, What: "work on branches of its own, and merge gated batches into its run branch"},
		{Action: DraftChange, Tier: 2, What: "push a branch and open a draft change request"},
		{Action: KeepGreen, Tier: 3, What: "push to its own open change requests until their checks pass"},
		{Action: EditSelf, Tier: 4, What: "edit its own prompts and loop", OptIn: true},
		{Action: Merge, Tier: 5, What: "merge change requests into the protected branch"},
	}
}

// Titles names the tiers, by number.
func Titles() []string {
	return []string{"read only", "draft", "branch and draft change", "keep checks green", "edit itself", "merge"}
}

// ruleOf finds the rule of an action.
func ruleOf(a Action) (Rule, bool) {
	rules := Table()
	i := slices.IndexFunc(rules, func(r Rule) bool { return r.Action == a })
	if i < 0 {
		return Rule{}, false
	}
	return rules[i], true
}

// Allows reports whether a tier is high enough for an action. One that is in no table is never allowed. Whether the
// owner opted in, and what holds in a repository, only the contract knows: [Contract.Check].
func Allows(t Tier, a Action) bool {
	r, ok := ruleOf(a)
	return ok && t.Valid() && t >= r.Tier
}

// ParseAction reads the name of an action.
func ParseAction(name string) (Action, error) {
	if _, ok := ruleOf(Action(name)); !ok {
		var known []Action
		for _, r := range Table() {
			known = append(known, r.Action)
		}
		return "", fmt.Errorf("there is no action %q; there are %v", name, known)
	}
	return Action(name), nil
}

// Error is a violation of trust: something that was not allowed, with what to do about it (TRUST-06).
type Error struct {
	What string // was refused, and why
	Do   string // exactly what changes that
}

func (e *Error) Error() string { return e.What }
