package corpus

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/gates/blueprint/lifecycle"
	"github.com/runplan/runplan/internal/checksum"
	"github.com/runplan/runplan/internal/jsondoc"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/rooted"
	"github.com/runplan/runplan/knowledge/summary"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/curriculum"
)

// Builder makes training pairs from the reviews of a repository.
type Builder struct {
	Root    string
	Summary summary.Options
	Redact  func(string) string // removes secrets
}

// Refused is a review that gives no pair.
type Refused struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
}

// subject identifies the code that a review judges. Several reviews of one subject teach the same code and count as one
// pair, so that repeated reviews of unchanged code do not fill the corpus.
type subject struct {
	kind            training.Kind
	service, scope  string
	outcome         Outcome
	code, blueprint string
}

// Pairs reads the reviews of units and of files (C-23), and returns the pairs sorted by id. An unreadable review is an
// error. A review without its code or without a decision is refused with a reason.
func (b Builder) Pairs(ctx context.Context, adapter string) ([]Pair, []Refused, error) {
	files, err := reviewFiles(b.Root, adapter)
	if err != nil {
		return nil, nil, err
	}
	promotions, err := lifecycle.Promotions(b.Root)
	if err != nil {
		return nil, nil, err
	}
	var pairs []Pair
	refused := []Refused{}
	seen := map[string]bool{} // reviews are stored twice
	same := map[subject]int{} // index of the pair of a subject
	for _, f := range files {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		text, err := os.ReadFile(filepath.Join(b.Root, filepath.FromSlash(f)))
		if err != nil {
			return nil, nil, fmt.Errorf("read the review %s: %w", f, err)
		}
		rec, err := parseRecord(f, text)
		if err != nil {
			return nil, nil, err
		}
		id := checksum.SHA256(text)
		if seen[id] {
			continue
		}
		seen[id] = true
		p, why, err := b.pair(ctx, f, rec, id, promotions)
		if err != nil {
			return nil, nil, err
		}
		if why != "" {
			refused = append(refused, Refused{f, why})
			continue
		}
		about := subject{p.Type, p.Service, rec.Scope, p.Outcome, rec.SourcesSHA256, rec.BlueprintSHA256}
		if i, ok := same[about]; ok {
			if p.CreatedAt.After(pairs[i].CreatedAt) {
				p, pairs[i] = pairs[i], p
			}
			refused = append(refused,
				Refused{p.ReviewFile, "a newer review of the same code and blueprint counts: " + pairs[i].ReviewFile})
			continue
		}
		same[about] = len(pairs)
		pairs = append(pairs, p)
	}
	slices.SortFunc(pairs, func(a, b Pair) int { return cmp.Compare(a.ID, b.ID) })
	return pairs, refused, nil
}

// reviewFiles lists the review files. Those with the most accompanying files come first, and the copies under reviews/
// last.
func reviewFiles(root, adapter string) ([]string, error) {
	dir := curriculum.Dir(adapter)
	var out []string
	for _, pattern := range []string{
		path.Join(dir, "retroactive", "*", "cc_review_*.json"),
		path.Join(dir, "retroactive", "*", "per_file", "*_review.json"),
		path.Join(blueprint.Folder, "review", "*", "cc_review_*.json"),
		path.Join(dir, "reviews", "*.json"),
	} {
		names, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil {
			return nil, fmt.Errorf("list reviews: %w", err)
		}
		out = append(out, names...)
	}
	return out, nil
}

func parseRecord(name string, text []byte) (lifecycle.Record, error) {
	var rec lifecycle.Record
	if err := jsondoc.Decode(text, &rec); err != nil {
		return rec, fmt.Errorf("%s: it is not a review: %w", name, err)
	}
	if err := blueprint.ValidUnit(rec.ServiceID); err != nil {
		return rec, fmt.Errorf("%s: %w", name, err)
	}
	return rec, nil
}

// pair makes the pair of one review, or returns the reason why it cannot.
func (b Builder) pair(ctx context.Context, file string, rec lifecycle.Record, sum string,
	promotions []lifecycle.Promotion) (Pair, string, error) {
	p := Pair{
		Type: training.Retroactive, Granularity: Service, Service: rec.ServiceID, CreatedAt: rec.ReceivedAt,
		Review: rec.ReviewResult, Outcome: Passed,
		Modifications: []Modification{}, Divergence: rec.Divergence(), Fidelity: rec.Fidelity(),
		Checkpoints: rec.TotalCheckpoints, Source: training.Logged,
		ReviewFile: file, ReviewSHA256: sum,
	}
	if rec.State == blueprint.Candidate || rec.State == "" && !strings.Contains(file, "/retroactive/") {
		p.Type = training.Forward
	}
	if rec.SourcesSHA256 == "" || rec.BlueprintSHA256 == "" {
		return p, "it does not name its code and its blueprint", nil
	}
	design, state, err := Design(b.Root, rec.ServiceID)
	if errors.Is(err, blueprint.ErrNoBlueprint) {
		return p, "its unit no longer has a blueprint", nil
	}
	if err != nil {
		return p, "", err
	}
	now, err := blueprint.SourcesDigest(b.Root, design)
	if err != nil {
		return p, "", err
	}
	if why := p.decide(rec, design, state, now, promotions); why != "" {
		return p, why, nil
	}
	paths := design.Paths()
	if rec.Scope != "" {
		if !slices.Contains(paths, rec.Scope) {
			return p, rec.Scope + " is no longer a source file of the unit", nil
		}
		p.Granularity, p.File, paths = OneFile, &rec.Scope, []string{rec.Scope}
	}
	return b.fill(ctx, p, design, paths)
}

