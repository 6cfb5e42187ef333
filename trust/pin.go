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
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/atomicfile"
)

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
