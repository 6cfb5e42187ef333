// Package curate makes a dataset out of examples, by a training plan (TRAIN-07): it leaves bad ones out, one of each two that
// say nearly the same, and what is too much of one sort, and keeps some of the rest for validation, so that nothing of what
// a model is tested on was in what it has learnt from (TRAIN-18).
//
// The same examples, plan and seed make the same bytes, in whatever order the examples come. A dataset is there as a whole
// or not at all.
package curate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/plan"
)

// Reason tells why an example is not in a dataset.
type Reason string

// The reasons, in the order in which they are asked for.
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
	Surplus        Reason = "too many negative"
	Trimmed        Reason = "too many positive"
	TooMany        Reason = "older than the newest that the plan takes"
	Leaks          Reason = "would be on both sides of the split"
)

// Reasons returns all reasons, in their order.
func Reasons() []Reason {
	return []Reason{OtherStage, OtherSource, OtherRepo, NoLicense, OtherLicense, TooOld, LowQuality, UnknownQuality, TooLong, Copy, Contradiction, Near, Surplus, Trimmed, TooMany, Leaks}
}

// The errors of what is asked, not of what is written.
var (
	ErrNothing = errors.New("there are no examples to take")
	ErrSplit   = errors.New("nothing can be kept for validation without a leak")
	ErrLeak    = errors.New("train and validation share something")
)

// Out is one example that is left out.
type Out struct {
	ID     string `json:"id"`
	Reason Reason `json:"reason"`
	Note   string `json:"note,omitempty"`
}

// record is what is kept of an example in memory; its text is in the spool.
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
	hard     []string // what has to stay together: commit, task, prompt
	soft     []string // file versions
	said     string   // sum of prompt and completion
	line     uint64   // sum of all of it, which tells copies apart
	sketch   sketch

	out  Reason
	note string
}

// class tells which examples may stand for each other: a good answer never stands for a bad one.
func (r *record) class() string { return fmt.Sprint(r.positive, r.pair, r.kind) }

func (r *record) drop(why Reason, note string) { r.out, r.note = why, note }

// refuse looks at one example by itself.
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
		// A bad example is there to be bad, and of a pair only the difference counts.
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

// Allowed tells whether a license may be used: an SPDX id, or several joined with AND, of which each has to be in the
// list. An empty list allows all.
func Allowed(list []string, license string) bool {
	if len(list) == 0 {
		return true
	}
	for _, id := range strings.Split(license, " AND ") {
		if !slices.ContainsFunc(list, func(l string) bool { return strings.EqualFold(l, id) }) {
			return false
		}
	}
	return true
}

// Tokens estimates what a model has to hold of an example: the prompt, and the longer of its answers.
func Tokens(e training.Example) int {
	n := 0
	for _, m := range e.Prompt {
		n += tokens.Estimate(m.Content)
	}
	return n + max(tokens.Estimate(e.Completion), tokens.Estimate(e.Rejected))
}

// better orders examples that say the same: which of them stays.
func better(a, b *record) int {
	quality := func(r *record) float64 {
		if r.quality == nil {
			return -1
		}
		return *r.quality
	}
	return cmp.Or(cmp.Compare(quality(b), quality(a)), cmp.Compare(b.unix, a.unix), cmp.Compare(a.id, b.id), cmp.Compare(a.line, b.line))
}

// copies leaves out what is there twice, and what is once good and once bad.
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

// balance leaves examples out until there are no more negative ones than the plan takes; which, chance decides.
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

// Balance returns how many positive and negative examples are taken of so many, where there may be ratio negative ones for a
// positive one. With trim, positive ones are left out where there are too few negative ones.
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

// sample keeps n of some records.
func sample(seed uint64, of []*record, n int, why Reason) {
	slices.SortFunc(of, func(a, b *record) int {
		return cmp.Or(cmp.Compare(lot(seed, a.id), lot(seed, b.id)), cmp.Compare(a.id, b.id))
	})
	for _, r := range of[n:] {
		r.drop(why, "")
	}
}

// newest keeps the newest n.
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

// left are those that nothing was found against.
func left(all []*record) []*record {
	var out []*record
	for _, r := range all {
		if r.out == "" {
			out = append(out, r)
		}
	}
	return out
}

// inTime orders records by their time; of two at the same time, chance decides.
func inTime(all []*record, seed uint64) {
	slices.SortFunc(all, func(a, b *record) int {
		return cmp.Or(cmp.Compare(a.unix, b.unix), cmp.Compare(lot(seed, a.id), lot(seed, b.id)), cmp.Compare(a.id, b.id))
	})
}

// similar leaves out what says nearly the same as a better example, and returns the pairs of those that are left and
// nevertheless say nearly the same, one being good and the other bad: they have to be on one side of the split.
func similar(ctx context.Context, p plan.Plan, all []*record, text func(*record) (shingles, error)) ([][2]*record, error) {
	rest := left(all)
	slices.SortFunc(rest, better)
	found, err := pairs(ctx, rest, p.Data.NearDuplicate, text)
	if err != nil {
		return nil, err
	}
	for _, f := range found { // in the order of the better one, so that what is left out leaves nothing else out
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
