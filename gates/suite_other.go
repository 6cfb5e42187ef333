package gates

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// shellSuite runs the scripts that [shellScripts] finds, each from the root of the tree (GATE-03).
func shellSuite(dir string, p Project) []suite {
	var scripts []string
	walk(dir, maxDepth, func(root string, files []string) { scripts = append(scripts, shellScripts(root, files)...) })
	if len(scripts) == 0 {
		return nil
	}
	plan := func(_ context.Context, w *work) ([]testRun, error) {
		var out []testRun
		for _, s := range scripts {
			out = append(out, testRun{program: program{args: scriptArgs(w.subject.Dir, s)}, about: s})
		}
		return out, nil
	}
	var shown []string
	for _, s := range scripts {
		shown = append(shown, commandLine("", scriptArgs(dir, s)))
	}
	return []suite{{project: p, command: strings.Join(shown, " && "), plan: plan}}
}

// scriptArgs honours the script's first line where it may be executed.
func scriptArgs(dir, script string) []string {
	if strings.HasSuffix(script, ".bats") {
		if bin, ok := upwards(dir, path.Dir(script), "node_modules/.bin/bats"); ok {
			return []string{"./" + bin, "--tap", script}
		}
		return []string{"bats", "--tap", script}
	}
	if fi, err := os.Stat(filepath.Join(dir, filepath.FromSlash(script))); err == nil && fi.Mode()&0o111 != 0 {
		if head := readText(dir, ".", script); strings.HasPrefix(head, "#!") {
			return []string{"./" + script}
		}
	}
	return []string{"bash", "./" + script}
}

// makeSuite adds `make test`, unless a better runner is found at the same root. A shell suite is better only if the
// target does nothing but call it: else one of them would never run.
func makeSuite(dir string, p Project, found []suite) []suite {
	recipe, ok := makeTarget(readText(dir, p.Root, path.Base(p.Marker)), "test")
	if !ok {
		return found
	}
	for _, s := range found {
		if s.project.Root != p.Root {
			continue
		}
		if s.project.Language != LangShell || strings.Contains(recipe, "run-all-tests.sh") || strings.Contains(recipe, "test-") ||
			strings.Contains(recipe, "bats") {
			return found
		}
	}
	args := []string{"make", "test"}
	plan := func(context.Context, *work) ([]testRun, error) {
		return []testRun{{program: program{args: args, dir: p.Root}, about: p.Marker}}, nil
	}
	return append(found, suite{project: p, command: commandLine(p.Root, args), plan: plan})
}

func cargoSuite(dir string, p Project) suite {
	args := []string{"cargo", "test"}
	if exists(dir, p.Root, "Cargo.lock") {
		args = append(args, "--locked") // else cargo may rewrite the file
	}
	plan := func(context.Context, *work) ([]testRun, error) {
		return []testRun{{program: program{args: args, dir: p.Root}}}, nil
	}
	return suite{project: p, command: commandLine(p.Root, args), plan: plan}
}

// javaSuite runs Maven or Gradle, by the wrapper where the project has one.
func javaSuite(dir string, p Project) []suite {
	hasTests := anyFile(dir, p, nil, func(rel, _ string) bool { return strings.Contains("/"+rel+"/", "/src/test/") })
	if !hasTests {
		return nil
	}
	args := []string{"gradle", "test", "--console=plain"}
	wrapper := "gradlew"
	if path.Base(p.Marker) == "pom.xml" {
		args, wrapper = []string{"mvn", "-B", "test"}, "mvnw"
	}
	if exists(dir, p.Root, wrapper) {
		args[0] = "./" + wrapper
	}
	plan := func(context.Context, *work) ([]testRun, error) {
		return []testRun{{program: program{args: slices.Clone(args), dir: p.Root}}}, nil
	}
	return []suite{{project: p, command: commandLine(p.Root, args), plan: plan}}
}
