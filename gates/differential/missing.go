package differential

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

// wants matches messages of compilers and loaders about something missing. Each pattern has one group: the name, or the
// path of a package.
var wants = []*lazyre.Regexp{
	lazyre.New(`undefined: (?:\w+\.)?(\w+)`),
	lazyre.New(`has no field or method (\w+)`),
	lazyre.New(`unknown field (\w+)`),
	lazyre.New(`(?:not enough|too many) arguments in call to (?:\w+\.)*(\w+)`),
	lazyre.New(`assignment mismatch: [^\n]* but (?:\w+\.)*(\w+)(?:\([^\n]*\))? returns`),
	lazyre.New(`(?:no required module provides package|cannot find package|package) "?([\w./-]+)"?(?: is not in std|;| in any)`),
	lazyre.New(`cannot import name '(\w+)'`),
	lazyre.New(`No module named '([\w.]+)'`),
	lazyre.New(`does not provide an export named '?(\w+)`),
	lazyre.New(`Cannot find (?:module|package) '([^']+)'`),
}

// trouble matches a line about a place that does not build. Each such line must be about a missing name.
var trouble = lazyre.New(`(?m)^(?:vet: )?\S+\.go:\d+:\d+: .*$`)

// missing returns the sorted names whose absence broke the build or the loading. It returns none if there is any other
// cause as well.
func missing(text string) []string {
	var out []string
	find := func(text string) bool {
		found := false
		for _, w := range wants {
			for _, m := range w.FindAllStringSubmatch(text, -1) {
				out = append(out, m[1])
				found = true
			}
		}
		return found
	}
	if places := trouble.FindAllString(text, -1); len(places) > 0 {
		for _, p := range places {
			if !find(p) {
				return nil
			}
		}
	} else {
		find(text)
	}
	return lists.Unique(out)
}

// aTest matches paths of test files. Their content is not part of the fix.
var aTest = lazyre.New(`(?:^|/)(?:tests?/|__tests__/|test_[^/]*$|[^/]*[._-](?:test|spec)\.[^/]*$|conftest\.py$)`)

// notAdded returns those names that no added line of the fix declares.
func notAdded(names []string, fix []gates.File) []string {
	return lists.Filter(names, func(name string) bool {
		return !slices.ContainsFunc(fix, func(f gates.File) bool { return !aTest.MatchString(f.Path) && adds(f, name) })
	})
}

// adds reports whether a file of the fix adds a name: it declares the name, is the module with that name, or requires
// the package at that path.
func adds(f gates.File, name string) bool {
	last := name[strings.LastIndexAny(name, "./")+1:]
	if f.Status == gates.Added {
		stem := strings.TrimSuffix(path.Base(f.Path), path.Ext(f.Path))
		if stem == last || path.Base(path.Dir(f.Path)) == last || strings.HasSuffix(name, "/"+path.Base(f.Path)) {
			return true
		}
	}
	word := regexp.QuoteMeta(last)
	declares := regexp.MustCompile(`(?:\b(?:func|type|var|const|def|class|function|let|interface|struct|enum|fn)\b[^=\n]*?\b` + word + `\b)|^\s*(?:exports\.|self\.)?` + word + `\b\s*(?:[:=]|\w|\[|\*)`)
	return slices.ContainsFunc(f.AddedLines(), func(l gates.Line) bool {
		return declares.MatchString(l.Text) || strings.Contains(name, "/") && strings.Contains(l.Text, name)
	})
}
