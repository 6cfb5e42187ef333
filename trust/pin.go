// Package trust decides what may be done without asking.
//
// A tier from 0 to 5 says what runplan may do by itself ([Table]). The owner of this user's runplan raises and lowers
// it: [Keeper] keeps the contract in owner.toml and each change of it in an audit, and believes neither where they
// disagree. Some things are never automatic, whatever the tier ([Gates]).
//
// What a repository's configuration can execute is a question of its own ([Pins]). A repository is somebody else's
// text until its user has looked at it. So what its configuration would run is pinned by its digest, for each
// repository, in the user's own folder; any change asks again.
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

// Executable is one thing that a configuration can run.
type Executable struct {
	Where string `json:"where"` // "agent claude", "gate build", "setup of the workspace"
	What  string `json:"what"`  // the command, as it would run
}

// Digest identifies a list of executables: hex SHA-256. The order counts, because gates run in order.
func Digest(list []Executable) string {
	sum := sha256.New()
	for _, e := range list {
		fmt.Fprintf(sum, "%d:%s%d:%s", len(e.Where), e.Where, len(e.What), e.What)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// minPrefix is how much of a digest has to be given for it to name one.
const minPrefix = 12

// Names reports whether given, a digest or the beginning of one, names digest.
func Names(given, digest string) bool {
	return len(given) >= minPrefix && strings.HasPrefix(digest, strings.ToLower(given))
}

// Pins remembers what the user trusted, in a file of the user's.
type Pins struct{ Path string }

type pin struct {
	Digest string    `json:"digest"`
	At     time.Time `json:"at"`
}

// ErrDamaged says that the file of pins cannot be read. It is kept as it is.
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
		return nil, fmt.Errorf("%w: %s: %v; look at it, or remove it to be asked again", ErrDamaged, p.Path, err)
	}
	return pins, nil
}

// Trusted reports whether the configuration with this digest is trusted for the repository at root, and
// whether another one was.
func (p Pins) Trusted(root, digest string) (now, before bool, err error) {
	pins, err := p.read()
	if err != nil {
		return false, false, err
	}
	had, ok := pins[root]
	return ok && had.Digest == digest, ok, nil
}

// Trust pins a configuration for the repository at root, in place of the one before.
func (p Pins) Trust(root, digest string, at time.Time) error {
	pins, err := p.read()
	if err != nil {
		return err
	}
	pins[root] = pin{digest, at.UTC()}
	data, err := json.MarshalIndent(pins, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(p.Path), 0o700); err != nil {
		return fmt.Errorf("remember what is trusted: %w", err)
	}
	if err := errors.Join(atomicfile.Sweep(p.Path), atomicfile.Write(p.Path, append(data, '\n'), 0o600)); err != nil {
		return fmt.Errorf("remember what is trusted: %w", err)
	}
	return nil
}
