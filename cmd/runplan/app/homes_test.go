package app

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Which files are tests, and which folders hold third-party code, is said in internal/language alone: a second list
// would differ one day. Only the listed files may name a folder of packages, to read from it or to link it.
func TestOneHomeForTestsAndPackages(t *testing.T) {
	second := regexp.MustCompile(`HasSuffix\([^()]+, "_test\.go"\)|"/?node_modules/?"|[{,]node_modules[,}]`)
	places := []string{"runner/local/rooms.go", "runner/local/deps.go", "gates/tools.go",
		"gates/cache/surroundings.go", "gates/suite_node.go", "gates/testout/node.go", "gates/hygiene/license.go",
		"internal/cli/secrets.go"}
	used := map[string]bool{}
	eachGoFile(t, func(path string, text []byte) {
		name, err := filepath.Rel(root(t), path)
		if err != nil {
			t.Fatal(err)
		}
		name = filepath.ToSlash(name)
		first, _, _ := strings.Cut(name, "/")
		if strings.HasSuffix(name, "_test.go") || first == "tools" || strings.HasPrefix(name, "internal/language/") {
			return
		}
		for _, found := range second.FindAllString(string(text), -1) {
			if used[name] = true; !slices.Contains(places, name) {
				t.Errorf("%s: use internal/language instead of %s", name, found)
			}
		}
	})
	for _, name := range places {
		if !used[name] {
			t.Errorf("%s names no folder of packages: drop it from the list", name)
		}
	}
}
