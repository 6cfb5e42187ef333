// Package corpus makes training pairs from reviews that compare code with its blueprint (TRAIN-14 to TRAIN-21). The
// pairs train adapters that write such code. Reviews of candidates give forward pairs: the defects and the promoted
// code. Reviews of live units give retroactive pairs: examples of good code. Only the number of live units limits the
// retroactive pairs, so the two kinds are counted separately.
package corpus

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/gates/blueprint/lifecycle"
	"github.com/runplan/runplan/internal/jsondoc"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/knowledge/summary"
	"github.com/runplan/runplan/training"
)

// Granularity says whether a pair covers a unit or one of its files.
type Granularity string

// The granularities.
const (
	Service Granularity = "service"
	OneFile Granularity = "file"
)

// Outcome is the outcome of reviewed code.
type Outcome string

// The outcomes.
const (
	Passed   Outcome = "passed"   // promoted unchanged
	Failed   Outcome = "failed"   // not promoted
	Modified Outcome = "modified" // promoted after changes
)

// Pair is one review with its subject and its outcome (TRAIN-16).
type Pair struct {
	ID            string                 `json:"pair_id"` // a UUID derived from the review and the code
	Type          training.Kind          `json:"pair_type"`
	Granularity   Granularity            `json:"granularity"`
	Service       string                 `json:"service_id"`
	File          *string                `json:"file_scope"` // null: the unit
	CreatedAt     time.Time              `json:"created_at"` // of the review
	Blueprint     string                 `json:"blueprint_yaml"`
	Scoped        string                 `json:"blueprint_scoped"` // part of the blueprint for the file; "" for a unit
	Summaries     []summary.Summary      `json:"ast_summaries"`
	Review        lifecycle.ReviewResult `json:"cc_review"`
	Outcome       Outcome                `json:"promotion_outcome"`
	Modifications []Modification         `json:"modifications_before_promotion"`
	Divergence    float64                `json:"divergence_score_final"`
	Fidelity      float64                `json:"ground_truth_fidelity"`
	Checkpoints   int                    `json:"total_checkpoints"` // 0: not counted
	Output        []Source               `json:"output_files"`
	Source        training.Source        `json:"source"`
	ReviewFile    string                 `json:"review_file"`
	ReviewSHA256  string                 `json:"review_sha256"`
}

// Modification is one change between the review and the promotion.
type Modification struct {
	File        string `json:"file"`
	Change      string `json:"change_type"` // added, removed or modified
	Description string `json:"description"`
}

// Source is a source file.
type Source struct {
	Path string `json:"path"`
	Text string `json:"content"`
}

