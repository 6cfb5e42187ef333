package trust

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// Each action is refused below its tier and allowed from it on; nothing else decides.
func TestEachActionNeedsItsTier(t *testing.T) {
	needs := map[Action]Tier{Read: 0, Draft: 1, Branch: 2, DraftChange: 2, KeepGreen: 3, EditSelf: 4, Merge: 5}
	if len(needs) != len(Table()) {
		t.Fatalf("the table has %d rules", len(Table()))
	}
	for action, needed := range needs {
		for tier := Lowest - 1; tier <= Highest+1; tier++ {
			want := tier.Valid() && tier >= needed
			if Allows(tier, action) != want {
				t.Errorf("Allows(%d, %s) is not %v", tier, action, want)
			}
			if !tier.Valid() {
				continue
			}
			c := Contract{Owner: "ada", Channel: "cli", Tier: tier, SelfEdit: tier >= 4}
			err := c.Check(action, "/r")
			if (err == nil) != want {
				t.Errorf("tier %d, %s: %v", tier, action, err)
			}
			var refused *Error
			if err != nil && (!errors.As(err, &refused) ||
				!strings.Contains(refused.Do, "runplan promote --to-tier "+string('0'+rune(needed)))) {
				t.Errorf("tier %d, %s: the refusal does not give the command: %+v", tier, action, refused)
			}
		}
	}
	if Allows(Highest, "delete_everything") ||
		(Contract{Owner: "ada", Tier: Highest}).Check("delete_everything", "") == nil {
		t.Error("an action that is in no table is allowed")
	}
}

func TestCheckConsidersOwnerFlagsAndBindings(t *testing.T) {
	bound := []RepoBinding{{"/held", 1}, {"/free", 5}}
	for name, tt := range map[string]struct {
		c      Contract
		action Action
		root   string
		do     string // "" is allowed
	}{
		"without an owner, reading is allowed": {Contract{}, Read, "", ""},
		"without an owner": {Contract{}, Draft, "",
			"runplan trust --bootstrap --owner NAME --channel WHERE"},
		"without an owner, whatever the tier": {Contract{Tier: 5}, Merge, "", "--bootstrap"},
		"tier 5 does not bring self-edit along": {Contract{Owner: "ada", Tier: 5}, EditSelf, "",
			"ada can promote it: runplan promote --to-tier 5 --self-edit"},
		"tier 5 with self-edit": {Contract{Owner: "ada", Tier: 5, SelfEdit: true}, EditSelf, "", ""},
		"a flag alone gives nothing": {Contract{Owner: "ada", Tier: 3, SelfEdit: true}, EditSelf, "",
			"--to-tier 4"},
		"this repository is held back": {Contract{Owner: "ada", Tier: 3, Repos: bound}, Branch, "/held",
			"raise max_tier of /held in owner.toml"},
		"actions of lower tiers are allowed": {Contract{Owner: "ada", Tier: 3, Repos: bound}, Draft, "/held", ""},
		"another one is not":                 {Contract{Owner: "ada", Tier: 3, Repos: bound}, Branch, "/other", ""},
		"a binding never raises": {Contract{Owner: "ada", Tier: 3, Repos: bound}, Merge, "/free",
			"--to-tier 5"},
		"a folder below is another repository": {Contract{Owner: "ada", Tier: 3, Repos: bound}, Branch, "/held/below", ""},
	} {
		err := tt.c.Check(tt.action, tt.root)
		var refused *Error
		switch {
		case tt.do == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tt.do != "" && (!errors.As(err, &refused) || !strings.Contains(refused.Do, tt.do)):
			t.Errorf("%s: got %v, %+v", name, err, refused)
		}
	}
}

func TestHumanGatesNeedOwnerSignature(t *testing.T) {
	c := Contract{Owner: "ada", Tier: Highest, SelfEdit: true, MergeBar: 60}
	var gates []Gate
	for _, g := range Gates() {
		gates = append(gates, g.Gate)
		for name, tt := range map[string]struct {
			c    Contract
			by   Signed
			open bool
		}{
			"the owner, with a reason": {c, Signed{"ada", "it is time"}, true},
			"nobody":                   {c, Signed{"", "it is time"}, false},
			"another person signs":     {c, Signed{"eve", "it is time"}, false},
			"almost the owner":         {c, Signed{"Ada", "it is time"}, false},
			"the owner, and no reason": {c, Signed{"ada", " \n"}, false},
			"the owner, and a novel":   {c, Signed{"ada", strings.Repeat("x", maxReason+1)}, false},
			"no owner, no signature":   {Contract{}, Signed{"", "it is time"}, false},
			"no owner":                 {Contract{}, Signed{"ada", "it is time"}, false},
		} {
			err := tt.c.HumanGate(g.Gate, tt.by)
			var refused *Error
			if tt.open != (err == nil) || err != nil && (!errors.As(err, &refused) || refused.Do == "") {
				t.Errorf("%s, %s: %v", g.Gate, name, err)
			}
		}
	}
	want := []Gate{GateTraining, GateDeploy, GatePromotion, GateLargeJob, GateMergeBelow, GateQueueClose}
	if !slices.Equal(gates, want) {
		t.Errorf("gates are %v", gates)
	}
	if c.HumanGate("other", Signed{"ada", "it is time"}) == nil {
		t.Error("an unknown gate is open")
	}
}

func TestAutoMergeThresholds(t *testing.T) {
	at := func(n int) *int { return &n }
	full := Contract{Owner: "ada", Tier: 5, MergeBar: 80}
	for name, tt := range map[string]struct {
		c          Contract
		confidence *int
		want       string // "" merges
	}{
		"one below the bar":   {full, at(79), "confidence of the review is 79 %, and the threshold is 80 %"},
		"at the bar":          {full, at(80), ""},
		"above it":            {full, at(81), ""},
		"as sure as can be":   {full, at(100), ""},
		"surer than that":     {full, at(101), "is out of range"},
		"less than nothing":   {full, at(-1), "is out of range"},
		"unknown is not zero": {full, nil, "confidence of a review is missing"},
		"off, however sure":   {Contract{Owner: "ada", Tier: 5}, at(100), "is off"},
		"one tier below":      {Contract{Owner: "ada", Tier: 4, MergeBar: 80}, at(100), "needs tier 5"},
		"no owner":            {Contract{Tier: 5, MergeBar: 80}, at(100), "no owner"},
		"a repository held back": {Contract{Owner: "ada", Tier: 5, MergeBar: 80, Repos: []RepoBinding{{"/r", 4}}}, at(100),
			"limits this repository"},
		"the highest bar, not met": {Contract{Owner: "ada", Tier: 5, MergeBar: 100}, at(99), "the threshold is 100 %"},
		"the highest bar, met":     {Contract{Owner: "ada", Tier: 5, MergeBar: 100}, at(100), ""},
	} {
		err := tt.c.AutoMerge("/r", tt.confidence)
		var refused *Error
		if tt.want == "" && err != nil || tt.want != "" &&
			(!errors.As(err, &refused) || !strings.Contains(err.Error(), tt.want) || refused.Do == "") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
