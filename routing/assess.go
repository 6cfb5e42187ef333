package routing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/planparse"
)

const (
	assessWorkers = 3    // number of workers in the advice
	mostAssessed  = 60   // maximum number of batches in a plan to try changes on
	mostParallel  = 3    // maximum number of suggestions for a parallel plan
	leastFaster   = 0.05 // minimum share of the time that a suggested change must save
)

// Assess suggests improvements of a plan (PLAN-10): undeclared dependencies, and changes with which more batches could
// run in parallel, with the simulated speed-up. It returns nothing for a plan that cannot be routed.
func Assess(p *planparse.Plan) []planparse.Advice {
	g, err := dependencies(p, nil)
	if err != nil || g.big {
		return nil
	}
	runs := workOf(p)
	for i := range runs {
		runs[i] = runs[i] && !p.Batches[i].Done()
	}
	s := layoutOf(g, runs)
	return slices.Concat(s.parallelSafe(), s.sharedRuntime(), s.undeclared(), s.parallel())
}

// workOf reports which batches are work: the others are empty or checkpoints.
func workOf(p *planparse.Plan) []bool {
	runs := make([]bool, len(p.Batches))
	for i := range p.Batches {
		runs[i] = !p.Batches[i].Empty && p.Batches[i].Checkpoint == nil
	}
	return runs
}

// parallelSafe suggests the mark parallel_safe for batches that share no file with others, and that only the
// plan's order ties to others. It omits batches that wire others together.
func (s *layout) parallelSafe() []planparse.Advice {
	tied := map[int]bool{}
	for pair, e := range s.found {
		if e.kinds[0] != EdgeOrder && !strings.HasPrefix(e.reasons[0], "the title says") {
			tied[pair[0]], tied[pair[1]] = true, true
		}
	}
	var keys []string
	for _, i := range s.run {
		b := &s.plan.Batches[i]
		if len(s.does[i].all) > 0 && !tied[i] && !b.ParallelSafe && len(b.DependsOn)+len(s.hints[i]) == 0 &&
			planparse.TypeOf(*b) != planparse.TypeWiring {
			keys = append(keys, b.Key)
		}
	}
	if len(keys) < 2 {
		return nil
	}
	return []planparse.Advice{{Code: "parallel-safe", Line: 1,
		Message: fmt.Sprintf("batches %s touch files that no other batch touches, and none names what "+
			"another one makes; write \"parallel_safe: true\" below their headings", strings.Join(keys, ", "))}}
}

// sharedRuntime reports batches that are marked parallel_safe but use machine state.
func (s *layout) sharedRuntime() []planparse.Advice {
	var out []planparse.Advice
	for _, i := range s.run {
		if b := &s.plan.Batches[i]; b.ParallelSafe && len(s.hints[i]) > 0 {
			message := fmt.Sprintf("batch %s is marked parallel_safe but %s", b.Key, strings.Join(s.hints[i], ", "))
			out = append(out, planparse.Advice{Code: "shared-runtime", Batch: b.Key, Line: b.StartLine, Message: message})
		}
	}
	return out
}

// undeclared suggests depends_on for dependencies that follow from files or text.
func (s *layout) undeclared() []planparse.Advice {
	var out []planparse.Advice
	for _, to := range s.run {
		b := &s.plan.Batches[to]
		var on, why []string
		for _, from := range s.needs[to] {
			e := s.found[[2]int{from, to}]
			if e == nil || s.plan.Batches[from].Done() || e.kinds[0] != EdgeFiles && e.kinds[0] != EdgeText ||
				strings.HasPrefix(e.reasons[0], "the title says") {
				continue
			}
			on = append(on, "batch-"+s.plan.Batches[from].Key)
			why = append(why, fmt.Sprintf("%s (%s)", s.name(from), e.reasons[0]))
		}
		if len(on) > 0 {
			message := fmt.Sprintf("%s needs %s; add: \"depends_on: %s\"", s.name(to), strings.Join(why, ", "),
				strings.Join(slices.Concat(b.DependsOn, on), ", "))
			out = append(out, planparse.Advice{Code: "depends-on", Batch: b.Key, Line: b.StartLine, Message: message})
		}
	}
	return out
}

// stated is the duration of a batch that the plan states, or 0.
func (s *layout) stated(i int) time.Duration {
	return time.Duration(s.plan.Batches[i].EstimateMS) * time.Millisecond
}

// change is a possible change to one batch.
type change struct {
	batch int
	what  string // for people
	make  func(b *planparse.Batch)
}

// parallel tries each change separately and suggests the changes that save most time.
func (s *layout) parallel() []planparse.Advice {
	if len(s.run) > mostAssessed {
		return nil
	}
	alone, now, _ := s.simulate(assessWorkers, s.stated)
	type gain struct {
		change
		then time.Duration
	}
	var gains []gain
	for _, c := range s.changes() {
		p := *s.plan
		p.Batches = slices.Clone(p.Batches)
		c.make(&p.Batches[c.batch])
		g, err := dependencies(&p, nil)
		if err != nil {
			continue
		}
		_, then, _ := layoutOf(g, s.runs).simulate(assessWorkers, s.stated)
		if float64(now-then) >= leastFaster*float64(now) {
			gains = append(gains, gain{c, then})
		}
	}
	slices.SortStableFunc(gains, func(a, b gain) int { return cmp.Compare(a.then, b.then) })
	var out []planparse.Advice
	for _, x := range gains[:min(len(gains), mostParallel)] {
		b := &s.plan.Batches[x.batch]
		message := fmt.Sprintf("%s, %d workers would be %s times as fast as one, instead of %s times (by simulation)",
			x.what, assessWorkers, ratio(alone, x.then), ratio(alone, now))
		out = append(out, planparse.Advice{Code: "more-parallel", Batch: b.Key, Line: b.StartLine, Message: message})
	}
	return out
}

func ratio(a, b time.Duration) string { return fmt.Sprintf("%.1f", float64(a)/float64(max(b, 1))) }

// changes lists the possible changes: name the files of a batch, or avoid files that two batches share.
func (s *layout) changes() []change {
	var out []change
	for _, to := range s.run {
		if s.open(to) {
			own := fmt.Sprintf("runplan-assess/%d/own", to)
			out = append(out, change{to, s.name(to) +
				" names no files, so it runs after all earlier batches: if it named them, and shared none",
				func(b *planparse.Batch) {
					b.Files.Modify = append(slices.Clone(b.Files.Modify), own)
				}})
		}
		for _, from := range s.needs[to] {
			if e := s.found[[2]int{from, to}]; e == nil || e.kinds[0] != EdgeFiles {
				continue
			}
			both := shared(s.does[from], s.does[to])
			what := fmt.Sprintf("%s and %s share %s: if %s left %s alone", s.name(from), s.name(to), list(both), s.name(to),
				phrase.Count(len(both), "file"))
			out = append(out, change{to, what, func(b *planparse.Batch) {
				for _, files := range b.Files.Actions() {
					*files = slices.DeleteFunc(slices.Clone(*files), func(p string) bool { return slices.Contains(both, clean(p)) })
				}
				b.Files.Modify = append(b.Files.Modify, fmt.Sprintf("runplan-assess/%d/own", to))
				for _, p := range both {
					b.Text = strings.ReplaceAll(b.Text, p, "")
				}
			}})
		}
	}
	return out
}
