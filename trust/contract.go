package trust

import (
	"fmt"
	"slices"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
)

// Contract holds the owner's decisions. The zero contract has no owner and allows only what needs no trust.
type Contract struct {
	Owner    string        `json:"owner"`
	Channel  string        `json:"channel"`
	Tier     Tier          `json:"tier"`
	SelfEdit bool          `json:"self_edit"`
	MergeBar int           `json:"auto_merge_confidence_pct"` // least review confidence to merge unsigned; 0: never
	Repos    []RepoBinding `json:"repos,omitempty"`

	// owner.toml lacks the last change of the audit, which is authoritative
	Behind bool `json:"owner_file_behind,omitempty"`
}

// Owned reports whether there is an owner.
func (c Contract) Owned() bool { return c.Owner != "" }

// TierIn returns the tier for the repository at root; "" means no particular repository.
func (c Contract) TierIn(root string) Tier {
	t := c.Tier
	for _, r := range c.Repos {
		if r.Root == root {
			t = min(t, r.MaxTier)
		}
	}
	return t
}

const bootstrapNow = "set an owner: runplan trust --bootstrap --owner NAME --channel WHERE"

// Check returns an [*Error] unless runplan may take an action without asking in the repository at root.
func (c Contract) Check(a Action, root string) error {
	r, ok := ruleOf(a)
	have := c.TierIn(root)
	switch {
	case !ok:
		return &Error{fmt.Sprintf("%q is in no tier, so it is not allowed", a), "runplan trust lists what is"}
	case r.Tier == Lowest:
		return nil
	case !c.Owned():
		return &Error{fmt.Sprintf("%s needs tier %d, but there is no owner who could give it", a, r.Tier), bootstrapNow}
	case !Allows(c.Tier, a):
		return &Error{fmt.Sprintf("%s needs tier %d, and this is tier %d", a, r.Tier, c.Tier), c.promotion(r.Tier, "")}
	case !Allows(have, a):
		return &Error{fmt.Sprintf("%s needs tier %d, but owner.toml limits this repository to tier %d", a, r.Tier, have),
			"if that is too low, raise max_tier of " + root + " in owner.toml"}
	case a == EditSelf && !c.SelfEdit:
		return &Error{fmt.Sprintf("%s is opt-in, but tier %d was given without it", a, c.Tier),
			c.promotion(c.Tier, " --self-edit")}
	}
	return nil
}

func (c Contract) promotion(to Tier, flags string) string {
	return fmt.Sprintf("%s can promote it: runplan promote --to-tier %d%s --reason WHY --signature NAME", c.Owner, to,
		flags)
}

// Gate is an action that is never automatic, in any tier (TRUST-13).
type Gate string

// The human gates.
const (
	GateTraining   Gate = "training_start"
	GateDeploy     Gate = "adapter_deploy"
	GatePromotion  Gate = "promotion"
	GateLargeJob   Gate = "large_job"
	GateMergeBelow Gate = "merge_below_bar"
	GateQueueClose Gate = "review_queue_close"
)

// GateRule describes a human gate.
type GateRule struct {
	Gate Gate   `json:"gate"`
	What string `json:"what"`
}

// Gates is the only list of actions that need a human.
func Gates() []GateRule {
	return []GateRule{
		{GateTraining, "start a training"},
		{GateDeploy, "deploy a trained adapter"},
		{GatePromotion, "promote: runplan to a higher tier, or a candidate blueprint to live"},
		{GateLargeJob, "begin a job that is large"},
		{GateMergeBelow, "merge a change whose review is below the owner's threshold or missing"},
		{GateQueueClose, "close an item of the review queue"},
	}
}

// Signed is a human's signature for one action.
type Signed struct{ Name, Reason string }

// HumanGate returns an error unless the owner signed for the gate, with a reason.
func (c Contract) HumanGate(g Gate, s Signed) error {
	i := slices.IndexFunc(Gates(), func(r GateRule) bool { return r.Gate == g })
	switch {
	case i < 0:
		return &Error{fmt.Sprintf("%q is not a gate, so it cannot be waived", g), "runplan trust lists the gates"}
	case !c.Owned():
		return &Error{"only the owner may " + Gates()[i].What + ", but there is no owner", bootstrapNow}
	case s.Name == "":
		return &Error{"only the owner may " + Gates()[i].What + ", and the request is not signed",
			"the owner signs with --signature NAME"}
	case s.Name != c.Owner:
		return &Error{fmt.Sprintf("the signature %q is not the owner's", s.Name),
			"the owner must sign with the name that runplan trust shows; nothing was changed"}
	}
	return checkReason(s.Reason)
}

// AutoMerge returns nil if a change may be merged into the protected branch without a signature (TRUST-14). The tier
// must allow merging, the owner must have set a threshold, and the review must reach it. confidence is nil if no
// review gave one. The error says what to do.
func (c Contract) AutoMerge(root string, confidence *int) error {
	if err := c.Check(Merge, root); err != nil {
		return err
	}
	sign := "the owner merges it, or signs for it"
	switch {
	case c.MergeBar == 0:
		return &Error{"merging without a signature is off", c.promotion(c.Tier, " --auto-merge PERCENT") + "; or " + sign}
	case confidence == nil:
		return &Error{"the confidence of a review is missing", "pass it with --confidence, or have the change reviewed; or " +
			sign}
	case *confidence < 0 || *confidence > 100:
		return &Error{fmt.Sprintf("a confidence of %d is out of range: use 0 to 100", *confidence), sign}
	case *confidence < c.MergeBar:
		return &Error{fmt.Sprintf("the confidence of the review is %d %%, and the threshold is %d %%", *confidence,
			c.MergeBar), sign}
	}
	return nil
}

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

func ruleOf(a Action) (Rule, bool) {
	return lists.Find(Table(), func(r Rule) bool { return r.Action == a })
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
		known := phrase.Join(Table(), ", ", func(r Rule) string { return string(r.Action) })
		return "", fmt.Errorf("unknown action %q; actions are %s", name, known)
	}
	return Action(name), nil
}

// Error is a refused action with a hint (TRUST-06).
type Error struct {
	What string // the refused action, and why
	Do   string // how to change that
}

func (e *Error) Error() string { return e.What }
