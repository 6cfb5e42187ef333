package gates

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/yamldoc"
)

// workspaces returns the workspaces with a test script, sorted by folder, if the test script of a package does nothing
// but run theirs. Each is then a call of its own, whose runner can report and be calibrated. It returns nil for other
// scripts, and if there is none with tests.
func workspaces(dir string, p Project, pkg nodePackage) []Project {
	if !callsWorkspaces(pkg.testScript()) || pkg.Scripts["pretest"]+pkg.Scripts["posttest"] != "" {
		return nil
	}
	root := os.DirFS(filepath.Join(dir, filepath.FromSlash(p.Root)))
	var folders []string
	for _, pattern := range pkg.workspacePatterns(dir, p.Root) {
		pattern, without := strings.CutPrefix(path.Clean(pattern), "!")
		if without {
			folders = slices.DeleteFunc(folders, func(at string) bool { return doublestar.MatchUnvalidated(pattern, at) })
			continue
		}
		found, _ := doublestar.Glob(root, pattern+"/package.json") // a bad pattern finds nothing
		for _, file := range found {
			if at := path.Dir(file); at != "." && !slices.ContainsFunc(strings.Split(at, "/"), Ignored) {
				folders = append(folders, at)
			}
		}
	}
	var out []Project
	for _, at := range lists.Unique(folders) {
		m := Project{Language: LangNode, Root: path.Join(p.Root, at), Marker: path.Join(p.Root, at, "package.json")}
		switch {
		case readPackage(dir, m.Root).testScript() != "":
			out = append(out, m)
		case strings.HasPrefix(pkg.testScript(), "npm") && !strings.Contains(pkg.testScript(), "--if-present"):
			return nil // an error of npm
		}
	}
	return out
}

// workspacePatterns returns the patterns of the folders of workspaces.
func (p nodePackage) workspacePatterns(dir, root string) []string {
	var list []string
	var object struct{ Packages []string }
	if json.Unmarshal(p.Workspaces, &list) != nil {
		_ = json.Unmarshal(p.Workspaces, &object) // the package manager itself reports errors in it
	}
	list = append(list, object.Packages...)
	object.Packages = nil
	_ = yamldoc.Unmarshal([]byte(readText(dir, root, "pnpm-workspace.yaml")), &object)
	return append(list, object.Packages...)
}

// callsWorkspaces reports whether a script is one command that runs the test script of each workspace, such as
// `npm test --workspaces` and `pnpm -r test`.
func callsWorkspaces(script string) bool {
	words := strings.Fields(script)
	if len(words) < 3 || !slices.Contains([]string{"npm", "pnpm", "yarn", "lerna"}, words[0]) {
		return false
	}
	test, all := 0, words[0] == "lerna"
	for _, w := range words[1:] {
		switch w {
		case "test":
			test++
		case "--workspaces", "-ws", "-r", "--recursive", "workspaces":
			all = true
		case "run", "foreach", "--if-present", "-A", "--all", "-p", "--parallel", "-t", "--topological", "-v", "--verbose",
			"-i", "--interlaced", "--stream", "--silent", "-s":
		default:
			return false // arguments for the scripts, or another command behind it
		}
	}
	return test == 1 && all
}