// ParsePair parses a pair strictly. name is its name in errors.
func ParsePair(name string, text []byte) (Pair, error) {
	var p Pair
	if err := jsondoc.Decode(text, &p); err != nil {
		return Pair{}, fmt.Errorf("%s: %w", name, err)
	}
	if err := p.Check(); err != nil {
		return Pair{}, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// Check returns an error if the pair is invalid.
func (p Pair) Check() error {
	changes := lists.Map(p.Modifications, func(m Modification) string { return m.Change })
	switch {
	case p.ID != p.id():
		return fmt.Errorf("pair_id is %.60q, but the content of the pair has %s; the pair was changed", p.ID, p.id())
	case p.Type != training.Forward && p.Type != training.Retroactive:
		return fmt.Errorf("pair_type is %q; it is forward or retroactive", p.Type)
	case p.Granularity != Service && p.Granularity != OneFile:
		return fmt.Errorf("granularity is %q; it is service or file", p.Granularity)
	case (p.Granularity == OneFile) != (p.File != nil && *p.File != ""):
		return errors.New("file_scope is required for the granularity file, and allowed only for it")
	case blueprint.ValidUnit(p.Service) != nil:
		return blueprint.ValidUnit(p.Service)
	case p.Review.ServiceID != p.Service:
		return fmt.Errorf("the review is about %.60q, and the pair about %s", p.Review.ServiceID, p.Service)
	case !slices.Contains([]Outcome{Passed, Failed, Modified}, p.Outcome):
		return fmt.Errorf("promotion_outcome is %q; it is passed, failed or modified", p.Outcome)
	case p.Fidelity < 0 || p.Fidelity > 1 || p.Divergence < 0 || p.Divergence > 1:
		return fmt.Errorf("fidelity %v and divergence %v are not from 0 to 1", p.Fidelity, p.Divergence)
	case p.Checkpoints < 0:
		return fmt.Errorf("total_checkpoints is %d", p.Checkpoints)
	case p.Source != training.Logged:
		return fmt.Errorf("source is %q; the source of a review pair must be logged", p.Source)
	case strings.TrimSpace(p.Blueprint) == "" || len(p.Output) == 0:
		return errors.New("it has no blueprint or no code")
	}
	for _, c := range changes {
		if c != "added" && c != "removed" && c != "modified" {
			return fmt.Errorf("change_type is %q; it is added, removed or modified", c)
		}
	}
	for _, f := range p.Output {
		if err := blueprint.SafePath(f.Path); err != nil {
			return err
		}
	}
	return nil
}

// id returns a UUID (version 8) derived from the review and the code. The same pair always has the same id.
func (p Pair) id() string {
	h := sha256.New()
	scope := ""
	if p.File != nil {
		scope = *p.File
	}
	for _, s := range []string{string(p.Type), p.Service, scope, p.ReviewSHA256} {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	for _, f := range p.Output {
		fmt.Fprintf(h, "%d:%s%d:%s", len(f.Path), f.Path, len(f.Text), f.Text)
	}
	b := h.Sum(nil)[:16]
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Encode encodes the pair in its file format.
func (p Pair) Encode() ([]byte, error) {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write pair %s: %w", p.ID, err)
	}
	return append(text, '\n'), nil
}

// head begins a code block (TRAIN-19).
const head = "## FILE: "

// blockName returns the name of a file in a block: {unit}/{file}.
func blockName(unit, path string) string {
	return unit + "/" + strings.TrimPrefix(path, unit+"/")
}

// ErrHead reports code that contains a line with the form of a block head.
var ErrHead = errors.New("a line of the code reads as the beginning of a block")

// Blocks formats files of a unit as a model's answer: a head for each file, then its text.
func Blocks(unit string, files []Source) (string, error) {
	var w strings.Builder
	for i, f := range files {
		if strings.HasPrefix(f.Text, head) || strings.Contains(f.Text, "\n"+head) {
			return "", fmt.Errorf("%s: %w", f.Path, ErrHead)
		}
		if i > 0 {
			w.WriteByte('\n')
		}
		w.WriteString(head + blockName(unit, f.Path) + "\n" + strings.TrimRight(f.Text, "\n") + "\n")
	}
	return w.String(), nil
}

// ParseBlocks parses an answer into files of a unit. It ignores text before the first head and removes a fence around
// a whole block. A file that is not in paths or occurs twice is an error.
func ParseBlocks(unit, answer string, paths []string) ([]Source, error) {
	var out []Source
	add := func(name, text string) error {
		i := slices.IndexFunc(paths, func(p string) bool { return blockName(unit, p) == name || p == name })
		switch {
		case i < 0:
			return fmt.Errorf("%.100q is not a file of %s", name, unit)
		case slices.ContainsFunc(out, func(s Source) bool { return s.Path == paths[i] }):
			return fmt.Errorf("%s occurs twice", paths[i])
		}
		out = append(out, Source{paths[i], unfenced(text)})
		return nil
	}
	name, begun := "", false
	var text strings.Builder
	for line := range strings.Lines(answer) {
		if next, ok := strings.CutPrefix(line, head); ok {
			if begun {
				if err := add(name, text.String()); err != nil {
					return nil, err
				}
			}
			name, begun = strings.TrimSpace(next), true
			text.Reset()
			continue
		}
		text.WriteString(line)
	}
	if !begun {
		return nil, fmt.Errorf("the answer has no line %q", head+unit+"/…")
	}
	return out, add(name, text.String())
}

func unfenced(s string) string {
	t := strings.TrimSpace(s)
	first, rest, ok := strings.Cut(t, "\n")
	if body, closed := strings.CutSuffix(rest, "```"); ok && closed && strings.HasPrefix(first, "```") &&
		(body == "" || strings.HasSuffix(body, "\n")) {
		return body
	}
	return strings.TrimRight(s, "\n") + "\n"
}
