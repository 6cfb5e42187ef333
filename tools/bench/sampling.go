package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/svg"
	"github.com/runplan/runplan/sampling"
)

// world holds the pass rates of the variants for a type of batch, before and after the model, or the code base,
// changes.
type world struct {
	batchType     string
	before, after map[string]float64
}

// worlds has one world for each type of batch. After half of the batches, the best variant becomes the worst.
func worlds() []world {
	swap := func(batchType string, v, a, b, c, d float64, names ...string) world {
		w := world{batchType, map[string]float64{sampling.Vanilla: v}, map[string]float64{sampling.Vanilla: v}}
		for i, p := range []float64{a, b, c, d}[:len(names)] {
			w.before[names[i]] = p
			w.after[names[len(names)-1-i]] = p
		}
		return w
	}
	return []world{
		swap("new-file", 0.30, 0.60, 0.30, 0.20, 0.05, sampling.WriteTestsFirst, sampling.CheckAllImports,
			sampling.MinimalChange, sampling.DifferentApproach),
		swap("refactoring", 0.30, 0.55, 0.25, 0.10, 0, sampling.MinimalChange, sampling.RunTestsAfterEdit,
			sampling.DifferentApproach),
		swap("integration-wiring", 0.20, 0.45, 0.25, 0.15, 0.05, sampling.TraceEndToEnd, sampling.CheckImportExport,
			sampling.DifferentApproach, sampling.MinimalChange),
		swap("test-only", 0.40, 0.70, 0.50, 0.30, 0.10, sampling.RealObjects, sampling.EdgeCasesOnly,
			sampling.DifferentApproach, sampling.MinimalChange),
	}
}

// mixed is the name of all types in turn, as plans have them: each type then has a quarter of the outcomes.
const mixed = "four types in turn"

// strategy chooses the slots of a tournament.
type strategy func(w world, history []sampling.Outcome, rng *rand.Rand) []sampling.Slot

const (
	simCandidates = 3
	simBatches    = 500
)

// learning is the sampling strategy of runplan; forget is the weight that an outcome loses with each later one.
func learning(forget float64) strategy {
	o := sampling.DefaultOptions()
	o.Forget = forget
	return func(w world, history []sampling.Outcome, rng *rand.Rand) []sampling.Slot {
		return sampling.Allocate(sampling.Ask{BatchType: w.batchType, Count: simCandidates, Digest: true}, history, rng, o)
	}
}

// uniform selects the vanilla slot and random others.
func uniform(w world, _ []sampling.Outcome, rng *rand.Rand) []sampling.Slot {
	o := sampling.DefaultOptions()
	o.LearnAfter = 0
	return sampling.Allocate(sampling.Ask{BatchType: w.batchType, Count: simCandidates, Digest: true}, nil, rng, o)
}

// fixed always returns the list of a cold start.
func fixed(w world, _ []sampling.Outcome, rng *rand.Rand) []sampling.Slot {
	return sampling.Allocate(sampling.Ask{BatchType: w.batchType, Count: simCandidates, Digest: true}, nil, rng,
		sampling.DefaultOptions())
}

// knowing has the best variant in the learned slot. Like all strategies, it must keep the vanilla and the experimental
// slot.
func knowing(after bool) strategy {
	return func(w world, _ []sampling.Outcome, rng *rand.Rand) []sampling.Slot {
		rest := w.ranked(after)
		other := 1 + rng.IntN(len(rest)-1)
		slots := make([]sampling.Slot, 0, simCandidates)
		for _, name := range []string{sampling.Vanilla, rest[0], rest[other]} {
			v, _ := sampling.Named(name)
			slots = append(slots, sampling.Slot{Number: len(slots) + 1, Variant: v})
		}
		return slots
	}
}

// ranked lists the variants besides vanilla, the best first.
func (w world) ranked(after bool) []string {
	rates := w.rates(after)
	var names []string
	for name := range rates {
		if name != sampling.Vanilla {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if rates[a] != rates[b] {
			return map[bool]int{true: -1, false: 1}[rates[a] > rates[b]]
		}
		return strings.Compare(a, b)
	})
	return names
}

func (w world) rates(after bool) map[string]float64 {
	if after {
		return w.after
	}
	return w.before
}

// chance returns the probability that at least one of these variants passes.
func chance(rates map[string]float64, names ...string) float64 {
	none := 1.0
	for _, name := range names {
		none *= 1 - rates[name]
	}
	return 1 - none
}

// course is the mean result of a strategy over all seeds.
type course struct {
	wins   float64
	regret []float64 // up to each batch
	best   []float64 // share of tournaments with the best variant in them
}

