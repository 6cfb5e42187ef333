// Package recipes carries out the recipes of CONTRIBUTING.md, as a contributor would.
package recipes

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/runplan/runplan/internal/edit"
)

// TestRecipes makes the changes of testdata in a copy of the repository. A change is written as edits of an agent; its
// header names the recipe, files to copy first, and a command of the recipe to run. It may touch only files that the
// recipe names, and then the tests of its header must pass.
func TestRecipes(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles changed copies of several packages")
	}
	top, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	guide := read(t, filepath.Join(top, "CONTRIBUTING.md"))
	copied := t.TempDir()
	copyTree(t, top, copied)
	changes, err := filepath.Glob("testdata/*.md")
	if err != nil || len(changes) < 5 {
		t.Fatalf("%d changes, %v", len(changes), err)
	}
	tests := map[string]func(*testing.T){}
	for _, file := range changes { // first all changes, which do not depend on each other: each package is compiled once
		header, answer, ok := strings.Cut(read(t, file), "\n\n")
		field := func(name string) []string {
			return strings.Fields(strings.Join(regexp.MustCompile(`(?m)^`+name+`: (.*)$`).FindAllString(header, -1), " "))
		}
		if !ok {
			t.Fatalf("%s has no header", file)
		}
		title := strings.Join(field("recipe")[1:], " ")
		recipe := section(guide, title)
		if recipe == "" {
			t.Fatalf("CONTRIBUTING.md has no recipe %q", title)
		}
		touched := []string{}
		for _, line := range regexp.MustCompile(`(?m)^copy: .*$`).FindAllString(header, -1) {
			f := strings.Fields(line)
			copyFile(t, filepath.Join(copied, f[1]), filepath.Join(copied, f[2]))
			touched = append(touched, f[2])
		}
		edits, err := edit.Parse(answer, "")
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		paths, err := edit.Files(copied, edits)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, path := range append(touched, paths...) {
			if !names(recipe, path) {
				t.Errorf("%s changes %s, which the recipe %q does not name", file, path, title)
			}
		}
		commands := [][]string{append([]string{"go", "test", "-vet=off"}, field("test")[1:]...)}
		if first := field("run"); len(first) > 0 {
			commands = slices.Insert(commands, 0, first[1:])
		}
		tests[filepath.Base(file)] = func(t *testing.T) {
			for _, args := range commands {
				cmd := exec.Command(args[0], args[1:]...)
				cmd.Dir = copied
				cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath", "GOWORK=off", "CGO_ENABLED=0")
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%s: %v\n%s", strings.Join(args, " "), err, out)
				}
			}
		}
	}
	for name, test := range tests {
		t.Run(name, test)
	}
}

// section returns the text below a heading of the guide, "" without it.
func section(guide, title string) string {
	_, rest, _ := strings.Cut(guide, "\n### "+title+"\n")
	text, _, _ := strings.Cut(rest, "\n## ")
	text, _, _ = strings.Cut(text, "\n### ")
	return text
}

// names reports whether a recipe names a file, or a folder or a pattern such as gates/NAME/NAME.go that covers it.
func names(recipe, path string) bool {
	places := regexp.MustCompile("`([A-Za-z._]+(?:/[A-Za-z0-9_.-]+)*)`").FindAllStringSubmatch(recipe, -1)
	return slices.ContainsFunc(places, func(m []string) bool {
		pattern := strings.NewReplacer("NAME", `[a-z0-9_-]+`, "NNNN", `\d{4}`, "FOLDER", `[a-z]+`,
			"name", `[a-z0-9_-]+`).Replace(regexp.QuoteMeta(m[1]))
		return regexp.MustCompile("^" + pattern + "(?:/.*)?$").MatchString(path)
	})
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	out, err := exec.Command("git", "-C", from, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatalf("list the files of the repository: %v", err)
	}
	for name := range strings.SplitSeq(strings.Trim(string(out), "\x00"), "\x00") {
		fi, err := os.Lstat(filepath.Join(from, name))
		if err == nil && fi.Mode().IsRegular() {
			copyFile(t, filepath.Join(from, name), filepath.Join(to, name))
		}
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, []byte(read(t, from)), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
