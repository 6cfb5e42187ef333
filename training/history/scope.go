package history

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/training"
)

// candidate is a file that scope asks about.
type candidate struct {
	*source
	why      string
	tier     int
	relevant bool
	reason   string
	arguable bool // nobody could know the answer
}

// scope teaches which files matter (TRAIN-12): changed files, their tests, and files that the changed code uses. Files
// that only resemble the task do not. It does not ask about used files and tests of which the task says nothing, and
// about others to which it points like to a changed one.
func (m *maker) scope(w *work, q query) (lesson, string) {
	var sure []string
	var all []candidate
	offered, marked := false, false
	for _, c := range w.changes {
		if c.before == nil {
			continue
		}
		if q.names(c.before) != "" {
			sure, offered, marked = append(sure, c.path), true, true
		} else if why := w.suspects(c.before, c.touched); why != "" { // else no stage would offer it
			offered = offered || !language.ServesTests(c.path) || w.onlyTests()
			x := candidate{source: c.before, why: why, tier: 1, relevant: true, reason: "it must be changed"}
			if !w.asks(c.path) {
				x.reason, x.arguable = "it tests what changes", true
			}
			all = append(all, x)
		}
	}
	for _, list := range [][]related{w.deps, w.others, w.unused} {
		for _, r := range list {
			if q.names(r.source) != "" {
				sure = append(sure, r.path)
				continue
			}
			x := candidate{source: r.source, why: cmp.Or(w.suspects(r.source, nil), r.why), tier: r.tier,
				relevant: true}
			switch tested := w.testedBy(r.path); {
			case len(r.uses) > 0:
				x.arguable = true
				x.reason = phrase.Cut("the change uses "+r.uses[0]+" of it", 80)
			case tested != "":
				x.arguable = true
				x.reason = phrase.Cut("it tests "+path.Base(tested), 80)
			default:
				x.relevant, x.reason = false, "no part of it changes"
			}
			all = append(all, x)
		}
	}
	if !offered {
		return lesson{}, "none of the changed files would be offered"
	}
	to := w.pointing(lists.Map(all, func(c candidate) string { return c.line("") }))
	var goals []pointers
	for i, c := range all {
		if len(to[i]) > 0 && c.tier == 1 && w.changed(c.path) {
			goals = append(goals, to[i])
		}
	}
	if !marked && len(goals) == 0 {
		return lesson{}, unmarked
	}
	for i := range all {
		c := &all[i]
		c.arguable = c.arguable && len(to[i]) == 0 || !c.relevant && slices.ContainsFunc(goals, to[i].cover)
	}
	all = slices.DeleteFunc(all, func(c candidate) bool { return c.arguable })
	relevant := lists.Count(all, func(c candidate) bool { return c.relevant })
	changed := lists.Count(all, func(c candidate) bool { return w.changed(c.path) })
	if relevant == 0 || relevant == len(all) {
		return lesson{}, "there is only one choice"
	}
	slices.SortStableFunc(all,
		func(a, b candidate) int { return cmp.Or(cmp.Compare(a.tier, b.tier), cmp.Compare(a.path, b.path)) })
	var lines, answer []string
	var texts []*source
	for i, c := range all {
		id := fmt.Sprintf("f%02d", i+1)
		lines = append(lines, c.line(id))
		answer = append(answer, fmt.Sprintf("%q:%s", id, marshal(verdict{c.relevant, c.reason})))
		texts = append(texts, c.source)
	}
	slices.Sort(sure)
	prompt, err := m.Retrieval.Render("scope", map[string]string{
		"task": q.fenced, "intent": q.intent, "kind": string(q.kind), "seeds": retrieve.Listed(slices.Compact(sure), 40),
		"candidates": fenced(strings.Join(lines, "\n")),
	})
	if err != nil {
		return lesson{}, err.Error()
	}
	needed := training.Known("files_needed", float64(changed+len(sure))/float64(changed+len(sure)+relevant-changed),
		fmt.Sprintf("%d of the relevant files are changed", changed+len(sure)))
	return lesson{prompt: prompt, completion: "{" + strings.Join(answer, ",") + "}", texts: texts,
		signals: []training.Signal{needed}}, ""
}

// testedBy returns the changed file that a file of tests is about, or "".
func (w *work) testedBy(test string) string {
	subject := language.Subject(test)
	if !language.IsTest(test) || subject == "" || subject == "index" || subject == "__init__" {
		return ""
	}
	for _, c := range w.changes {
		if !language.ServesTests(c.path) && language.Subject(c.path) == subject &&
			(!language.GoTest(test) || path.Dir(c.path) == path.Dir(test)) &&
			(path.Base(c.path) != path.Base(test) || path.Base(path.Dir(c.path)) == path.Base(path.Dir(test))) {
			return c.path
		}
	}
	return ""
}

// onlyTests reports whether a commit changes nothing else.
func (w *work) onlyTests() bool {
	return !slices.ContainsFunc(w.changes, func(c *change) bool { return !language.ServesTests(c.path) })
}

// verdict is scope's answer for a file.
type verdict struct {
	Relevant bool   `json:"relevant"`
	Reason   string `json:"reason"`
}

// line describes a candidate as scope does.
func (c candidate) line(id string) string {
	text := fmt.Sprintf("%s  %s  (%s)", id, fence.Line(c.path), c.why)
	about := slices.DeleteFunc([]string{c.about, c.top}, func(s string) bool { return s == "" })
	if len(about) > 0 {
		text += ": " + strings.Join(about, "; ")
	}
	return text
}
