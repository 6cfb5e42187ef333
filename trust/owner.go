// Package trust decides which actions need no confirmation.
//
// A tier from 0 to 5 defines what runplan may do on its own ([Table]). The owner of this user's runplan raises and
// lowers it. [Keeper] stores the contract in owner.toml and each change of it in an audit, and rejects both if they
// disagree. Some actions are never automatic in any tier ([Gates]).
//
// [Pins] controls what a repository's configuration can execute. A repository is not trusted until its user has checked
// it. So the programs in its configuration are pinned by digest for each repository, in the user's own folder. Any
// change needs a new confirmation.
package trust

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/redact"
)

// Owner is the contents of owner.toml (TRUST-07): the owner of this user's runplan and the granted trust.
type Owner struct {
	Owner    string `toml:"owner"`   // signs promotions
	Channel  string `toml:"channel"` // contact of the owner
	Tier     Tier   `toml:"tier"`
	SelfEdit bool   `toml:"self_edit"`                 // opted in to edit_self
	MergeBar int    `toml:"auto_merge_confidence_pct"` // least review confidence to merge unsigned; 0: never
	Audit    string `toml:"audit"`                     // digest of the matching audit entry

	Repos []RepoBinding `toml:"repo,omitempty"`
}

// RepoBinding limits the tier in one repository. It can only lower it.
type RepoBinding struct {
	Root    string `toml:"root" json:"root"` // absolute path
	MaxTier Tier   `toml:"max_tier" json:"max_tier"`
}

const ownerHeader = `# The owner of this runplan, and its trust tier. Written by: runplan trust --bootstrap, promote, demote.
# channel and [[repo]] are yours to edit. Everything else is compared with the audit: a change by hand is refused.
# [[repo]] limits the tier in one repository:  root = "/absolute/path"  max_tier = 1

`

const maxOwner = 256 << 10

// Encode encodes the file.
func (o Owner) Encode() ([]byte, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(ownerHeader)
	if err := toml.NewEncoder(&b).Encode(o); err != nil {
		return nil, fmt.Errorf("write owner.toml: %w", err)
	}
	return b.Bytes(), nil
}

// ParseOwner parses the file. An unknown key is an error, because a misspelt key would remove a restriction.
func ParseOwner(data []byte) (Owner, error) {
	var o Owner
	if len(data) > maxOwner {
		return o, fmt.Errorf("it has %d bytes, which is too large for an owner's file", len(data))
	}
	if !utf8.Valid(data) {
		return o, errors.New("it is not UTF-8")
	}
	dec := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	err := dec.Decode(&o)
	var strict *toml.StrictMissingError
	var de *toml.DecodeError
	switch {
	case errors.As(err, &strict):
		line, _ := strict.Errors[0].Position()
		return o, fmt.Errorf("line %d: unknown key %q", line, strings.Join(strict.Errors[0].Key(), "."))
	case errors.As(err, &de):
		line, col := de.Position()
		return o, fmt.Errorf("line %d:%d: %s", line, col, de.Error())
	case err != nil && !errors.Is(err, io.EOF):
		return o, err
	}
	return o, o.check()
}

// minConfidence is the lowest threshold that an owner may set: with less confidence, a review blocks anyway (REV-04).
const minConfidence = 60

