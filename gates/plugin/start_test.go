//go:build unix

package plugin

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/tools/tooltest"
)

// A plugin that cannot start causes a clear error of its gate, within the time limit and with the output of the
// plugin.
func TestStartFails(t *testing.T) {
	tooltest.Slow(t)
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("not a program"), 0o644); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("not a program"), 0o755); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/no/such/interpreter\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		mode   string
		change func(*Config)
		is     error
		want   []string // parts of the error
	}{
		"exits": {mode: "exit at start", is: ErrExited,
			want: []string{"it exited with status 3 before it had described itself", "no database: set DB_URL"}},
		"panics": {mode: "panic at start", is: ErrExited,
			want: []string{"exited with status 2", "panic: the cupboard is bare"}},
		"hangs": {mode: "hang at start", change: hasty, is: gates.ErrTimeLimit,
			want: []string{"time limit 300ms reached", "waiting for the moon"}},
		"hangs in Info": {mode: "hang in Info", change: hasty, is: gates.ErrTimeLimit,
			want: []string{"time limit 300ms reached"}},
		"closes stdout": {mode: "no handshake, stdout closed", change: hasty, is: gates.ErrTimeLimit},
		"noise":         {mode: "noise", want: []string{`begins with "Welcome to my gate!" instead of the handshake line`}},
		"endless noise": {mode: "noise without end", want: []string{`begins with "xxx`}},
		"newer": {mode: "version 2", is: ErrVersion,
			want: []string{"it speaks version 2, this runplan version 1; update runplan"}},
		"older": {mode: "version 0", is: ErrVersion,
			want: []string{"it speaks version 0, this runplan version 1; update the plugin"}},
		"other core":    {mode: "core 2", is: ErrVersion, want: []string{"core version 2"}},
		"net/rpc":       {mode: "net/rpc", want: []string{"is not grpc"}},
		"far away":      {mode: "far away", want: []string{`"192.0.2.1:80"`, "on this machine"}},
		"no socket":     {mode: "nobody listens", want: []string{"no such file"}},
		"silent socket": {mode: "listens and says nothing", change: hasty, is: gates.ErrTimeLimit},
		"no service":    {mode: "no such service", want: []string{"does not serve Info", "gate.proto"}},
		"garbage":       {mode: "garbage for an answer", want: []string{"unreadable answer to Info"}},
		"wrong settings": {change: func(c *Config) { c.Settings = map[string]any{"word": "wrong"} },
			want: []string{"settings: word is wrong; it may be right"}},
		"missing": {change: func(c *Config) { c.Command = []string{"./no-such-file"} }, is: proc.ErrNotFound,
			want: []string{"not found; build or install", "no-such-file"}},
		"missing in PATH": {change: func(c *Config) { c.Command = []string{"no-such-gate"} }, is: proc.ErrNotFound,
			want: []string{"install no-such-gate"}},
		"a folder": {change: func(c *Config) { c.Command = []string{"/"} }, is: proc.ErrNotFound,
			want: []string{"/ is a folder"}},
		"not executable": {change: func(c *Config) { c.Command = []string{plain} }, is: proc.ErrNotFound,
			want: []string{"is not executable", "chmod +x"}},
		"not a program": {change: func(c *Config) { c.Command = []string{text} },
			want: []string{"neither a program for this machine nor a script"}},
		"no interpreter": {change: func(c *Config) { c.Command = []string{script} }, is: proc.ErrNotFound,
			want: []string{"the interpreter in the first line"}},
		"no folder": {change: func(c *Config) { c.Dir = "/no/such/folder" },
			want: []string{"working directory /no/such/folder cannot be entered"}},
		"wrong checksum": {change: func(c *Config) { c.Path, c.SHA256 = plain, strings.Repeat("ab", 32) }, is: ErrChecksum,
			want: []string{"has the SHA-256 ", "the configuration has abab"}},
		"no checksum":    {change: func(c *Config) { c.Path, c.SHA256 = plain, "abc" }, want: []string{"64 digits"}},
		"sum of nothing": {change: func(c *Config) { c.SHA256 = strings.Repeat("ab", 32) }, want: []string{"no path"}},
		"nothing to run": {change: func(c *Config) { c.Command = nil }, want: []string{"neither a path nor a command"}},
		"no name":        {change: func(c *Config) { c.Name = "" }, want: []string{"no name"}},
		"ugly name":      {change: func(c *Config) { c.Name = "a\nb" }, want: []string{"one line"}},
	} {
		t.Run(name, func(t *testing.T) {
			config := stage(t, c.mode)
			if c.change != nil {
				c.change(&config)
			}
			p, err := Open(t.Context(), config)
			if err == nil {
				_ = p.Close()
				t.Fatal("Open accepts the configuration")
			}
			blames(t, err, config.Name, c.is, c.want...)
		})
	}
}

func hasty(c *Config) { c.StartTimeout, c.CallTimeout = 300*time.Millisecond, 300*time.Millisecond }

// blames checks that err is an error of the gate, of the right kind and with the wanted text.
func blames(t *testing.T, err error, gate string, is error, want ...string) {
	t.Helper()
	t.Log(err)
	var ge *gates.GateError
	if !errors.As(err, &ge) || ge.Gate != gate || !strings.HasPrefix(err.Error(), "gate "+gate+" could not run: ") {
		t.Errorf("it is not the error of the gate: %v", err)
	}
	if is != nil && !errors.Is(err, is) {
		t.Errorf("it is not %q: %v", is, err)
	}
	for _, part := range want {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is missing in: %v", part, err)
		}
	}
}