// simulate runs tournaments for one type of batch, or for several in turn. Regret is the difference in pass probability
// between the chosen slots and the best choice: vanilla with the best two others. It adds up probabilities, not random
// outcomes, so fewer seeds suffice.
func simulate(ws []world, seeds int, choose func(after bool) strategy) course {
	c := course{regret: make([]float64, simBatches), best: make([]float64, simBatches)}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		var history []sampling.Outcome
		total := 0.0
		for i := range simBatches {
			w, after := ws[i%len(ws)], i >= simBatches/2
			rates, ranked := w.rates(after), w.ranked(after)
			slots := choose(after)(w, history, rng)
			var names []string
			for _, s := range slots {
				names = append(names, s.Variant.Name)
			}
			total += chance(rates, sampling.Vanilla, ranked[0], ranked[1]) - chance(rates, names...)
			c.regret[i] += total / float64(seeds)
			if slices.Contains(names, ranked[0]) {
				c.best[i] += 1 / float64(seeds)
			}
			cands := play(slots, rates, rng)
			d := sampling.Decide(cands, sampling.DefaultOptions())
			if d.Leader != 0 {
				c.wins += 1 / float64(seeds)
			}
			history = append(history,
				sampling.Held{BatchType: w.batchType, At: at, Round1: cands, Decision: d, Final: d}.Outcomes()...)
		}
	}
	return c
}

// play draws the candidates that pass. It draws their scores too, so that a variant gains only by passing.
func play(slots []sampling.Slot, rates map[string]float64, rng *rand.Rand) []sampling.Candidate {
	var out []sampling.Candidate
	for _, s := range slots {
		m := sampling.Measure{Passed: rng.Float64() < rates[s.Variant.Name], Tests: 10 + rng.IntN(20),
			DiffLines: 20 + rng.IntN(200)}
		out = append(out, sampling.Candidate{Number: s.Number, Slot: s, Measure: m, Score: sampling.Score(m)})
	}
	return out
}

// sampling simulates tournaments with the production code. It measures the benefit of learning, the rate of forgetting,
// and whether several candidates pass as often as independent ones should. With a path it draws the regret of the first
// world there.
func (b *bench) sampling(picture string) error {
	seeds := b.of(400, 200)
	always := func(s strategy) func(bool) strategy { return func(bool) strategy { return s } }
	o := sampling.DefaultOptions()
	var curves []curve
	for i, ws := range append(singly(), worlds()) {
		name := ws[0].batchType
		if len(ws) > 1 {
			name = mixed
		}
		learned := simulate(ws, seeds, always(learning(o.Forget)))
		even := simulate(ws, seeds, always(uniform))
		list := simulate(ws, seeds, always(fixed))
		knows := simulate(ws, seeds, knowing)
		last := simBatches - 1
		row := func(what string, floor course) {
			b.figures = append(b.figures, figure{
				fmt.Sprintf("regret of learned slots, %s (%s)", name, what),
				fmt.Sprintf("%.1f, %.1f wins", learned.regret[last], learned.wins),
				fmt.Sprintf("%.1f, %.1f wins", floor.regret[last], floor.wins),
				fmt.Sprintf("%.2f", learned.regret[last]/floor.regret[last]), "< 1×", learned.regret[last] < floor.regret[last],
			})
		}
		row("by chance", even)
		row("fixed list", list)
		b.figures = append(b.figures, figure{
			what:  "  the same (known rates, with the slots for vanilla and chance)",
			value: fmt.Sprintf("%.1f", learned.regret[last]),
			floor: fmt.Sprintf("%.1f", knows.regret[last]), ratio: fmt.Sprintf("%.2f", learned.regret[last]/knows.regret[last]),
		})
		half := simBatches / 2
		b.figures = append(b.figures, figure{
			what: fmt.Sprintf("  best variant is in, batches %d-%d, %d-%d, %d-%d (by chance)", half-49, half, half+1, half+50,
				simBatches-49, simBatches),
			value: fmt.Sprintf("%.0f %%, %.0f %%, %.0f %%", share(learned.best[half-50:half]), share(learned.best[half:half+50]),
				share(learned.best[simBatches-50:])),
			floor: fmt.Sprintf("%.0f %%", share(even.best)), ratio: "-",
		})
		if i == 0 {
			curves = []curve{{"fixed list", "#a0a0a0", list.regret}, {"by chance", "#c06020", even.regret},
				{"learned", "#2060c0", learned.regret}, {"known rates", "#208040", knows.regret}}
		}
	}
	if !b.quick {
		b.forgetting(seeds / 4)
	}
	b.passRates(b.of(200_000, 20_000))
	if picture == "" {
		return nil
	}
	return os.WriteFile(picture, []byte(regretSVG(curves)), 0o644)
}

func share(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return 100 * sum / float64(len(values))
}

// singly returns each world on its own.
func singly() [][]world {
	var out [][]world
	for _, w := range worlds() {
		out = append(out, []world{w})
	}
	return out
}

