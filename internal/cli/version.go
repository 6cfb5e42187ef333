package cli

import (
	"runtime"
	"runtime/debug"
)

// Set by the linker for a release (make dist); empty in other builds.
var releaseVersion, releaseCommit, ReleaseDate string

// VersionInfo holds the output of version --json.
type VersionInfo struct {
	Version string     `json:"version"`
	Commit  string     `json:"commit,omitempty"`
	Date    string     `json:"date,omitempty"` // of the commit, RFC 3339
	Go      string     `json:"go"`
	System  string     `json:"system"` // GOOS/GOARCH
	Beside  []Neighbor `json:"beside,omitempty"`
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
