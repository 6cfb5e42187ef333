package main

import (
	"fmt"
	"strings"
	"time"
)

// teamGoal is the permitted time of a run, relative to the lower bound for any scheduler.
const teamGoal = 1.08

// distribution is a figure of many graphs.
type distribution struct {
	name   string
	values []float64
	within float64 // goal; 0 is none
}

// rows formats the distributions over all graphs as lines of a table.
func rows(list []distribution) []string {
	out := []string{fmt.Sprintf("%-58s %5s %6s %6s %6s %6s  %s", "", "n", "min", "median", "p90", "max", "within")}
	for _, d := range list {
		if len(d.values) == 0 {
			continue
		}
		least, middle, most9, most := quantiles(d.values)
		line := fmt.Sprintf("%-58s %5d %6.3f %6.3f %6.3f %6.3f", d.name, len(d.values), least, middle, most9, most)
		if d.within > 0 {
			line += fmt.Sprintf("  %d of %d within %.2f", count(d.values, d.within), len(d.values), d.within)
		}
		out = append(out, line)
	}
	return out
}

func count(values []float64, within float64) int {
	n := 0
	for _, v := range values {
		if v <= within {
			n++
		}
	}
	return n
}

// histogram draws values in steps; the last step includes larger values.
func histogram(name string, values []float64, from, step float64, steps int) []string {
	in := make([]int, steps)
	for _, v := range values {
		in[max(0, min(steps-1, int((v-from)/step+1e-9)))]++
	}
	out := []string{name}
	for i, n := range in {
		low := from + float64(i)*step
		label := fmt.Sprintf("%.2f to %.2f", low, low+step)
		if i == steps-1 {
			label = fmt.Sprintf("%.2f and more", low)
		}
		out = append(out, strings.TrimRight(fmt.Sprintf("  %-14s %2d %s", label, n, strings.Repeat("█", n)), " "))
	}
	return out
}

// teamFigures adds the measurements to the table, with the distribution below it.
func (b *bench) teamFigures(runs []*teamRun) {
	var wall, journal, best, blind, busy, untold, again, foretold, unread, foreseen []float64
	var hand, head, tail, between, beyond []float64
	worst := runs[0]
	for _, r := range runs {
		floor := float64(r.floor(teamWorkers))
		over := func(d time.Duration) float64 { return float64(d) / floor }
		spent := func(i int) time.Duration { return r.told.executed[i] }
		wall, journal = append(wall, over(r.told.wall)), append(journal, over(r.told.journal))
		best = append(best, over(r.makespan(teamWorkers, r.known, r.known)))
		blind = append(blind, over(r.makespan(teamWorkers, r.known, even)))
		occupied := r.makespan(teamWorkers, spent, r.known)
		busy = append(busy, over(occupied))
		foretold = append(foretold, off(r.foretold, r.speedUp(r.told)))
		hand, head, tail = append(hand, r.told.hand.Seconds()), append(head, r.told.head.Seconds()),
			append(tail, r.told.tail.Seconds())
		for i, took := range r.told.executed {
			beyond = append(beyond, (took - r.took[i]).Seconds())
		}
		between = append(between, (r.told.journal - occupied - r.told.head - r.told.tail).Seconds())
		if r.first != nil {
			untold, again = append(untold, over(r.first.wall)), append(again, over(r.second.wall))
			unread = append(unread, off(r.unread, r.speedUp(*r.first)))
			foreseen = append(foreseen, off(r.remembered, r.speedUp(*r.second)))
		} else {
			unread = append(unread, off(r.unread, r.speedUp(r.told)))
		}
		if over(r.told.wall) > float64(worst.told.wall)/float64(worst.floor(teamWorkers)) {
			worst = r
		}
	}
	floor := worst.floor(teamWorkers)
	b.add(fmt.Sprintf("team, worst of %d graphs (longest chain, work ÷ %d)", len(runs), teamWorkers),
		seconds(worst.told.wall), seconds(floor), float64(worst.told.wall)/float64(floor), teamGoal)
	_, middle, _, _ := quantiles(wall)
	_, could, _, _ := quantiles(best)
	b.figures = append(b.figures, figure{
		"team, wall ÷ floor, median (list schedule with known times)", fmt.Sprintf("%.3f", middle), fmt.Sprintf("%.3f", could),
		fmt.Sprintf("%.2f", middle/could), fmt.Sprintf("all ≤ %g: %d of %d", teamGoal, count(wall, teamGoal), len(wall)),
		count(wall, teamGoal) == len(wall),
	})
	_, each, most9, _ := quantiles(beyond)
	b.figures = append(b.figures, figure{
		fmt.Sprintf("team, worker occupied beyond its agent, median of %d batches (p90)", len(beyond)), ms(each * 1e9),
		ms(most9 * 1e9), "", "p90 ≤ 60 ms", most9 <= 0.06,
	})
	for _, p := range []struct {
		what   string
		values []float64
	}{{"team, predicted speed-up, from the plan's estimates", foretold},
		{"team, predicted speed-up, without history", unread}, {"team, predicted speed-up, after a run", foreseen}} {
		if len(p.values) == 0 {
			continue // time was short
		}
		_, middle, _, most := quantiles(p.values)
		n := count(p.values, 0.2)
		b.figures = append(b.figures, figure{
			p.what, fmt.Sprintf("off by %.0f %% at most", 100*most), fmt.Sprintf("%.0f %% median", 100*middle),
			fmt.Sprintf("%d of %d", n, len(p.values)), "≤ 20 %", n == len(p.values),
		})
	}
	b.notes = append(b.notes,
		fmt.Sprintf("team mode, %d workers, %d random graphs: parts of max(critical path, work ÷ workers)", teamWorkers,
			len(runs)))
	b.notes = append(b.notes, rows([]distribution{
		{"list schedule, longest chain first, times known", best, teamGoal},
		{"list schedule, times unknown (all equal)", blind, teamGoal},
		{"times known, with the time that batches occupied a worker", busy, teamGoal},
		{"the run, from its first event to its last", journal, teamGoal},
		{"the run, the whole process", wall, teamGoal},
		{"without estimates in the plan", untold, teamGoal},
		{"the same once more, with that run as history", again, teamGoal},
	})...)
	b.notes = append(b.notes, "", "predicted speed-up, off by a part of the real one")
	b.notes = append(b.notes, rows([]distribution{
		{"from the plan's estimates", foretold, 0.2}, {"without history", unread, 0.2},
		{"from history, against the next run", foreseen, 0.2},
	})...)
	b.notes = append(b.notes, "", "where the time goes, in seconds")
	b.notes = append(b.notes, rows([]distribution{
		{"a batch: worker occupied beyond the agent's sleep", beyond, 0}, {"a run: the mean of its batches", hand, 0},
		{"a run: before the first agent", head, 0},
		{"a run: after the last agent", tail, 0}, {"a run: all else, against the schedule of occupied workers", between, 0},
	})...)
	b.notes = append(b.notes, "")
	b.notes = append(b.notes, histogram("wall ÷ max(critical path, work ÷ workers)", wall, 1, 0.02, 10)...)
	b.notes = append(b.notes, histogram("prediction from the plan's estimates, off by", foretold, 0, 0.05, 7)...)
	b.notes = append(b.notes, histogram("prediction without history, off by", unread, 0, 0.05, 7)...)
}
