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
