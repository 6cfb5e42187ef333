package trust

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/internal/store"
)

func keeper(t *testing.T) Keeper {
	t.Helper()
	at := time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)
	return Keeper{Dir: filepath.Join(t.TempDir(), "home"), LoopVersion: 2, Redact: func(s string) string { return s },
		Now: func() time.Time { at = at.Add(time.Second); return at }}
}

// owned returns a Keeper whose contract has the owner ada and the given tier.
func owned(t *testing.T, tier Tier) Keeper {
	t.Helper()
	k := keeper(t)
	if made, err := k.Bootstrap(t.Context(), "ada", "cli"); !made || err != nil {
		t.Fatal(made, err)
	}
	if tier > Lowest {
		promote(t, k, Promotion{To: tier})
	}
	return k
}

func promote(t *testing.T, k Keeper, p Promotion) {
	t.Helper()
	p.Signed = Signed{"ada", "it works"}
	if _, err := k.Promote(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

func contract(t *testing.T, k Keeper) Contract {
	t.Helper()
	c, err := k.Contract(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// state returns everything that a refusal must not change.
func state(t *testing.T, k Keeper) [2]any {
	t.Helper()
	file, err := os.ReadFile(k.OwnerFile())
	if err != nil {
		t.Fatal(err)
	}
	entries, err := k.Entries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return [2]any{string(file), entries}
}

func TestFirstUseCreatesNothing(t *testing.T) {
	k := keeper(t)
	if d := cmp.Diff(Contract{}, contract(t, k)); d != "" {
		t.Error(d)
	}
	if _, err := os.Stat(k.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("reading created the folder: %v", err)
	}
	var refused *Error
	if _, err := k.Demote(t.Context(), 0, "why"); !errors.As(err, &refused) {
		t.Errorf("got %v", err)
	}
	if _, err := k.Promote(t.Context(), Promotion{To: 1, Signed: Signed{"ada", "why"}}); !errors.As(err, &refused) ||
		!strings.Contains(refused.Do, "--bootstrap") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(k.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a refusal made a folder: %v", err)
	}
}

func TestBootstrapNamesOneOwner(t *testing.T) {
	k := owned(t, 2)
	before := state(t, k)
	if made, err := k.Bootstrap(t.Context(), "ada", "cli"); made || err != nil {
		t.Errorf("a second call: %v %v", made, err)
	}
	for _, who := range [][2]string{{"eve", "cli"}, {"ada", "mail"}, {"", ""}} {
		var refused *Error
		if made, err := k.Bootstrap(t.Context(), who[0], who[1]); made || !errors.As(err, &refused) {
			t.Errorf("%v: %v %v", who, made, err)
		}
	}
	if d := cmp.Diff(before, state(t, k)); d != "" {
		t.Error(d)
	}
	// A new owner is possible only by starting again at the lowest tier; earlier entries stay in the audit.
	if err := os.Remove(k.OwnerFile()); err != nil {
		t.Fatal(err)
	}
	if c := contract(t, k); c.Owned() || c.Tier != Lowest {
		t.Errorf("without the owner file: %+v", c)
	}
	if _, err := k.Bootstrap(t.Context(), "eve", "cli"); err != nil {
		t.Fatal(err)
	}
	if c := contract(t, k); c.Owner != "eve" || c.Tier != Lowest {
		t.Errorf("%+v", c)
	}
	if e, err := k.Entries(t.Context()); len(e) != 3 || err != nil {
		t.Errorf("%d entries, %v", len(e), err)
	}
}

func TestRefusedPromotionsChangeNothing(t *testing.T) {
	k := owned(t, 2)
	before := state(t, k)
	ada := Signed{"ada", "it works"}
	for name, p := range map[string]Promotion{
		"another's signature":    {To: 3, Signed: Signed{"eve", "it works"}},
		"no signature":           {To: 3, Signed: Signed{"", "it works"}},
		"the owner's, with more": {To: 3, Signed: Signed{"ada ", "it works"}},
		"no reason":              {To: 3, Signed: Signed{"ada", ""}},
		"the same tier":          {To: 2, Signed: ada},
		"a lower tier":           {To: 1, Signed: ada},
		"an invalid tier":        {To: 6, Signed: ada},
		"a tier below all":       {To: -1, Signed: ada},
		"self-edit too early":    {To: 3, SelfEdit: true, Signed: ada},
		"a bar too early":        {To: 4, MergeBar: 80, Signed: ada},
		"a bar below 60":         {To: 5, MergeBar: 59, Signed: ada},
		"a bar above 100":        {To: 5, MergeBar: 101, Signed: ada},
		"a negative bar":         {To: 5, MergeBar: -1, Signed: ada},
	} {
		_, err := k.Promote(t.Context(), p)
		var refused *Error
		if !errors.As(err, &refused) || refused.Do == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if d := cmp.Diff(before, state(t, k)); d != "" {
		t.Error(d)
	}
}

// Self-editing is opt-in: its own tier or its own flag turns it on, and a demotion below that tier turns it off.
func TestSelfEditIsOptIn(t *testing.T) {
	k := owned(t, 0)
	for _, step := range []struct {
		do   func() error
		want Contract
	}{
		{func() error { promote(t, k, Promotion{To: 5}); return nil }, Contract{Tier: 5}},
		{func() error { promote(t, k, Promotion{To: 5, SelfEdit: true}); return nil }, Contract{Tier: 5, SelfEdit: true}},
		{func() error { promote(t, k, Promotion{To: 5, MergeBar: 60}); return nil },
			Contract{Tier: 5, SelfEdit: true, MergeBar: 60}},
		{func() error { _, err := k.Demote(t.Context(), 4, "no"); return err }, Contract{Tier: 4, SelfEdit: true}},
		{func() error { _, err := k.Demote(t.Context(), 3, "no"); return err }, Contract{Tier: 3}},
		{func() error { promote(t, k, Promotion{To: 4}); return nil }, Contract{Tier: 4, SelfEdit: true}},
		{func() error { promote(t, k, Promotion{To: 5}); return nil }, Contract{Tier: 5, SelfEdit: true}},
		{func() error { _, err := k.Demote(t.Context(), 0, "no"); return err }, Contract{}},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		step.want.Owner, step.want.Channel = "ada", "cli"
		if d := cmp.Diff(step.want, contract(t, k)); d != "" {
			t.Error(d)
		}
	}
	for _, tier := range []Tier{0, 1, -1, 6} {
		if _, err := k.Demote(t.Context(), tier, "no"); err == nil {
			t.Errorf("from tier 0 to %d is no demotion", tier)
		}
	}
}

func TestEditedOwnerFileIsRefused(t *testing.T) {
	for name, edit := range map[string]func(*Owner){
		"a higher tier": func(o *Owner) { o.Tier = 5 },
		"a lower tier":  func(o *Owner) { o.Tier = 1 },
		"another owner": func(o *Owner) { o.Owner = "eve" },
		"self-edit":     func(o *Owner) { o.Tier, o.SelfEdit = 4, true },
		"a merge bar":   func(o *Owner) { o.Tier, o.MergeBar = 5, 60 },
		"a digest":      func(o *Owner) { o.Audit = digest("x") },
	} {
		k := owned(t, 2)
		data, err := os.ReadFile(k.OwnerFile())
		if err != nil {
			t.Fatal(err)
		}
		o, err := ParseOwner(data)
		if err != nil {
			t.Fatal(err)
		}
		edit(&o)
		write(t, k, o)
		c, err := k.Contract(t.Context())
		var refused *Error
		if !errors.As(err, &refused) || !strings.Contains(refused.Do, "runplan trust audit") || c.Owned() || c.Tier != 0 {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
		for what, err := range map[string]error{
			"promote":   second(k.Promote(t.Context(), Promotion{To: 5, Signed: Signed{o.Owner, "why"}})),
			"demote":    second(k.Demote(t.Context(), 0, "why")),
			"bootstrap": second(k.Bootstrap(t.Context(), "eve", "cli")),
			"agree":     k.Agree(t.Context(), GateDeploy, "a", Signed{o.Owner, "why"}),
		} {
			if !errors.As(err, &refused) {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }

func write(t *testing.T, k Keeper, o Owner) {
	t.Helper()
	data, err := o.Encode()
	if err == nil {
		err = os.WriteFile(k.OwnerFile(), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The owner can edit the channel and the bindings in the file, and promotions keep them.
func TestOwnerCanEditChannelAndBindings(t *testing.T) {
	k := owned(t, 3)
	data, err := os.ReadFile(k.OwnerFile())
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(strings.ReplaceAll(string(data), "'", `"`), `channel = "cli"`, `channel = "mail"`, 1) +
		"\n[[repo]]\nroot = \"/r\"\nmax_tier = 1\n"
	if err := os.WriteFile(k.OwnerFile(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	promote(t, k, Promotion{To: 5})
	c := contract(t, k)
	if c.Channel != "mail" || c.TierIn("/r") != 1 || c.TierIn("/s") != 5 {
		t.Errorf("%+v", c)
	}
}

// The audit decides, not the file: an old copy of the file, or a file that a killed process did not update, does not
// undo a demotion.
func TestOldOwnerFileKeepsDemotion(t *testing.T) {
	k := owned(t, 5)
	old, err := os.ReadFile(k.OwnerFile())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Demote(t.Context(), 1, "it merged too much"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(k.OwnerFile(), old, 0o600); err != nil {
		t.Fatal(err)
	}
	if c := contract(t, k); c.Tier != 1 || !c.Behind {
		t.Errorf("%+v", c)
	}
	promote(t, k, Promotion{To: 2})
	if c := contract(t, k); c.Tier != 2 || c.Behind {
		t.Errorf("%+v", c)
	}
}

// An audit that was replaced or removed does not contain the entry that the file names, and is refused.
func TestReplacedAuditIsRefused(t *testing.T) {
	k, other := owned(t, 1), owned(t, 1)
	promote(t, k, Promotion{To: 3})
	data, err := os.ReadFile(other.AuditFile())
	if err == nil {
		err = os.WriteFile(k.AuditFile(), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	var refused *Error
	if _, err := k.Contract(t.Context()); !errors.As(err, &refused) {
		t.Errorf("an audit that does not match: %v", err)
	}
	if err := os.Remove(k.AuditFile()); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Contract(t.Context()); !errors.As(err, &refused) {
		t.Errorf("no audit: %v", err)
	}
}

func TestAuditRecordsSignatureAndReason(t *testing.T) {
	k := owned(t, 2)
	k.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter2", "[redacted]") }
	if _, err := k.Demote(t.Context(), 0, "the key hunter2 leaked"); err != nil {
		t.Fatal(err)
	}
	if err := k.Agree(t.Context(), GateDeploy, "adapter a:v1", Signed{"eve", "why"}); err == nil {
		t.Error("eve may not")
	}
	if err := k.Agree(t.Context(), GateDeploy, "adapter a:v1", Signed{"ada", "it is better"}); err != nil {
		t.Fatal(err)
	}
	got, err := k.Entries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tier := func(n int) *int { return &n }
	want := []store.AuditEntry{
		{Action: "bootstrap", ToTier: tier(0), Owner: "ada", Reason: "the owner was named", Signature: "ada"},
		{Action: "promote", FromTier: tier(0), ToTier: tier(2), Owner: "ada", Reason: "it works", Signature: "ada"},
		{Action: "demote", FromTier: tier(2), ToTier: tier(0), Owner: "ada", Reason: "the key [redacted] leaked"},
		{Action: "adapter_deploy", Subject: "adapter a:v1", Owner: "ada", Reason: "it is better", Signature: "ada"},
	}
	for i := range got {
		if got[i].LoopVersion != 2 || got[i].At.IsZero() {
			t.Errorf("%+v", got[i])
		}
		got[i].ID, got[i].At, got[i].LoopVersion, got[i].Prev, got[i].Digest = 0, time.Time{}, 0, "", ""
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if c := contract(t, k); c.Tier != 0 || c.Behind {
		t.Errorf("a signature is no change of the contract: %+v", c)
	}
}

// If several processes change the contract at once, each change is based on the state that its writer read, and no
// reader gets an error about tampering.
func TestConcurrentContractChanges(t *testing.T) {
	k := owned(t, 0)
	at := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	k.Now = func() time.Time { return at }
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			for range 5 {
				var err error
				switch i {
				case 0, 1:
					_, err = k.Promote(t.Context(), Promotion{To: 3, Signed: Signed{"ada", "up"}})
				case 2, 3:
					_, err = k.Demote(t.Context(), 1, "down")
				default:
					var c Contract
					c, err = k.Contract(t.Context())
					if err == nil && (c.Owner != "ada" || c.Tier == 2) {
						t.Errorf("%+v", c)
					}
				}
				var refused *Error
				if err != nil && (!errors.As(err, &refused) || strings.Contains(err.Error(), "tampered") ||
					strings.Contains(err.Error(), "owner.toml")) {
					t.Errorf("%d: %v", i, err)
				}
			}
		})
	}
	wg.Wait()
	entries, err := k.Entries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range entries[1:] {
		if *e.FromTier != *entries[i].ToTier {
			t.Errorf("entry %d goes from tier %d, and it was at %d", e.ID, *e.FromTier, *entries[i].ToTier)
		}
	}
	if c := contract(t, k); int(c.Tier) != *entries[len(entries)-1].ToTier {
		t.Errorf("%+v", c)
	}
}

// If a process is killed, or its disk is full, after it wrote the audit entry and before it wrote the file, the audit
// entry counts.
func TestAuditOverridesUnwrittenOwnerFile(t *testing.T) {
	k := owned(t, 4)
	before, err := os.ReadFile(k.OwnerFile())
	if err != nil {
		t.Fatal(err)
	}
	// A folder that cannot be replaced is in the place of the file.
	if err := errors.Join(os.Remove(k.OwnerFile()), os.MkdirAll(filepath.Join(k.OwnerFile(), "x"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Demote(t.Context(), 0, "stop"); err == nil {
		t.Error("a folder was read as the owner's file")
	}
	if err := errors.Join(os.RemoveAll(k.OwnerFile()), os.WriteFile(k.OwnerFile(), before, 0o600)); err != nil {
		t.Fatal(err)
	}
	s, err := k.stand(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	four, three := 4, 3
	if _, err := k.append(t.Context(), s.last,
		store.AuditEntry{Action: demoted, FromTier: &four, ToTier: &three, Owner: "ada",
			Reason: "killed after this"}); err != nil {
		t.Fatal(err)
	}
	if c := contract(t, k); c.Tier != 3 || c.SelfEdit || !c.Behind {
		t.Errorf("%+v", c)
	}
}
