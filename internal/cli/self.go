package cli

import (
	"errors"
	"os"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/reap"
)

// TestscriptCommand is an internal command: runplan starts itself as the testscript engine, which runs under the limits
// of an attempt.
const TestscriptCommand = "__testscript"

// Self returns the path of this program, "" if the system does not know it.
func Self() string {
	self, _ := os.Executable() // without it no reaper starts, and then nothing else does
	return self
}

// StartReaper starts the process that ends the children of runplan if runplan is killed.
func StartReaper() (*proc.Reaper, error) {
	self := Self()
	if self == "" {
		return nil, errors.New("find the runplan executable: the system does not know its path")
	}
	return proc.StartReaper([]string{self, reap.Command})
}

// Closers are the ends of what was opened, in the order of opening.
type Closers []func()

// Add adds the end of what was opened last.
func (c *Closers) Add(end func()) { *c = append(*c, end) }

// Close ends all, the last one first.
func (c *Closers) Close() {
	for _, end := range slices.Backward(*c) {
		end()
	}
}

// CloseAfter ends all if there is an error. It is for defer.
func (c *Closers) CloseAfter(err *error) {
	if *err != nil {
		c.Close()
	}
}

// Set by the linker for a release (make dist); empty in other builds.
var releaseVersion, releaseCommit, ReleaseDate string

// VersionInfo holds the output of version --json.
type VersionInfo struct {
	Version string     `json:"version"`
	Commit  string     `json:"commit,omitempty"`
	Date    string     `json:"date,omitempty"` // of the commit, RFC 3339
	Go      string     `json:"go"`
	System  string     `json:"system"` // GOOS/GOARCH
	Others  []Neighbor `json:"beside,omitempty"`
}

// String returns the version with the commit and its day, if known.
func (v VersionInfo) String() string {
	commit, day := v.Commit[:min(12, len(v.Commit))], v.Date[:min(10, len(v.Date))]
	if commit == "" || day == "" {
		return v.Version
	}
	return v.Version + " (" + commit + ", " + day + ")"
}

// Neighbor is a program that runplan starts.
type Neighbor struct {
	Name    string `json:"name"`
	State   string `json:"state"` // ok, old, missing or error
	Version string `json:"version,omitempty"`
	Advice  string `json:"advice,omitempty"`
}

// Version returns the version of the release, else that of the build info.
func Version() string { return BuildVersion().Version }

// BuildVersion returns the version, from the release or from the build information of Go.
func BuildVersion() VersionInfo {
	out := VersionInfo{Version: "devel", Commit: releaseCommit, Date: ReleaseDate, Go: runtime.Version(),
		System: runtime.GOOS + "/" + runtime.GOARCH}
	if releaseVersion != "" {
		out.Version = releaseVersion
		return out
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return out
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		out.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			out.Commit = s.Value
		case "vcs.time":
			out.Date = s.Value
		}
	}
	return out
}
