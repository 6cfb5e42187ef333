package prose

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/lazyre"
)

// Names makes the gate that lists public names that are gone. Whether somebody outside relies on one, no program knows:
// it warns, and reviewers are told.
func Names() gates.Gate {
	info := gates.Info{Name: "names", Kind: gates.Static, Cost: gates.Instant, Blocking: false, Compares: true}
	return gates.New(info, func(ctx context.Context, l *gates.Look) error {
		files, ok, err := l.Changed(ctx, func(c gates.Change) bool { return publicIn(path.Ext(c.Path)) != nil && !private(c.Path) })
		if err != nil || !ok {
			return err
		}
		now := map[string][]string{} // by folder
		for _, f := range files {
			now[path.Dir(f.Path)] = append(now[path.Dir(f.Path)], public(f.Path, f.After)...)
		}
		for _, f := range files {
			var gone []string
			for _, name := range public(f.Path, f.Before) {
				if !slices.Contains(now[path.Dir(f.Path)], name) && !slices.Contains(gone, name) {
					gone = append(gone, name)
				}
			}
			for _, name := range gone {
				find := gates.Finding{Rule: "names/gone", Severity: gates.Warning, Path: f.Path, Message: fmt.Sprintf("the public name %s is gone: who uses it from outside breaks", name)}
				if f.Status == gates.Deleted {
					find.Path, find.Message = "", find.Message+" ("+f.Path+" was deleted)"
				}
				l.Find(find)
			}
		}
		return nil
	})
}

// private are files whose names nobody outside can use.
func private(p string) bool {
	return gates.Match([]string{"**/internal/**", "**/*_test.go", "**/test_*.py", "**/*_test.py", "**/{test,tests,__tests__,testdata,fixtures,vendor,node_modules}/**", "**/*.{test,spec}.*"}, p)
}

var (
	goPublic = lazyre.New(`(?m)^(?:func (?:\(\w*\s*\*?([A-Za-z_]\w*)[^)]*\) )?|type |var |const )([A-Z]\w*)`)
	pyPublic = lazyre.New(`(?m)^(?:async\s+)?(?:def|class)()\s+([A-Za-z]\w*)`)
	jsPublic = lazyre.New(`(?m)^export\s+(?:default\s+)?(?:async\s+)?(?:function\*?|class|const|let|interface|type|enum)()\s+([A-Za-z_$][\w$]*)`)
)

func publicIn(ext string) *lazyre.Regexp {
	switch ext {
	case ".go":
		return goPublic
	case ".py":
		return pyPublic
	case ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs":
		return jsPublic
	}
	return nil
}

// public lists the public names of a file; a method comes with its type.
func public(p, text string) []string {
	if path.Ext(p) == ".go" && strings.Contains("\n"+text, "\npackage main\n") {
		return nil
	}
	var out []string
	for _, m := range publicIn(path.Ext(p)).FindAllStringSubmatch(text, -1) {
		name := m[2]
		if m[1] != "" {
			name = m[1] + "." + name
		}
		out = append(out, name)
	}
	return out
}
