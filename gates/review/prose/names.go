package prose

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
)

// Names makes the gate that lists removed public names. Programs cannot know whether outside code uses a name, so the
// finding is only a remark for reviewers.
func Names() gates.Gate {
	info := gates.Info{Name: "names", Kind: gates.Static, Cost: gates.Instant, Blocking: false, Compares: true}
	return gates.New(info, func(ctx context.Context, l *gates.Look) error {
		files, ok, err := l.Changed(ctx,
			func(c gates.Change) bool { return publicIn(path.Ext(c.Path)) != nil && !private(c.Path) })
		if err != nil || !ok {
			return err
		}
		now, before := map[string][]string{}, map[string][]string{} // by language; and by folder
		for _, f := range files {
			lang := path.Ext(f.Path)
			now[lang] = append(now[lang], public(f.Path, f.After)...)
		}
		var folders []string
		for _, f := range files {
			dir := path.Dir(f.Path)
			for _, name := range public(f.Path, f.Before) {
				if !slices.Contains(now[path.Ext(f.Path)], name) && !slices.Contains(before[dir], name) {
					before[dir] = append(before[dir], name)
				}
			}
			if len(before[dir]) > 0 && !slices.Contains(folders, dir) {
				folders = append(folders, dir)
			}
		}
		for _, dir := range folders {
			l.Find(gates.Finding{Rule: "names/gone", Severity: gates.Note,
				Message: fmt.Sprintf("public names of %s were removed: %s; outside code that uses them breaks", dir,
					phrase.Few(before[dir], mostNames))})
		}
		return nil
	})
}

// mostNames limits how many names a finding lists.
const mostNames = 10

// private reports whether code outside cannot use the names in p.
func private(p string) bool {
	return language.IsTest(p) || language.Foreign(p) || gates.Match([]string{"**/internal/**"}, p)
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

// public lists the public names of a file; a method includes its type.
func public(p, text string) []string {
	if path.Ext(p) == ".go" && strings.Contains("\n"+text, "\npackage main\n") {
		return nil
	}
	var out []string
	for _, m := range publicIn(path.Ext(p)).FindAllStringSubmatch(text, -1) {
		name := m[2]
		if m[1] != "" {
			if m[1][0] >= 'a' && m[1][0] <= 'z' || m[1][0] == '_' {
				continue // a method of an unexported type
			}
			name = m[1] + "." + name
		}
		out = append(out, name)
	}
	return out
}
