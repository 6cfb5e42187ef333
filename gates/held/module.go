package held

import (
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"github.com/runplan/runplan/internal/lists"
)

// mergeModule restores the base's replacements in the candidate's go.mod. It removes a new replacement by a folder if
// the base may use that module.
func mergeModule(before, after string) (string, bool) {
	was, err := modfile.Parse("go.mod", []byte(before), nil)
	if err != nil || before == "" {
		return after, false
	}
	is, err := modfile.Parse("go.mod", []byte(after), nil)
	if err != nil {
		return before, true
	}
	// Since Go 1.17, go.mod lists all modules of a build, so the base cannot use a module that its go.mod does not
	// name.
	complete := was.Go != nil && semver.Compare("v"+was.Go.Version, "v1.17") >= 0
	old := lists.By(was.Replace, func(r *modfile.Replace) string { return r.Old.String() })
	changed := false
	for _, r := range is.Replace {
		o, had := old[r.Old.String()]
		switch {
		case had && o.New == r.New:
			delete(old, r.Old.String())
		case !had && (r.New.Version != "" || complete && !requires(was, r.Old.Path)):
		default:
			_ = is.DropReplace(r.Old.Path, r.Old.Version) // it was just read
			changed = true
		}
	}
	for _, r := range was.Replace { // the rest of old was changed or removed
		if old[r.Old.String()] == nil || !requires(is, r.Old.Path) {
			continue
		}
		changed = is.AddReplace(r.Old.Path, r.Old.Version, r.New.Path, r.New.Version) == nil || changed
	}
	if !changed {
		return after, false
	}
	is.Cleanup()
	text, err := is.Format()
	if err != nil {
		return before, true
	}
	return string(text), true
}

func requires(f *modfile.File, module string) bool {
	return slices.ContainsFunc(f.Require, func(r *modfile.Require) bool { return r.Mod.Path == module })
}

// replacedFolders returns the folders, relative to the repository, that only the base's go.mod in dir names as
// replacements of modules.
func replacedFolders(dir string, before, after []byte) []string {
	was, err := modfile.Parse("go.mod", before, nil)
	if err != nil {
		return nil
	}
	kept := map[string]bool{}
	if is, err := modfile.Parse("go.mod", after, nil); err == nil {
		for _, r := range is.Replace {
			kept[r.Old.String()+" "+r.New.Path] = true
		}
	}
	var out []string
	for _, r := range was.Replace {
		if r.New.Version == "" && strings.HasPrefix(r.New.Path, ".") && !kept[r.Old.String()+" "+r.New.Path] {
			out = append(out, path.Join(dir, r.New.Path))
		}
	}
	return out
}
