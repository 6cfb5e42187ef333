// Package curate makes a dataset from examples, by a training plan (TRAIN-07). It drops bad examples, near-duplicates
// and surplus examples of one class. It holds out some of the rest for validation. Validation contains nothing that is
// in the training set (TRAIN-18).
//
// The same examples, plan and seed give the same bytes, in any order of the examples. A dataset is written atomically.
package curate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/plan"
)

// Reason says why an example is not in a dataset.
type Reason string

// The reasons, in the order of the checks.
const (
	OtherStage     Reason = "another stage"
	OtherSource    Reason = "another source"
	OtherRepo      Reason = "another repository"
	NoLicense      Reason = "license unknown"
	OtherLicense   Reason = "license not in the plan"
	TooOld         Reason = "before the plan's date"
	LowQuality     Reason = "quality too low"
	UnknownQuality Reason = "quality unknown"
	TooLong        Reason = "too long"
	Copy           Reason = "exact copy"
	Contradiction  Reason = "good and bad at once"
	Near           Reason = "near-duplicate"
	Judged         Reason = "rejected by the model"
	Surplus        Reason = "too many negative"
	Trimmed        Reason = "too many positive"
	TooMany        Reason = "older than the newest examples that the plan uses"
	Leaks          Reason = "would be on both sides of the split"
)

// Reasons returns all reasons in order.
func Reasons() []Reason {
	return []Reason{OtherStage, OtherSource, OtherRepo, NoLicense, OtherLicense, TooOld, LowQuality, UnknownQuality,
		TooLong, Copy, Contradiction, Near, Judged, Surplus, Trimmed, TooMany, Leaks}
}

// Errors of the request, not of the written data.
var (
	ErrNothing = errors.New("no examples remain")
	ErrSplit   = errors.New("no example can be held out for validation without a leak")
	ErrLeak    = errors.New("train and validation share something")
)

// Out is an omitted example.
type Out struct {
	ID     string `json:"id"`
	Reason Reason `json:"reason"`
	Note   string `json:"note,omitempty"`
}

// record is the in-memory part of an example. Its text is in the spool.
type record struct {
	at   int64 // offset in the spool
	size int

	id       string
	positive bool
	pair     bool // a preference pair
	kind     training.Kind
	source   training.Source
	repo     string
	license  string
	quality  *float64
	unix     int64
	hard     []string // keys that must stay on one side: commit, task, prompt
	soft     []string // keys that should stay on one side: file versions
	said     string   // hash of prompt and completion
	line     uint64   // hash of all of it, which orders copies
	sketch   sketch

	out  Reason
	note string
}

// class returns the class within which examples are interchangeable. A positive example never replaces a negative one.
func (r *record) class() string { return fmt.Sprint(r.positive, r.pair, r.kind) }

func (r *record) drop(why Reason, note string) { r.out, r.note = why, note }

// refuse checks one example by itself.
func refuse(p plan.Plan, e training.Example) (Reason, string) {
	d := p.Data
	switch {
	case e.Stage != p.Stage:
		return OtherStage, ""
	case !slices.Contains(d.Sources, e.Source):
		return OtherSource, ""
	case len(d.Repos) > 0 && !slices.Contains(d.Repos, e.Origin.Repo):
		return OtherRepo, e.Origin.Repo
	case len(d.Licenses) > 0 && e.Origin.License == "":
		return NoLicense, e.Origin.Repo
	case !Allowed(d.Licenses, e.Origin.License):
		return OtherLicense, e.Origin.License
	case e.Origin.At.Before(d.Since):
		return TooOld, ""
	case !e.Positive || e.Rejected != "":
		// A negative example may be bad, and of a pair only the difference counts.
	case e.Quality == nil && d.UnknownQuality == plan.Drop:
		return UnknownQuality, ""
	case e.Quality != nil && *e.Quality < d.MinQuality:
		return LowQuality, fmt.Sprintf("%.3f", *e.Quality)
	}
	if n := Tokens(e); d.MaxTokens > 0 && n > d.MaxTokens {
		return TooLong, fmt.Sprintf("about %d tokens", n)
	}
	return "", ""
}

// Allowed reports whether a license may be used. A license is an SPDX id, or several ids joined with AND; then each id
// must be in the list. An empty list allows all.
func Allowed(list []string, license string) bool {
	if len(list) == 0 {
		return true
	}
	return !slices.ContainsFunc(strings.Split(license, " AND "), func(id string) bool {
		return !slices.ContainsFunc(list, func(l string) bool { return strings.EqualFold(l, id) })
	})
}

