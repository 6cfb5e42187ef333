package corpus

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/gates/blueprint/lifecycle"
	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/rooted"
	"github.com/runplan/runplan/training/curriculum"
)

// Enough is the mean confidence from which a live unit qualifies for a review (TRAIN-14).
const Enough = 0.6

// Qualified says whether a live unit belongs to the retroactive corpus, and why.
type Qualified struct {
	Unit       string   `json:"unit"`
	Confidence float64  `json:"confidence"` // mean of the numeric values; 0: none
	Named      int      `json:"named"`      // number of numeric values
	OK         bool     `json:"qualifies"`
	Files      []string `json:"files"`
}

// Qualify checks all live units.
func Qualify(root string) ([]Qualified, error) {
	units, err := live(root)
	out := []Qualified{}
	for _, b := range units {
		q := Qualified{Unit: b.Unit, Files: b.Paths()}
		q.Confidence, q.Named = confidence(b.Meta.Confidence)
		q.OK = q.Confidence >= Enough-1e-9 // tolerance for floating-point sums
		out = append(out, q)
	}
	return out, err
}

// confidence returns the mean of the confidences in a blueprint, or 0 without any.
func confidence(c blueprint.Confidence) (mean float64, n int) {
	for _, v := range []*float64{c.Runtime, c.Contract, c.Dependencies, c.FailureModes, c.Intent} {
		if v != nil {
			mean += *v
			n++
		}
	}
	if n > 0 {
		mean /= float64(n)
	}
	return mean, n
}

// Reviewed is a manifest entry: a review in the retroactive corpus and its subject (TRAIN-15).
type Reviewed struct {
	Unit            string    `json:"unit"`
	File            string    `json:"file_scope,omitempty"` // "": the unit
	Review          string    `json:"review"`
	Prompt          string    `json:"prompt"`
	Summaries       string    `json:"summaries"`
	BlueprintSHA256 string    `json:"blueprint_sha256"`
	SourcesSHA256   string    `json:"sources_sha256"`
	Fidelity        float64   `json:"ground_truth_fidelity"`
	Model           string    `json:"model,omitempty"`
	At              time.Time `json:"reviewed_at"`
}

// Manifest is corpus_manifest.json.
type Manifest struct {
	Reviews []Reviewed `json:"reviews"`
}

func manifestFile(adapter string) string {
	return path.Join(curriculum.Dir(adapter), "retroactive", "corpus_manifest.json")
}

// LoadManifest reads the manifest. Without a file it is empty.
func LoadManifest(root, adapter string) (Manifest, error) {
	m := Manifest{Reviews: []Reviewed{}}
	err := atomicfile.ReadJSON(filepath.Join(root, filepath.FromSlash(manifestFile(adapter))), &m)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("read %s: %w", manifestFile(adapter), err)
	}
	return m, nil
}

func (m *Manifest) put(r Reviewed) {
	for i := range m.Reviews {
		if m.Reviews[i].Unit == r.Unit && m.Reviews[i].File == r.File {
			m.Reviews[i] = r
			return
		}
	}
	m.Reviews = append(m.Reviews, r)
}

func (m Manifest) write(root, adapter string) error {
	name := filepath.Join(root, filepath.FromSlash(manifestFile(adapter)))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	return atomicfile.WriteJSON(name, m, 0o644)
}

// Collector reviews live units for the retroactive corpus.
type Collector struct {
	Root    string
	Adapter string
	// Review makes a cold review of a live unit or of one of its files. It stores the review of a unit with all
	// reviews; the review of a file is not stored.
	Review   func(ctx context.Context, unit, file string) (*lifecycle.Review, lifecycle.Record, error)
	OnReview func(Reviewed) // receives each review; may be nil
}

// Collect reviews each qualifying unit and each of its files (C-23). It skips what is unchanged since its review. It
// writes the manifest after each review, so that an interrupted call can be continued.
func (c Collector) Collect(ctx context.Context, units []Qualified) (done []Reviewed, kept int, err error) {
	m, err := LoadManifest(c.Root, c.Adapter)
	if err != nil {
		return nil, 0, err
	}
	for _, q := range units {
		if !q.OK {
			continue
		}
		b, err := blueprint.Load(c.Root, q.Unit, blueprint.Live)
		if err != nil {
			return done, kept, err
		}
		sources, err := blueprint.SourcesDigest(c.Root, b)
		if err != nil {
			return done, kept, err
		}
		for _, file := range append([]string{""}, b.Paths()...) {
			if ctx.Err() != nil {
				return done, kept, ctx.Err()
			}
			if m.has(c.Root, q.Unit, file, b.Digest(), sources) {
				kept++
				continue
			}
			r, err := c.one(ctx, q.Unit, file)
			if err != nil {
				return done, kept, err
			}
			m.put(r)
			if err := m.write(c.Root, c.Adapter); err != nil {
				return done, kept, err
			}
			done = append(done, r)
			if c.OnReview != nil {
				c.OnReview(r)
			}
		}
	}
	return done, kept, nil
}

// has reports whether the manifest contains a review of exactly this blueprint and code.
func (m Manifest) has(root, unit, file, design, sources string) bool {
	for _, r := range m.Reviews {
		if r.Unit == unit && r.File == file && r.BlueprintSHA256 == design && r.SourcesSHA256 == sources {
			return rooted.Exists(root, r.Review)
		}
	}
	return false
}

func (c Collector) one(ctx context.Context, unit, file string) (Reviewed, error) {
	r, rec, err := c.Review(ctx, unit, file)
	if err != nil {
		return Reviewed{}, err
	}
	shown := strings.Replace(strings.TrimSuffix(r.PromptPath(), ".txt"), "review_prompt_", "ast_summaries_", 1) + ".json"
	out := Reviewed{
		Unit: unit, File: file, Review: r.AnswerPath(), Prompt: r.PromptPath(), Summaries: shown,
		BlueprintSHA256: rec.BlueprintSHA256,
		SourcesSHA256:   rec.SourcesSHA256, Fidelity: rec.GroundTruthFidelity, Model: rec.Cold.Model, At: rec.ReceivedAt,
	}
	if file == "" {
		return out, nil
	}
	return c.perFile(out, rec)
}

// perFile copies the review of one file to per_file, under the name of that file.
func (c Collector) perFile(r Reviewed, rec lifecycle.Record) (Reviewed, error) {
	base := path.Join(curriculum.Dir(c.Adapter), "retroactive", r.Unit, "per_file", strings.ReplaceAll(r.File, "/", "__"))
	at := func(name string) string { return filepath.Join(c.Root, filepath.FromSlash(name)) }
	if err := os.MkdirAll(filepath.Dir(at(base)), 0o755); err != nil {
		return r, fmt.Errorf("keep the review of %s: %w", r.File, err)
	}
	for _, f := range []struct {
		from *string
		to   string
	}{{&r.Summaries, base + "_summary.json"}, {&r.Prompt, base + "_prompt.txt"}} {
		if err := os.Rename(at(*f.from), at(f.to)); err != nil {
			return r, fmt.Errorf("keep the review of %s: %w", r.File, err)
		}
		*f.from = f.to
	}
	r.Review = base + "_review.json"
	return r, atomicfile.WriteJSON(at(r.Review), rec, 0o644)
}