func (o Owner) check() error {
	for _, f := range []struct{ key, value string }{{"owner", o.Owner}, {"channel", o.Channel}} {
		if err := checkName(f.value); err != nil {
			return fmt.Errorf("%s: %w", f.key, err)
		}
	}
	switch {
	case !o.Tier.Valid():
		return fmt.Errorf("tier %d: use a tier from %d to %d", o.Tier, Lowest, Highest)
	case o.MergeBar != 0 && (o.MergeBar < minConfidence || o.MergeBar > 100):
		return fmt.Errorf("auto_merge_confidence_pct %d: it is 0 for never, or from %d to 100", o.MergeBar, minConfidence)
	case o.SelfEdit && !Allows(o.Tier, EditSelf):
		return fmt.Errorf("self_edit: tier %d does not allow it", o.Tier)
	case o.MergeBar != 0 && !Allows(o.Tier, Merge):
		return fmt.Errorf("auto_merge_confidence_pct: tier %d does not allow it", o.Tier)
	case len(o.Audit) != 64 || strings.Trim(o.Audit, "0123456789abcdef") != "":
		return errors.New("audit: it is not a digest of 64 hexadecimal digits")
	}
	for i, r := range o.Repos {
		switch {
		case !filepath.IsAbs(r.Root) || filepath.Clean(r.Root) != r.Root || strings.ContainsFunc(r.Root, unicode.IsControl):
			return fmt.Errorf("repo %d: root %q is not an absolute, clean path", i+1, r.Root)
		case !r.MaxTier.Valid():
			return fmt.Errorf("repo %d: max_tier %d: use a tier from %d to %d", i+1, r.MaxTier, Lowest, Highest)
		case slices.ContainsFunc(o.Repos[:i], func(other RepoBinding) bool { return other.Root == r.Root }):
			return fmt.Errorf("repo %d: %s is repeated", i+1, r.Root)
		}
	}
	return nil
}

// maxName is the highest length of the name of an owner or a channel.
const maxName = 100

// checkName checks that people can read a name and type it again.
func checkName(s string) error {
	switch {
	case strings.TrimSpace(s) == "":
		return errors.New("it is empty")
	case !utf8.ValidString(s), utf8.RuneCountInString(s) > maxName:
		return fmt.Errorf("it has more than %d characters, or is not UTF-8", maxName)
	case strings.TrimSpace(s) != s,
		strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsGraphic(r) || redact.Unseen(r) }):
		return fmt.Errorf("%q has spaces around it, or invisible characters", s)
	}
	return nil
}

// Executable is a command that a configuration can run.
type Executable struct {
	Where string `json:"where"` // "agent claude", "gate build", "setup of the workspace"
	What  string `json:"what"`  // the command, as it would run
}

// Digest returns the hex SHA-256 of a list of executables. The order matters, because gates run in order.
func Digest(list []Executable) string {
	sum := sha256.New()
	for _, e := range list {
		fmt.Fprintf(sum, "%d:%s%d:%s", len(e.Where), e.Where, len(e.What), e.What)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// minPrefix is the least length of an abbreviated digest.
const minPrefix = 12

// Names reports whether given is digest or an allowed prefix of it.
func Names(given, digest string) bool {
	return len(given) >= minPrefix && strings.HasPrefix(digest, strings.ToLower(given))
}

// Pins stores the trusted configurations in a file of the user.
type Pins struct{ Path string }

type pin struct {
	Digest string    `json:"digest"`
	At     time.Time `json:"at"`
}

// ErrDamaged reports that the file of pins cannot be read. The file is left unchanged.
var ErrDamaged = errors.New("the list of trusted configurations is damaged")

func (p Pins) read() (map[string]pin, error) {
	pins := map[string]pin{}
	data, err := os.ReadFile(p.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return pins, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the trusted configurations: %w", err)
	}
	if err := json.Unmarshal(data, &pins); err != nil {
		return nil, fmt.Errorf("%w: %s: %v; check it, or remove it to be asked again", ErrDamaged, p.Path, err)
	}
	return pins, nil
}

// Trusted reports whether the configuration with this digest is trusted for the repository at root, and whether a
// different one was.
func (p Pins) Trusted(root, digest string) (now, before bool, err error) {
	pins, err := p.read()
	if err != nil {
		return false, false, err
	}
	had, ok := pins[root]
	return ok && had.Digest == digest, ok, nil
}

// Trust pins a configuration for the repository at root and replaces the previous one.
func (p Pins) Trust(root, digest string, at time.Time) error {
	pins, err := p.read()
	if err != nil {
		return err
	}
	pins[root] = pin{digest, at.UTC()}
	if err := os.MkdirAll(filepath.Dir(p.Path), 0o700); err != nil {
		return fmt.Errorf("store the trusted configurations: %w", err)
	}
	if err := errors.Join(atomicfile.Sweep(p.Path), atomicfile.WriteJSON(p.Path, pins, 0o600)); err != nil {
		return fmt.Errorf("store the trusted configurations: %w", err)
	}
	return nil
}
