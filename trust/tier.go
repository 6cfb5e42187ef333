package trust

import (
	"fmt"
	"slices"
)

// Tier is the level of trust in runplan, from 0 to 5 (TRUST-01).
type Tier int

// The initial tier and the limits of the scale.
const (
	Lowest  Tier = 0
	Highest Tier = 5
)

// Valid reports whether the tier exists.
func (t Tier) Valid() bool { return t >= Lowest && t <= Highest }

// Action is an action that runplan may or may not take without asking.
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

// Rule is a row of the table of tiers.
type Rule struct {
	Action Action `json:"action"`
	Tier   Tier   `json:"tier"` // lowest tier that allows it
	What   string `json:"what"`
	OptIn  bool   `json:"opt_in,omitempty"` // a higher tier does not include it
	UsedBy string `json:"used_by"`          // the commands that ask for it; empty if no command does yet
}

// Table returns the tier that each action needs. The contract, the checks and the documents all use this table.
func Table() []Rule {
	return []Rule{
		{Action: Read, Tier: 0, What: "read the repository and the journal, and report", UsedBy: "every command"},
		{Action: Draft, Tier: 1, What: "draft plans, reviews and answers, as files under .runplan"},
		{Action: Branch, Tier: 2, What: "work on its own branches, and merge gated batches into its run branch",
			UsedBy: "self-fix"},
		{Action: DraftChange, Tier: 2, What: "push a branch and open a draft change request", UsedBy: "self-fix"},
		{Action: KeepGreen, Tier: 3, What: "push to its own open change requests until their checks pass"},
		{Action: EditSelf, Tier: 4, What: "edit its own prompts and loop", OptIn: true},
		{Action: Merge, Tier: 5, What: "merge change requests into the protected branch", UsedBy: "run --land"},
	}
}

// Titles returns the names of the tiers by number.
func Titles() []string {
	return []string{"read only", "draft", "branch and draft change", "keep checks green", "edit itself", "merge"}
}

// ruleOf returns the rule of an action.
func ruleOf(a Action) (Rule, bool) {
	rules := Table()
	i := slices.IndexFunc(rules, func(r Rule) bool { return r.Action == a })
	if i < 0 {
		return Rule{}, false
	}
	return rules[i], true
}

// Allows reports whether a tier is high enough for an action. An unknown action is never allowed. [Contract.Check]
// also covers opt-ins and repository limits.
func Allows(t Tier, a Action) bool {
	r, ok := ruleOf(a)
	return ok && t.Valid() && t >= r.Tier
}

// ParseAction parses the name of an action.
func ParseAction(name string) (Action, error) {
	if _, ok := ruleOf(Action(name)); !ok {
		var known []Action
		for _, r := range Table() {
			known = append(known, r.Action)
		}
		return "", fmt.Errorf("unknown action %q; actions are %v", name, known)
	}
	return Action(name), nil
}

// Error is a refused action with a hint (TRUST-06).
type Error struct {
	What string // the refused action, and why
	Do   string // how to change that
}

func (e *Error) Error() string { return e.What }
