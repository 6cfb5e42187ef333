package routing

import (
	"path"
	"strings"
)

// built makes a batch wait for the batch that creates the build files of its code (go.mod, package.json) or its
// package.
func (r *reader) built() {
	for _, m := range r.build {
		if r.at[m.batch] >= r.at[r.to] || r.found[[2]int{m.batch, r.to}] != nil {
			continue
		}
		for _, p := range r.does[r.to].all {
			switch {
			case !isCode(path.Ext(p)) || p == m.path:
				continue
			case m.only && path.Dir(p) == m.dir:
				r.add(m.batch, r.to, EdgeText, 0, p+" is in the same package as "+m.path+", which "+r.graph.name(m.batch)+
					" creates")
			case !m.only && (m.dir == "." || strings.HasPrefix(p, m.dir+"/")):
				r.add(m.batch, r.to, EdgeText, 0, p+" is built with "+m.path+", which "+r.graph.name(m.batch)+" creates")
			default:
				continue
			}
			break
		}
	}
}

// tested connects a test and its subject, whichever is created first: parser_test.go and parser.go.
func (r *reader) tested() {
	for _, p := range r.does[r.to].all {
		m, words := (*maker)(nil), " is a test of "
		if subject, ok := subjectOf(p); ok {
			if m = r.stems[path.Join(path.Dir(p), subject)]; m == nil {
				m = r.stems[subject]
			}
		} else if isCode(path.Ext(p)) {
			m, words = r.tests[strings.TrimSuffix(path.Base(p), path.Ext(p))], " is tested by "
		}
		if m == nil {
			continue
		}
		for _, from := range m.batches {
			if r.at[from] < r.at[r.to] && r.found[[2]int{from, r.to}] == nil {
				r.add(from, r.to, EdgeText, 0, p+words+m.what+", which "+r.graph.name(from)+" creates")
			}
		}
	}
}

// subjectOf returns the subject of a test, by the usual names of tests.
func subjectOf(p string) (string, bool) {
	base := path.Base(p)
	if !isCode(path.Ext(base)) {
		return "", false
	}
	base = strings.TrimSuffix(base, path.Ext(base))
	for _, end := range []string{"_test", "-test", ".test", ".spec", "_spec", "Tests", "Test", "Spec"} {
		if s, ok := strings.CutSuffix(base, end); ok && s != "" {
			return s, true
		}
	}
	for _, lead := range []string{"test_", "test-"} {
		if s, ok := strings.CutPrefix(base, lead); ok && s != "" {
			return s, true
		}
	}
	return "", false
}

// whole returns the word of a batch's title that shows that it connects or checks all parts; "" if there is none. The
// batch's own statements about its needs have priority.
func (g *graph) whole(i int) string {
	if b := &g.plan.Batches[i]; !g.says[i].made && !g.safe[i] {
		return said(b.Title, []string{"integration", "integrate", "end-to-end", "e2e", "acceptance", "smoke", "final",
			"verify", "verification", "wiring", "wire"})
	}
	return ""
}
