package trust

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/store"
)

// Keeper stores the contract of a user in a folder: owner.toml for people, and the audit, which is authoritative. The
// file must match the audit at the time of its last change.
type Keeper struct {
	Dir         string
	LoopVersion int // recorded with each decision
	Now         func() time.Time
	Redact      func(string) string // removes secrets from reasons before they are stored
}

// OwnerFile returns the path of owner.toml.
func (k Keeper) OwnerFile() string { return filepath.Join(k.Dir, "owner.toml") }

// AuditFile returns the path of the audit.
func (k Keeper) AuditFile() string { return filepath.Join(k.Dir, "audit.sqlite") }

// Audit actions that change the contract.
const (
	bootstrapped = "bootstrap"
	promoted     = "promote"
	demoted      = "demote"
)

// standing is a contract with its position in the audit.
type standing struct {
	Contract
	last string // digest of the last entry; "" for none
}

// Contract reads the owner's decisions. Without an owner it returns the zero contract. If file and audit disagree,
// one of them was tampered with, and it returns an [*Error].
func (k Keeper) Contract(ctx context.Context) (Contract, error) {
	s, err := k.stand(ctx)
	return s.Contract, err
}

func (k Keeper) stand(ctx context.Context) (standing, error) {
	// Writers write the audit first, so read it last. Then it contains the entry that the file names, even with
	// concurrent writers.
	data, missing := os.ReadFile(k.OwnerFile())
	entries, err := k.Entries(ctx)
	if err != nil {
		return standing{}, err
	}
	s := standing{}
	if n := len(entries); n > 0 {
		s.last = entries[n-1].Digest
	}
	if errors.Is(missing, fs.ErrNotExist) {
		return s, nil
	}
	if missing != nil {
		return s, fmt.Errorf("read who the owner is: %w", missing)
	}
	o, err := ParseOwner(data)
	if err != nil {
		return s, k.tampered("cannot be read: " + err.Error())
	}
	said := false
	for _, e := range entries {
		if e.ToTier == nil {
			continue
		}
		// The last change of the contract counts. If the file matches an earlier change, a process was killed before
		// it rewrote the file.
		s.Contract = Contract{Owner: e.Owner, Channel: o.Channel, Tier: Tier(*e.ToTier), SelfEdit: e.SelfEdit,
			MergeBar: e.AutoMergePct, Repos: o.Repos, Behind: said}
		if e.Digest != o.Audit {
			continue
		}
		said = true
		if o.Owner != s.Owner || o.Tier != s.Tier || o.SelfEdit != s.SelfEdit || o.MergeBar != s.MergeBar {
			return standing{last: s.last},
				k.tampered(fmt.Sprintf("was changed by hand: it says owner %q, tier %d, self_edit %v, auto_merge_confidence_pct "+
					"%d; the audit says %q, %d, %v, %d", o.Owner, o.Tier, o.SelfEdit, o.MergeBar, s.Owner, s.Tier, s.SelfEdit,
					s.MergeBar))
		}
	}
	if !said {
		return standing{last: s.last}, k.tampered("names an entry that the audit does not have")
	}
	return s, nil
}

func (k Keeper) tampered(why string) error {
	return &Error{k.OwnerFile() + " " + why, fmt.Sprintf("compare it with runplan trust audit; restore your changes, or "+
		"move the file away and bootstrap again, at tier %d: runplan trust --bootstrap --owner NAME --channel WHERE",
		Lowest)}
}

// Bootstrap sets the owner at the lowest tier. For the same owner and channel it changes nothing and returns false. It
// refuses another owner.
func (k Keeper) Bootstrap(ctx context.Context, owner, channel string) (bool, error) {
	s, err := k.stand(ctx)
	if err != nil {
		return false, err
	}
	if s.Owned() {
		if s.Owner == owner && s.Channel == channel {
			return false, nil
		}
		return false, &Error{fmt.Sprintf("it has an owner already: %s, at tier %d", s.Owner, s.Tier),
			fmt.Sprintf("another channel: edit channel in %s; another owner: move that file away first, and trust starts "+
				"again at tier %d", k.OwnerFile(), Lowest)}
	}
	c := Contract{Owner: owner, Channel: channel}
	if err := c.file(strings.Repeat("0", 64)).check(); err != nil {
		return false, &Error{err.Error(), "give a short name that can be typed again"}
	}
	e := store.AuditEntry{Action: bootstrapped, Reason: "the owner was named", Signature: owner}
	return true, k.change(ctx, s, c, e)
}

// Promotion is a signed request for a higher tier.
type Promotion struct {
	To       Tier
	SelfEdit bool // with the highest tiers: opt in to edit_self; naming its tier also opts in
	MergeBar int  // with the highest tier: least review confidence for a merge; 0: unchanged
	Signed
}

