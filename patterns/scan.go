package patterns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/lists"
)

// Hit is one match of a rule. Line and column count from 1, the column in characters.
type Hit struct {
	Rule     string   `json:"rule"`
	Path     string   `json:"path"`
	Line     int      `json:"line"`
	Col      int      `json:"col"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	Note     string   `json:"note,omitempty"`
	Fix      string   `json:"fix,omitempty"` // replacement text, if the rule has one
	Lesson   string   `json:"lesson,omitempty"`
}

// Skip is a file that was not checked.
type Skip struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Result holds what a scan found and what it skipped. It is the same for the same files and rules.
type Result struct {
	Hits       []Hit        `json:"hits"`
	Suppressed []Suppressed `json:"suppressed,omitempty"`
	Skipped    []Skip       `json:"skipped,omitempty"`
	Partial    []string     `json:"partial,omitempty"` // checked, but not completely parsed
	Scanned    int          `json:"scanned"`           // files that a rule was applied to
	Other      []string     `json:"other,omitempty"`   // files in languages that no rule is written for
	Version    string       `json:"version"`           // of ast-grep
}

// Scan applies rules to the given files: paths relative to dir, or absolute ones inside of it. Nothing in dir can turn
// a rule off silently; see suppress.go for the effect of comments. Without files it checks nothing, and Scanned is 0.
// After an error the result must not be used.
//
// ast-grep gets only the files in which a rule can match, and those rules; without any it is not started.
func Scan(ctx context.Context, p Program, dir string, files []string, rules []Rule) (Result, error) {
	res := Result{Hits: []Hit{}, Version: p.Version}
	if !p.Found() {
		return res, ErrMissing
	}
	lessons, languages := map[string]string{}, map[string]bool{}
	for _, r := range rules {
		lessons[r.ID] = r.Lesson
		for _, l := range r.Languages {
			languages[l] = true
		}
	}
	v := newSieve(rules)
	look, skipped, other, err := sources(dir, files, func(l string) bool { return languages[l] }, v.sift)
	if err != nil {
		return res, err
	}
	res.Skipped, res.Other = skipped, other
	if len(rules) == 0 {
		res.Other = append(res.Other, lists.Map(look, func(s source) string { return s.path })...)
		res.sort()
		return res, nil
	}
	ask, docs := v.sifted(look, p.knows(v.own))
	saw, err := p.run(ctx, dir, ask, textOf(docs)+ownRules(ask, docs))
	if err != nil {
		if errors.Is(err, ErrRule) { // Check names the rule
			err = cmp.Or(Check(ctx, p, rules), err)
		}
		return res, err
	}
	if len(ask) > 0 {
		p.accept(v.own)
	}
	hits, comments := map[string][]Hit{}, map[string][]record{}
	for _, r := range saw.records {
		if r.Rule == rulePartial {
			res.Partial = lists.Add(res.Partial, r.File)
			continue
		}
		if r.Rule == ruleComment {
			comments[r.File] = append(comments[r.File], r)
			continue
		}
		h := Hit{
			Rule: r.Rule, Path: r.File, Line: r.Range.Start.Line + 1, Col: r.Range.Start.Column + 1,
			Severity: Severity(r.Severity), Message: r.Message, Lesson: lessons[r.Rule],
		}
		if r.Note != nil {
			h.Note = strings.TrimSpace(*r.Note)
		}
		if r.Replacement != nil {
			h.Fix = strings.ReplaceAll(*r.Replacement, neutralWord, ignoreWord)
		}
		hits[r.File] = append(hits[r.File], h)
	}
	known := func(rule string) bool { _, ok := lessons[rule]; return ok }
	for _, s := range look {
		switch why, looked := saw.files[s.path]; {
		case !looked && s.idle:
			res.Scanned++
		case looked && why == "" && s.language == "":
			res.Skipped = append(res.Skipped,
				Skip{s.path, "runplan does not know this file name extension, so comments in it could hide anything"})
		case looked && why == "":
			res.Scanned++
			s.comments = s.real(comments[s.path])
			loud, silent := suppress(s, hits[s.path], known)
			res.Hits, res.Suppressed = append(res.Hits, loud...), append(res.Suppressed, silent...)
		case why == emptyFile:
			res.Scanned++
		case why == noRule, why == "" && s.language == "":
			res.Other = append(res.Other, s.path)
		default:
			res.Skipped = append(res.Skipped, Skip{s.path, saw.unread(s.path)})
		}
	}
	res.sort()
	return res, nil
}

// sort brings all in one order: the program answers in another one each time.
func (r *Result) sort() {
	byPlace := func(a, b Hit) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), a.Line-b.Line, a.Col-b.Col, strings.Compare(a.Rule, b.Rule),
			strings.Compare(a.Message, b.Message))
	}
	slices.SortFunc(r.Hits, byPlace)
	r.Hits = slices.Compact(r.Hits)
	slices.SortFunc(r.Suppressed, func(a, b Suppressed) int { return byPlace(a.Hit, b.Hit) })
	slices.SortFunc(r.Skipped, func(a, b Skip) int { return strings.Compare(a.Path, b.Path) })
	slices.Sort(r.Partial)
	slices.Sort(r.Other)
}

// rulePartial marks parts that ast-grep could not parse. Rules may miss matches there.
const rulePartial = "runplan-partial"

// ownRules returns runplan's own rules, for the languages of the files and of the rules.
func ownRules(files []source, docs []document) string {
	var languages []string
	for _, f := range files {
		if f.sifted {
			languages = append(languages, f.language)
		}
	}
	languages = append(languages, lists.Map(docs, func(d document) string { return d.language })...)
	languages = lists.Unique(languages)
	var b strings.Builder
	for _, l := range languages {
		fmt.Fprintf(&b, "---\nid: %s\nlanguage: %s\nseverity: hint\nmessage: not parsed\nlabels: {}\n"+
			"rule: {kind: ERROR, not: {inside: {kind: ERROR, stopBy: end}}}\n", rulePartial, l)
	}
	return b.String() + commentRules(languages)
}

// ErrRule reports an invalid rule.
var ErrRule = errors.New("not a rule that ast-grep accepts")

// Check asks ast-grep whether it accepts each rule on its own. The errors name the rule and its file.
func Check(ctx context.Context, p Program, rules []Rule) error {
	var errs []error
	for _, r := range rules {
		if err := p.try(ctx, text([]Rule{r})); err != nil {
			errs = append(errs, fmt.Errorf("rule %s in %s: %w", r.ID, r.File, err))
		}
	}
	return errors.Join(errs...)
}

// try runs rules over an empty folder's only file.
func (p Program) try(ctx context.Context, rules string) error {
	dir, err := os.MkdirTemp("", "runplan-patterns-")
	if err != nil {
		return fmt.Errorf("make a folder for ast-grep: %w", err)
	}
	defer os.RemoveAll(dir)
	name := "x.json" // in a language without restrictions
	if err := os.WriteFile(filepath.Join(dir, name), []byte("{}\n"), 0o600); err != nil {
		return fmt.Errorf("make a file for ast-grep: %w", err)
	}
	_, err = p.run(ctx, dir, []source{{path: name}}, rules)
	return err
}

// limit returns the time for one chunk.
func (p Program) limit() time.Duration {
	return cmp.Or(p.Limit, runLimit)
}

// String returns the hit as compilers print theirs.
func (h Hit) String() string {
	return fmt.Sprintf("%s:%d:%d: %s: %s [%s]", h.Path, h.Line, h.Col, h.Severity, h.Message, h.Rule)
}