// Tokens estimates the tokens of an example: the prompt and the longer of its answers.
func Tokens(e training.Example) int {
	n := lists.Sum(e.Prompt, func(m training.Message) int { return tokens.Estimate(m.Content) })
	return n + max(tokens.Estimate(e.Completion), tokens.Estimate(e.Rejected))
}

// better orders examples with the same content by preference.
func better(a, b *record) int {
	quality := func(r *record) float64 {
		if r.quality == nil {
			return -1
		}
		return *r.quality
	}
	return cmp.Or(cmp.Compare(quality(b), quality(a)), cmp.Compare(b.unix, a.unix), cmp.Compare(a.id, b.id),
		cmp.Compare(a.line, b.line))
}

// copies drops duplicates, and examples that are both positive and negative.
func copies(all []*record) {
	slices.SortFunc(all, better)
	byID, bySaid := map[string]*record{}, map[string][]*record{}
	for _, r := range all {
		if first, twice := byID[r.id]; twice {
			if first.positive != r.positive {
				first.drop(Contradiction, "")
				r.drop(Contradiction, "")
			} else {
				r.drop(Copy, "of "+first.id)
			}
			continue
		}
		byID[r.id] = r
		if !r.pair {
			bySaid[r.said] = append(bySaid[r.said], r)
		}
	}
	for _, same := range bySaid {
		if slices.ContainsFunc(same, func(r *record) bool { return r.positive != same[0].positive }) {
			for _, r := range same {
				r.drop(Contradiction, "")
			}
		}
	}
}

// balance drops random examples until the ratio of the plan is met.
func balance(p plan.Plan, all []*record) {
	var good, bad []*record
	for _, r := range left(all) {
		switch {
		case r.pair:
		case r.positive:
			good = append(good, r)
		default:
			bad = append(bad, r)
		}
	}
	g, b := Balance(len(good), len(bad), p.Data.NegativeRatio, p.Data.TrimPositive)
	sample(p.Seed, bad, b, Surplus)
	sample(p.Seed, good, g, Trimmed)
}

// Balance returns how many positive and negative examples to use, with at most ratio negative ones for each positive
// one. With trim it also drops positive examples if there are too few negative ones.
func Balance(positive, negative int, ratio float64, trim bool) (good, bad int) {
	good, bad = positive, negative
	if most := float64(positive) * ratio; float64(bad) > most {
		bad = int(most)
	}
	if least := float64(negative) / ratio; trim && ratio > 0 && float64(good) > least {
		good = int(least)
	}
	return good, bad
}

// sample keeps n random records.
func sample(seed uint64, of []*record, n int, why Reason) {
	slices.SortFunc(of, func(a, b *record) int {
		return cmp.Or(cmp.Compare(lot(seed, a.id), lot(seed, b.id)), cmp.Compare(a.id, b.id))
	})
	for _, r := range of[n:] {
		r.drop(why, "")
	}
}

// newest keeps the newest n records.
func newest(all []*record, n int, seed uint64) {
	if n == 0 {
		return
	}
	rest := left(all)
	inTime(rest, seed)
	for _, r := range rest[:max(0, len(rest)-n)] {
		r.drop(TooMany, "")
	}
}

// left returns the records that no check has dropped.
func left(all []*record) []*record {
	return lists.Filter(all, func(r *record) bool { return r.out == "" })
}

// inTime sorts records by time. The seed decides between equal times.
func inTime(all []*record, seed uint64) {
	slices.SortFunc(all, func(a, b *record) int {
		return cmp.Or(cmp.Compare(a.unix, b.unix), cmp.Compare(lot(seed, a.id), lot(seed, b.id)), cmp.Compare(a.id, b.id))
	})
}

// similar drops near-duplicates of better examples. It returns the near-duplicate pairs that stay because one is
// positive and one negative; they must be on one side of the split.
func similar(ctx context.Context, p plan.Plan, all []*record, text func(*record) (shingles, error)) ([][2]*record,
	error) {
	rest := left(all)
	slices.SortFunc(rest, better)
	found, err := pairs(ctx, rest, p.Data.NearDuplicate, text)
	if err != nil {
		return nil, err
	}
	for _, f := range found { // in order of the better one, so that a dropped example drops no others
		if f.a.out == "" && f.b.out == "" && f.a.class() == f.b.class() {
			f.b.drop(Near, fmt.Sprintf("%.3f like %s", f.like, f.a.id))
		}
	}
	var out [][2]*record
	for _, f := range found {
		if f.a.out == "" && f.b.out == "" {
			out = append(out, [2]*record{f.a, f.b})
		}
	}
	return out, nil
}