// Design returns the blueprint of a unit: live if it exists, else candidate.
func Design(root, unit string) (*blueprint.Blueprint, blueprint.State, error) {
	d, err := blueprint.Load(root, unit, blueprint.Live)
	if !errors.Is(err, blueprint.ErrNoBlueprint) {
		return d, blueprint.Live, err
	}
	d, err = blueprint.Load(root, unit, blueprint.Candidate)
	return d, blueprint.Candidate, err
}

// live returns the blueprints of all live units.
func live(root string) ([]*blueprint.Blueprint, error) {
	units, err := blueprint.Units(root, blueprint.Live)
	if err != nil {
		return nil, err
	}
	var out []*blueprint.Blueprint
	for _, u := range units {
		b, err := blueprint.Load(root, u, blueprint.Live)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// decide finds the outcome of the reviewed code, or the reason why it is unknown. Code that no longer exists gives no
// pair, because the pair would show other code than the reviewed one.
func (p *Pair) decide(rec lifecycle.Record, design *blueprint.Blueprint, state blueprint.State, now string,
	promotions []lifecycle.Promotion) string {
	if p.Type == training.Retroactive {
		switch {
		case state != blueprint.Live:
			return "its unit is no longer live"
		case now != rec.SourcesSHA256:
			return "the source has changed since the review"
		case design.Digest() != rec.BlueprintSHA256:
			return "the blueprint has changed since the review"
		}
		return ""
	}
	i := slices.IndexFunc(promotions, func(m lifecycle.Promotion) bool {
		return m.Unit == rec.ServiceID && m.Outcome == lifecycle.Promoted && !m.At.Before(rec.ReceivedAt)
	})
	switch {
	case i >= 0 && promotions[i].SourcesSHA256 != now:
		return "the source has changed since it was promoted"
	case i >= 0 && promotions[i].SourcesSHA256 == rec.SourcesSHA256:
		p.Outcome = Passed
	case i >= 0:
		p.Outcome = Modified
	case rec.Decision != lifecycle.Reject:
		return "its unit is not promoted yet"
	case now != rec.SourcesSHA256:
		return "it was rejected, and the rejected code no longer exists"
	default:
		p.Outcome = Failed
	}
	return ""
}

// fill adds the texts: the blueprint, the reviewer's summaries, the code, and the changes before promotion.
func (b Builder) fill(ctx context.Context, p Pair, design *blueprint.Blueprint, paths []string) (Pair, string, error) {
	now, unseen, err := blueprint.Summaries(ctx, b.Summary, design, paths)
	if err != nil {
		return p, "", err
	}
	for _, f := range paths {
		text, err := rooted.Read(b.Root, f, blueprint.MaxSource)
		if errors.Is(err, fs.ErrNotExist) {
			return p, "the source file " + f + " does not exist", nil
		}
		if err != nil {
			return p, "", err
		}
		p.Output = append(p.Output, Source{f, b.Redact(string(text))})
	}
	p.Blueprint = b.Redact(design.YAML())
	if p.File != nil {
		var seen *summary.Summary
		if s, ok := summary.Get(now, *p.File); ok {
			seen = &s
		}
		if scoped, ok := design.Scope(*p.File, seen); ok {
			p.Scoped = b.Redact(scoped.YAML())
		}
	}
	then, found, err := b.reviewed(p.ReviewFile)
	if err != nil {
		return p, "", err
	}
	p.Summaries = now
	if found {
		p.Summaries = then
	}
	if p.Outcome == Modified && found {
		p.Modifications = modifications(then, now, p.Review)
	}
	if len(unseen) > 0 && len(now) == 0 {
		return p, "its source cannot be summarized: " + unseen[0].Reason, nil
	}
	if p.Summaries, err = scrub(p.Summaries, b.Redact); err != nil {
		return p, "", err
	}
	if p.Review, err = scrub(p.Review, b.Redact); err != nil {
		return p, "", err
	}
	if p.Modifications, err = scrub(p.Modifications, b.Redact); err != nil {
		return p, "", err
	}
	p.ID = p.id()
	if _, err := Blocks(p.Service, p.Output); err != nil {
		return p, err.Error(), nil
	}
	return p, "", p.Check()
}

// scrub returns v with hide applied to each string in it, at any depth.
func scrub[T any](v T, hide func(string) string) (T, error) {
	var tree any
	var out T
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &tree)
	}
	if err == nil {
		text, err = json.Marshal(redact.Texts(tree, hide))
	}
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		err = fmt.Errorf("remove secrets: %w", err)
	}
	return out, err
}
