package lifecycle

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/internal/rooted"
	"github.com/runplan/runplan/knowledge/summary"
)

// references is the number of units that serve as examples: those that were promoted last (BP-24).
const references = 3

// The limits for the source of other units and of the shared library in a brief.
const (
	mostReference = 60_000
	mostShared    = 120_000
)

// Brief is the input for the author of a unit's code (BP-24). It contains the candidate, all live blueprints, the
// source of the three units that were promoted last, the shared library and the rubric. It contains no earlier attempts
// and nothing that overrides the blueprint. It lists what did not fit.
type Brief struct {
	Generation Generation `json:"generation"`
	Unit       string     `json:"unit"`
	Text       string     `json:"text"`
	References []string   `json:"references"` // units
	Shared     []string   `json:"shared"`     // files
	Left       []string   `json:"left"`       // paths that did not fit or could not be read
	Returned   string     `json:"returned,omitempty"`
}

// Generate makes the brief of a candidate. It records the session that gets the brief, because that session must not
// review the unit. With fix, the brief contains the list of faults from the last review.
func Generate(root, unit, session string, fix bool, set prompt.Set, now time.Time, id string) (Brief, error) {
	out := Brief{Unit: unit, Generation: Generation{ID: id, Session: session, At: now.UTC()}, References: []string{},
		Shared: []string{}, Left: []string{}}
	b, err := blueprint.Load(root, unit, blueprint.Candidate)
	if err != nil {
		return out, err
	}
	live, err := liveTexts(root)
	if err != nil {
		return out, err
	}
	examples, err := out.examples(root, unit)
	if err != nil {
		return out, err
	}
	shared := out.shared(root, b)
	rubric, err := Rubric(b, set)
	if err != nil {
		return out, err
	}
	back := ""
	if fix {
		if back, err = out.back(root); err != nil {
			return out, err
		}
	}
	out.Text, err = set.Render(generatePrompt, map[string]string{
		"unit": unit, "id": id, "blueprint": fence.Foreign("yaml", b.YAML()), "live": live, "references": examples,
		"shared": shared, "rubric": rubric,
		"returned": back, "files": files(b),
	})
	if err != nil {
		return out, err
	}
	stamp := now.UTC().Format(stampLayout)
	name := path.Join(ReviewFolder(unit, blueprint.Candidate), "generation_"+stamp+"_"+id[:min(8, len(id))]+".json")
	if err := writeJSON(root, name, out.Generation); err != nil {
		return out, err
	}
	return out, Note(root, Entry{At: now, Unit: unit, Kind: "generation", Text: "context " + id + " handed out"})
}

// Rubric returns the requirements that finished code must meet (BP-25). [Check] verifies those that a program can
// verify.
func Rubric(b *blueprint.Blueprint, set prompt.Set) (string, error) {
	return set.Render(rubricPrompt, map[string]string{"unit": b.Unit})
}

func files(b *blueprint.Blueprint) string {
	var w strings.Builder
	for _, f := range b.SourceFiles {
		fmt.Fprintf(&w, "- %s (%s)\n", fence.Line(f.Path), fence.Line(f.Role))
	}
	return strings.TrimRight(cmp.Or(w.String(), "none"), "\n")
}

func liveTexts(root string) (string, error) {
	units, err := blueprint.Units(root, blueprint.Live)
	if err != nil {
		return "", err
	}
	var w strings.Builder
	for _, u := range units {
		b, err := blueprint.Load(root, u, blueprint.Live)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&w, "### %s\n\n%s\n", u, fence.Foreign("yaml", b.YAML()))
	}
	return strings.TrimSpace(w.String()), nil
}

// examples returns the source files of the units that were promoted last.
func (o *Brief) examples(root, unit string) (string, error) {
	done, err := Promotions(root)
	if err != nil {
		return "", err
	}
	var w strings.Builder
	room := mostReference
	for _, p := range slices.Backward(done) {
		if len(o.References) == references {
			break
		}
		if p.Unit == unit || p.Outcome != Promoted || slices.Contains(o.References, p.Unit) {
			continue
		}
		b, err := blueprint.Load(root, p.Unit, blueprint.Live)
		if errors.Is(err, blueprint.ErrNoBlueprint) {
			continue // it is no longer live
		}
		if err != nil {
			return "", err
		}
		o.References = append(o.References, p.Unit)
		for _, f := range b.Paths() {
			room -= o.source(&w, root, f, room)
		}
	}
	return strings.TrimSpace(w.String()), nil
}

// shared returns the source of the shared libraries, as far as they are files of the repository.
func (o *Brief) shared(root string, b *blueprint.Blueprint) string {
	var w strings.Builder
	room := mostShared
	tree := os.DirFS(root)
	own := summary.Own(tree)
	for _, name := range b.Dependencies.Shared {
		base := strings.ReplaceAll(name, ".", "/")
		found := false
		for _, at := range []string{name, base, path.Join("src", base), summary.Folder(own, name)} {
			if found || !fs.ValidPath(at) {
				continue
			}
			in := []string{at + ".*", at + "/*", at + "/*/*"}
			if at == "." { // the package in the root, without the folders below it
				in = []string{"*"}
			}
			for _, pattern := range in {
				names, _ := fs.Glob(tree, pattern) // a bad pattern from a name matches nothing
				for _, n := range names {
					if !isSource(n) || slices.Contains(o.Shared, n) {
						continue
					}
					found = true
					if used := o.source(&w, root, n, room); used > 0 {
						room -= used
						o.Shared = append(o.Shared, n)
					}
				}
			}
		}
		if !found {
			o.Left = append(o.Left, name+" (no source in this repository)")
		}
	}
	return strings.TrimSpace(w.String())
}

func isSource(name string) bool {
	base := path.Base(name)
	return slices.Contains([]string{".go", ".py", ".ts", ".tsx", ".js", ".mjs"}, path.Ext(name)) &&
		!strings.Contains(base, "_test.") && !strings.HasPrefix(base, "test_")
}

// source adds a file, or the reason why it is missing. It returns the added size.
func (o *Brief) source(w *strings.Builder, root, name string, room int) int {
	text, err := rooted.Read(root, name, blueprint.MaxSource)
	switch {
	case err != nil:
		o.Left = append(o.Left, name+" (cannot be read)")
		return 0
	case len(text) > room:
		o.Left = append(o.Left, fmt.Sprintf("%s (%d characters, no room)", name, len(text)))
		return 0
	}
	fmt.Fprintf(w, "### %s\n\n%s\n", fence.Line(name),
		fence.Foreign(strings.TrimPrefix(path.Ext(name), "."), string(text)))
	return len(text)
}

// back adds the list of corrections from the last review.
func (o *Brief) back(root string) (string, error) {
	rec, name, err := Latest(root, o.Unit, blueprint.Candidate)
	if err != nil {
		return "", err
	}
	if rec.Decision != Reject {
		return "", fmt.Errorf("the last review of %s did not reject it (%s)", o.Unit, rec.Decision)
	}
	o.Returned = strings.TrimSuffix(strings.Replace(name, "cc_review_", "returned_", 1), ".json") + ".md"
	text, err := rooted.Read(root, o.Returned, maxResult)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", o.Returned, err)
	}
	return fence.Foreign("", string(text)), nil
}