// forgetting sums up the regret of all types for several rates of forgetting, before and after the change, and uses
// that of the mix, in which outcomes are rare.
func (b *bench) forgetting(seeds int) {
	for _, forget := range []float64{0, 0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.05} {
		always := func(bool) strategy { return learning(forget) }
		var before, all float64
		for _, ws := range singly() {
			c := simulate(ws, seeds, always)
			before, all = before+c.regret[simBatches/2-1], all+c.regret[simBatches-1]
		}
		mix := simulate(worlds(), 4*seeds, always).regret[simBatches-1]
		b.figures = append(b.figures, figure{
			what:  fmt.Sprintf("regret of each type, forgetting %g (before, after the change)", forget),
			value: fmt.Sprintf("%.1f; %s %.1f", all, mixed, mix),
			floor: fmt.Sprintf("%.1f, %.1f", before, all-before), ratio: "-",
		})
	}
}

// passRates compares how often a tournament of three has a passed candidate with the expectation for independent
// candidates.
func (b *bench) passRates(tries int) {
	v, _ := sampling.Named(sampling.Vanilla)
	slots := []sampling.Slot{{Number: 1, Variant: v}, {Number: 2, Variant: v}, {Number: 3, Variant: v}}
	const streams = 8 // of random numbers: no single seed decides
	for k := 1; k <= 9; k++ {
		p := float64(k) / 10
		won := 0
		for seed := range uint64(streams) {
			rng := rand.New(rand.NewPCG(seed, uint64(k)))
			for range tries / streams {
				if d := sampling.Decide(play(slots, map[string]float64{sampling.Vanilla: p}, rng),
					sampling.DefaultOptions()); d.Leader != 0 {
					won++
				}
			}
		}
		got, want := float64(won)/float64(tries), 1-math.Pow(1-p, 3)
		// Four standard errors: beyond them it is not chance.
		off := 4 * math.Sqrt(want*(1-want)/float64(tries))
		b.figures = append(b.figures, figure{
			fmt.Sprintf("pass rate of 3 candidates, p = %.1f (1-(1-p)^3)", p), fmt.Sprintf("%.4f", got),
			fmt.Sprintf("%.4f", want),
			fmt.Sprintf("%.4f", got/want), fmt.Sprintf("± %.4f", off), math.Abs(got-want) <= off,
		})
	}
}

// curve is a line of the picture.
type curve struct {
	name, colour string
	values       []float64
}

// regretSVG draws curves of regret over batches. The same curves give the same bytes.
func regretSVG(curves []curve) string {
	const width, height, left, right, top, bottom = 720, 380, 50, 130, 40, 40
	most := 0.0
	for _, c := range curves {
		most = max(most, slices.Max(c.values))
	}
	step := 5.0
	for most/step > 8 {
		step *= 2
	}
	most = math.Ceil(most/step) * step
	x := func(i int) float64 { return left + float64(i)*(width-left-right)/simBatches }
	y := func(v float64) float64 { return height - bottom - v/most*(height-top-bottom) }
	s := svg.New("c", "regret of the strategies", "", width, height)
	s.Draw(`<g font-family="sans-serif" font-size="12"><rect width="%v" height="%v" fill="#ffffff"/>`+"\n", width, height)
	s.Draw(`<text x="%v" y="20" font-size="14">Passes lost against the best choice of variants, new-file batches, `+
		"3 candidates each</text>\n", left)
	for v := 0.0; v <= most; v += step {
		s.Draw(`<path d="M%v %vH%v" stroke="#e0e0e0"/><text x="%v" y="%v" text-anchor="end">%v</text>`+"\n",
			left, y(v), width-right, left-6, y(v)+4, v)
	}
	for i := 0; i <= simBatches; i += 100 {
		s.Draw(`<text x="%v" y="%v" text-anchor="middle">%v</text>`+"\n", x(i), height-bottom+18, i)
	}
	s.Draw(`<path d="M%v %vV%v" stroke="#808080" stroke-dasharray="4 4"/><text x="%v" y="%v">success rates change</text>`+
		"\n", x(simBatches/2), top, height-bottom, x(simBatches/2)+6, top+12)
	s.Draw(`<text x="%v" y="%v" text-anchor="middle">batches</text>`+"\n", (left+width-right)/2, height-6)
	for _, c := range curves {
		end := c.values[len(c.values)-1]
		s.Draw(`<path d="M%v %v`, x(0), y(0))
		for i := 0; i < len(c.values); i += 5 {
			s.Draw("L%v %v", x(i+1), y(c.values[i]))
		}
		s.Draw(`L%v %v" fill="none" stroke="%v" stroke-width="2"/>`+"\n", x(simBatches), y(end), c.colour)
		s.Draw(`<text x="%v" y="%v" fill="%v">%v, %v</text>`+"\n", width-right+6, y(end)+4, c.colour, c.name,
			math.Round(end))
	}
	s.Draw("</g>\n")
	return s.String()
}