// Promote raises the tier (TRUST-04). A refused request changes nothing.
func (k Keeper) Promote(ctx context.Context, p Promotion) (Contract, error) {
	s, err := k.stand(ctx)
	if err != nil {
		return Contract{}, err
	}
	to := s.Contract
	to.Tier, to.Behind = p.To, false
	self, _ := ruleOf(EditSelf)
	to.SelfEdit = to.SelfEdit || p.SelfEdit || p.To == self.Tier
	if p.MergeBar != 0 {
		to.MergeBar = p.MergeBar
	}
	if err := s.HumanGate(GatePromotion, p.Signed); err != nil {
		return Contract{}, err
	}
	if p.To.Valid() && p.To < s.Tier {
		return Contract{}, &Error{fmt.Sprintf("tier %d is below the present tier %d", p.To, s.Tier),
			fmt.Sprintf("runplan demote --to-tier %d --reason WHY", p.To)}
	}
	if err := to.file(strings.Repeat("0", 64)).check(); err != nil {
		return Contract{}, &Error{err.Error(), "runplan trust lists the tiers; see runplan promote --help"}
	}
	if p.To == s.Tier && to.SelfEdit == s.SelfEdit && to.MergeBar == s.MergeBar {
		return Contract{}, &Error{fmt.Sprintf("it is already at tier %d with all requested options", s.Tier),
			"nothing was changed"}
	}
	return to, k.change(ctx, s, to, store.AuditEntry{Action: promoted, Reason: p.Reason, Signature: p.Name})
}

// Demote lowers the tier at once. Anyone may call it, because less trust needs no signature (TRUST-05). It also
// removes the owner's opt-ins.
func (k Keeper) Demote(ctx context.Context, tier Tier, reason string) (Contract, error) {
	s, err := k.stand(ctx)
	switch {
	case err != nil:
		return Contract{}, err
	case !s.Owned():
		return Contract{}, &Error{fmt.Sprintf("there is no owner, so it is at tier %d", Lowest), bootstrapNow}
	case !tier.Valid() || tier >= s.Tier:
		return Contract{}, &Error{fmt.Sprintf("tier %d is not below the present tier %d", tier, s.Tier),
			"nothing was changed; runplan trust lists the tiers"}
	}
	if err := checkReason(reason); err != nil {
		return Contract{}, err
	}
	to := s.Contract
	to.Tier, to.Behind = tier, false
	to.SelfEdit = to.SelfEdit && Allows(tier, EditSelf)
	to.MergeBar = 0 // only the highest tier has a merge bar
	return to, k.change(ctx, s, to, store.AuditEntry{Action: demoted, Reason: reason})
}

// Agree passes a human gate and records the subject, the signature and the reason.
func (k Keeper) Agree(ctx context.Context, g Gate, subject string, by Signed) error {
	s, err := k.stand(ctx)
	if err != nil {
		return err
	}
	if err := s.HumanGate(g, by); err != nil {
		return err
	}
	e := store.AuditEntry{Action: string(g), Subject: k.Redact(subject), Owner: s.Owner, SelfEdit: s.SelfEdit,
		AutoMergePct: s.MergeBar, Reason: by.Reason, Signature: by.Name}
	_, err = k.append(ctx, s.last, e)
	return err
}

// change writes a contract: first the audit, which is authoritative, then the file.
func (k Keeper) change(ctx context.Context, from standing, to Contract, e store.AuditEntry) error {
	before, after := int(from.Tier), int(to.Tier)
	e.FromTier, e.ToTier, e.Owner, e.SelfEdit, e.AutoMergePct = &before, &after, to.Owner, to.SelfEdit, to.MergeBar
	if e.Action == bootstrapped {
		e.FromTier = nil
	}
	e, err := k.append(ctx, from.last, e)
	if err != nil {
		return err
	}
	data, err := to.file(e.Digest).Encode()
	if err == nil {
		err = errors.Join(atomicfile.Sweep(k.OwnerFile()), atomicfile.Write(k.OwnerFile(), data, 0o600))
	}
	if err != nil {
		return fmt.Errorf("the audit has the decision, but owner.toml could not be written: %w", err)
	}
	return nil
}

func (c Contract) file(digest string) Owner {
	return Owner{c.Owner, c.Channel, c.Tier, c.SelfEdit, c.MergeBar, digest, c.Repos}
}

func (k Keeper) append(ctx context.Context, after string, e store.AuditEntry) (store.AuditEntry, error) {
	a, err := store.OpenAudit(ctx, k.AuditFile())
	if err != nil {
		return e, err
	}
	defer a.Close()
	e.At, e.LoopVersion, e.Reason = k.Now(), k.LoopVersion, k.Redact(e.Reason)
	e, err = a.Append(ctx, after, e)
	if errors.Is(err, store.ErrMoved) {
		return e, &Error{"another process changed the contract meanwhile; this command changed nothing",
			"check runplan trust, and repeat the command if it is still needed"}
	}
	return e, err
}

// Entries reads the audit and verifies its chain. A missing audit has no entries.
func (k Keeper) Entries(ctx context.Context) ([]store.AuditEntry, error) {
	a, err := store.ReadAudit(ctx, k.AuditFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer a.Close()
	all, err := a.Verify(ctx)
	if broken, ok := errors.AsType[*store.ChainError](err); ok {
		return all, &Error{k.AuditFile() + ": " + broken.Error(), fmt.Sprintf("restore an earlier copy, or move it and "+
			"owner.toml away and start again at tier %d: runplan trust --bootstrap --owner NAME --channel WHERE", Lowest)}
	}
	return all, err
}

const maxReason = 4000

func checkReason(reason string) error {
	switch n := utf8.RuneCountInString(reason); {
	case strings.TrimSpace(reason) == "":
		return &Error{"a decision about trust needs a reason", "give a reason with --reason; nothing was changed"}
	case n > maxReason:
		return &Error{fmt.Sprintf("the reason has %d characters, and a reason may have %d", n, maxReason),
			"shorten the reason; nothing was changed"}
	}
	return nil
}
