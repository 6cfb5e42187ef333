package plugin

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/checksum"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/redact"
)

// Config selects a plugin and how to start it.
type Config struct {
	Name string // of the gate, in reports and in the configuration

	// Path is the file of the plugin. If it is not a program itself, Command starts it: {"node", "gate.js"}. Without a
	// Command, Path is the program. A bare name is looked up in PATH; other relative paths are relative to Dir.
	Path    string
	Command []string

	Settings map[string]any // for the plugin, which rejects unknown ones
	SHA256   string         // hex, of the file at Path; a plugin with another content is not started
	Env      []string       // names of additional variables that it gets; a star at the end matches any suffix
	Dir      string         // working directory; "" is the current one
	Blocking *bool          // nil lets the plugin decide whether its failures block

	StartTimeout time.Duration // 0 is [DefaultStartTimeout]
	CallTimeout  time.Duration // 0 is the subject's limit, and without one [gates.DefaultTimeout]
	MaxAnswer    int           // bytes of one answer; 0 is [DefaultMaxAnswer]
	LogFile      string        // gets all that the plugin prints; "" is none. Appended to, up to 64 MiB

	Environ []string            // the environment to choose from, KEY=VALUE; nil is this process's
	Redact  func(string) string // removes secrets from the log and from errors; it gets whole lines
	Reaper  *proc.Reaper        // ends the plugin if this process is killed; nil is none
}

// The defaults of a [Config].
const (
	DefaultStartTimeout = 5 * time.Second
	DefaultMaxAnswer    = 4 << 20
)

// ErrChecksum reports that the file of a plugin does not have the configured checksum.
var ErrChecksum = errors.New("wrong checksum")

// checked returns c with its defaults, or its first error.
func (c Config) checked() (Config, error) {
	switch {
	case c.Name == "":
		return c, errors.New("it has no name: set one in the configuration")
	case strings.TrimSpace(c.Name) != c.Name || strings.ContainsAny(c.Name, "\n\t") || redact.Clean(c.Name) != c.Name:
		return c, fmt.Errorf("its name %q does not fit on one line: use a plain name", c.Name)
	case c.Path == "" && (len(c.Command) == 0 || c.Command[0] == ""):
		return c, errors.New("it has neither a path nor a command: set one")
	case c.SHA256 != "" && c.Path == "":
		return c, errors.New("it has a checksum, but no path")
	case c.StartTimeout < 0 || c.CallTimeout < 0 || c.MaxAnswer < 0:
		return c, errors.New("a limit is negative: omit it to use the default")
	}
	if sum, err := hex.DecodeString(c.SHA256); err != nil || len(sum) != sha256.Size && len(sum) != 0 {
		return c, fmt.Errorf("its checksum %q is not a SHA-256 in hex: it needs 64 digits, as sha256sum prints them",
			phrase.Fit(c.SHA256, 80))
	}
	c.StartTimeout = cmp.Or(c.StartTimeout, DefaultStartTimeout)
	c.MaxAnswer = cmp.Or(c.MaxAnswer, DefaultMaxAnswer)
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	return c, nil
}

// commandLine returns the started command in readable form.
func (c Config) commandLine() string {
	args := c.Command
	if len(args) == 0 {
		args = []string{c.Path}
	}
	return line(strings.Join(args, " "), maxRule)
}

// program finds the file to start and its arguments, and verifies the checksum. It runs before each start, because
// the file may have changed.
func (c Config) program(env []string) (string, []string, error) {
	if c.Path != "" {
		file, err := c.locate(c.Path, env, len(c.Command) == 0)
		if err != nil {
			return "", nil, err
		}
		if err := c.verify(file); err != nil {
			return "", nil, err
		}
		if len(c.Command) == 0 {
			return file, nil, nil
		}
	}
	file, err := c.locate(c.Command[0], env, true)
	return file, c.Command[1:], err
}

// locate finds a file, or explains why it cannot be used.
func (c Config) locate(name string, env []string, run bool) (string, error) {
	file := filepath.FromSlash(name)
	switch {
	case run && !strings.ContainsRune(file, filepath.Separator):
		found, err := proc.LookPath(file, env)
		if err != nil {
			return "", err
		}
		file = found
	case !filepath.IsAbs(file):
		abs, err := filepath.Abs(filepath.Join(c.Dir, file))
		if err != nil {
			return "", err
		}
		file = abs
	}
	fi, err := os.Stat(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("%w: file %s not found; build or install the plugin, or correct its path", proc.ErrNotFound,
			file)
	case err != nil:
		return "", err
	case fi.IsDir():
		return "", fmt.Errorf("%w: %s is a folder; give the path of a program", proc.ErrNotFound, file)
	case run && runtime.GOOS != "windows" && fi.Mode()&0o111 == 0:
		return "", fmt.Errorf("%w: %s is not executable; try chmod +x %s, or set a command that starts it",
			proc.ErrNotFound, file, file)
	}
	return file, nil
}

func (c Config) verify(file string) error {
	if c.SHA256 == "" {
		return nil
	}
	sum, err := atomicfile.Sum(file)
	if err != nil {
		return fmt.Errorf("compute its checksum: %w", err)
	}
	if strings.EqualFold(sum, c.SHA256) {
		return nil
	}
	return fmt.Errorf(
		"%w: %s has the SHA-256 %s, but the configuration has %s; if the change is intended, update the configuration",
		ErrChecksum, file, sum, strings.ToLower(c.SHA256))
}

func (c Config) digest(version string) (string, error) {
	env := environment(c.Environ, c.Env)
	file, args, err := c.program(env)
	if err != nil {
		return "", err
	}
	if c.Path != "" { // the plugin matters, not its interpreter
		if file, err = c.locate(c.Path, env, len(c.Command) == 0); err != nil {
			return "", err
		}
	}
	sum, err := atomicfile.Sum(file)
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(map[string]any{
		"file": sum, "program": c.Command, "args": args, "settings": c.Settings, "version": version, "dir": c.Dir,
	})
	return checksum.SHA256(data), err
}
