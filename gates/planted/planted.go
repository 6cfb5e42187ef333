// Package planted has the tests that runplan adds to a suite for one run: a pair for each runner. One of a pair passes.
// The other fails, and passes if an assertion that must fail does not, so it reveals assertions without effect.
package planted

import (
	"embed"
	"strings"
)

//go:embed *.py *.rb *.js *.java *.kt
var files embed.FS

// Text returns a file with words replaced: each old word is followed by its new text.
func Text(file string, words ...string) string {
	text, err := files.ReadFile(file)
	if err != nil {
		panic(err) // the name is a constant
	}
	return strings.NewReplacer(words...).Replace(string(text))
}
