package routing

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v3/mem"

	"github.com/runplan/runplan/internal/condition"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/planparse"
)

// DefaultTeam is the rule for team mode, an expression over [TeamFact] (ROUTE-05, ROUTE-09). For a score between the
// minimum and the threshold, the forecast decides if the durations are known. Otherwise the score decides.
const DefaultTeam = "(score > threshold || score >= 20 && saves >= 10) && teams && memory_gb >= 2 * worker_gb && " +
	"!concern_batched && runtime == 0"

// leastScore is the minimum score at which team mode is mentioned (ROUTE-05). leastSaved is the minimum saving of time
// in the forecast, in percent. Smaller savings are within the normal variation between runs.
const (
	leastScore = 20
	leastSaved = 10
)

// gigabyte is the number of bytes of a GB in settings: 2^30.
const gigabyte = 1 << 30

// TeamFact holds the variables of the expression routing.team.
type TeamFact struct {
	Score          int     `expr:"score"`
	Threshold      int     `expr:"threshold"`
	Teams          bool    `expr:"teams"`           // team mode is enabled
	MemoryGB       float64 `expr:"memory_gb"`       // available; 0 if unknown
	WorkerGB       float64 `expr:"worker_gb"`       // memory per worker
	ConcernBatched bool    `expr:"concern_batched"` // the plan builds everything first and tests it at the end
	Runtime        int     `expr:"runtime"`         // batches that share machine state with another one
	Width          int     `expr:"width"`           // maximum of concurrent batches
	Batches        int     `expr:"batches"`         // number of batches to run
	// time saved by a team, in percent, by history or the plan's estimates; 0 if unknown
	Saves float64 `expr:"saves"`
}

// judge builds a decision.
type judge struct {
	o Options
	d *Decision
	s *layout
	f TeamFact
}

func (j *judge) because(format string, args ...any) {
	j.d.Reasons = append(j.d.Reasons, fmt.Sprintf(format, args...))
}

// facts computes the variables of the mode's rule.
func (j *judge) facts() {
	memory := j.f.MemoryGB
	j.f = TeamFact{
		Score: j.d.Score.Value, Threshold: j.o.Rules.ParallelScoreThreshold, Teams: j.o.TeamsEnabled,
		WorkerGB: j.o.Rules.WorkerMemGB, MemoryGB: memory,
		ConcernBatched: planparse.ConcernBatched(j.s.plan), Runtime: len(j.s.sharing()), Width: len(j.s.width),
		Batches: len(j.s.run),
	}
	if e := j.forecast(); e.Wall != nil && *e.WallSequential > 0 {
		j.f.Saves = 100 * (1 - float64(*e.Wall)/float64(*e.WallSequential))
	}
}

// forecast returns the estimate of a run in team mode.
func (j *judge) forecast() Estimate {
	steps := slices.Clone(j.d.Steps)
	for _, i := range j.s.run {
		steps[i].Needs = j.s.keys(j.s.needs[i])
	}
	return j.o.estimateOf(steps, max(1, min(j.could(), j.f.Width)))
}

// could returns the number of workers of a possible team. Unknown memory is ignored.
func (j *judge) could() int {
	if j.o.Workers > 0 {
		return max(j.o.Workers, 2)
	}
	n := j.o.Rules.MaxWorkers
	if j.d.Memory.Available != nil {
		n = min(n, int(math.Min(j.f.MemoryGB/j.o.Rules.WorkerMemGB, 1e6)))
	}
	return max(n, 2)
}

// memory reads the available memory.
func (j *judge) memory() {
	j.f.WorkerGB = j.o.Rules.WorkerMemGB
	m := &j.d.Memory
	m.PerWorker = uint64(j.o.Rules.WorkerMemGB * gigabyte)
	// If team mode is excluded already, do not read the memory, so that the decision is the same on all machines.
	if j.o.mode() == Headless || j.o.mode() == "" && !j.o.TeamsEnabled && j.o.Rules.Team == "" {
		m.Note = "not checked: team mode is not switched on"
		if j.o.mode() == Headless {
			m.Note = "not checked: headless mode was requested"
		}
		return
	}
	read := j.o.Memory
	if read == nil {
		read = AvailableMemory
	}
	available, err := read()
	if err != nil {
		m.Note = fmt.Sprintf("could not be read, which counts as too little: %v", err)
		return
	}
	m.Available = &available
	j.f.MemoryGB = float64(available) / gigabyte
	if m.OK = j.f.MemoryGB >= 2*j.f.WorkerGB; !m.OK {
		m.Note = fmt.Sprintf("%s available; two workers of %s need %s", GB(j.f.MemoryGB), GB(j.f.WorkerGB),
			GB(2*j.f.WorkerGB))
	}
}

// describe adds the data of the plan that does not depend on the mode.
func (j *judge) describe() {
	d, s := j.d, j.s
	d.Edges = s.edges()
	d.Pairs, d.PairsLeftOut = s.pairs()
	d.Width = s.keys(s.width)
	d.Groups = make([][]string, len(s.levels))
	for k, level := range s.levels {
		d.Groups[k] = s.keys(level)
	}
	var files []string
	for i := range s.does {
		files = append(files, s.does[i].all...)
	}
	d.Files, d.Overlap = len(lists.Unique(files)), s.meanOverlap
}

// steps sets the needs of each batch.
func (j *judge) steps() {
	d, s := j.d, j.s
	d.Speculation = []Speculation{}
	if d.Mode == Team {
		for i := range d.Steps {
			d.Steps[i].Needs = s.keys(s.needs[i])
			if j.o.Rules.Speculate && !j.o.NoSpeculate && s.runs[i] {
				d.Steps[i].Early = s.early(i, j.o.Rules)
			}
		}
		d.Speculation = s.speculation(j.o)
		return
	}
	previous := ""
	for _, i := range s.order {
		step := &d.Steps[i]
		step.Needs = slices.Clone(s.plan.Batches[i].DependsOn)
		if s.runs[i] {
			if previous != "" && !slices.Contains(step.Needs, previous) {
				step.Needs = append(step.Needs, previous)
			}
			previous = step.Batch
		}
	}
}

// sharing returns the batches that share machine state with another one.
func (s *layout) sharing() []int {
	by := map[string]int{}
	for _, i := range s.run {
		for _, h := range s.hints[i] {
			by[h]++
		}
	}
	return lists.Filter(s.run, func(i int) bool {
		return slices.ContainsFunc(s.hints[i], func(h string) bool { return by[h] > 1 })
	})
}

// mode chooses the mode and its reasons. A requested mode has priority (ROUTE-08); otherwise the rule decides.
func (j *judge) mode() error {
	rule := cmp.Or(j.o.Rules.Team, DefaultTeam)
	c, err := condition.Parse[TeamFact](rule)
	if err != nil {
		return fmt.Errorf("routing.team: %w", err)
	}
	switch j.o.mode() {
	case Headless:
		j.because("headless: requested; batches run one after the other, in plan order")
		return nil
	case Team:
		j.d.Mode = Team
		j.because("team: requested")
		if m := j.d.Memory; !m.OK {
			j.because("memory may be too small: %s", m.Note)
		}
		return nil
	}
	yes, err := c.Holds(j.f)
	if err != nil {
		return fmt.Errorf("routing.team: %w", err)
	}
	switch custom := j.o.Rules.Team != ""; {
	case yes && custom:
		j.d.Mode = Team
		j.because("team: the rule routing.team holds: %s", rule)
	case yes:
		j.d.Mode = Team
		if j.f.Score > j.f.Threshold {
			j.because("team: the parallelism score is %d, above %d", j.f.Score, j.f.Threshold)
			return nil
		}
		e := j.forecast()
		j.because(
			"team: the forecast is %s instead of %s, which saves %.0f %%; the parallelism score is %d, not above %d",
			Minutes(*e.Wall), Minutes(*e.WallSequential), j.f.Saves, j.f.Score, j.f.Threshold)
	case custom:
		j.because("headless: the rule routing.team does not hold: %s", rule)
		j.because(
			"its facts: score %d, threshold %d, teams %t, memory_gb %.1f, worker_gb %.1f, concern_batched %t, runtime %d, "+
				"width %d, batches %d", j.f.Score, j.f.Threshold,
			j.f.Teams, j.f.MemoryGB, j.f.WorkerGB, j.f.ConcernBatched, j.f.Runtime, j.f.Width, j.f.Batches)
	default:
		j.headless()
	}
	return nil
}

// headless gives the parts of the built-in rule that exclude team mode.
func (j *judge) headless() {
	f := j.f
	if f.Score <= f.Threshold && (f.Score < leastScore || f.Saves < leastSaved) {
		if f.Score < leastScore {
			j.because("headless: the parallelism score is %d, below %d: team mode would hardly save time", f.Score,
				leastScore)
			return
		}
		j.because("headless: the parallelism score is %d, and team mode needs more than %d", f.Score, f.Threshold)
	}
	if f.ConcernBatched {
		j.because(
			"headless: the plan builds everything first and tests it afterwards, so no batch can be judged separately")
	}
	if f.Runtime > 0 {
		j.because("headless: %s share state of the machine outside of their files", j.s.few(j.s.sharing()))
	}
	if !f.Teams && (f.Score > f.Threshold || f.Score >= leastScore && f.Saves >= leastSaved) {
		why := fmt.Sprintf("is %d, above %d", f.Score, f.Threshold)
		if f.Score <= f.Threshold {
			why = fmt.Sprintf("is %d, and by the forecast a team saves %.0f %%", f.Score, f.Saves)
		}
		j.because("headless: the parallelism score %s, but team mode is not switched on: set enabled = true under [team], "+
			"or RUNPLAN_AGENT_TEAMS=1, or use --mode team", why)
	}
	if f.Teams && !j.d.Memory.OK {
		j.because("headless: available memory: %s", j.d.Memory.Note)
	}
}

// advise describes the possible savings of team mode if it was not chosen (ROUTE-05). Without known durations, as in
// a first run, it is a share based on equal durations.
func (j *judge) advise() {
	if j.d.Mode == Team || j.o.mode() == Headless || j.f.Score < leastScore || j.f.Width < 2 || j.f.ConcernBatched ||
		j.f.Runtime > 0 {
		return
	}
	e := j.forecast()
	j.d.TeamSaves = max(0, math.Round(100*(1 - 1 / *e.SpeedUp)))
	switch saved := j.d.TeamSaves; {
	case saved == 0:
		j.because("team mode would save less than 1 %% of the time")
	case e.Wall != nil:
		j.because("team mode would save about %s (%.0f %%)", Minutes(*e.WallSequential-*e.Wall), saved)
	default:
		ask := "; to use it, give --mode team"
		if slices.ContainsFunc(j.d.Reasons, func(s string) bool { return strings.HasSuffix(s, "--mode team") }) {
			ask = "" // said above
		}
		j.because("team mode would save about %.0f %% of the time if all batches take equally long%s", saved, ask)
	}
}

// Minutes formats a duration for people: 45s, 14min, 2h 05min. A duration below a second is not shown as zero.
func Minutes(d time.Duration) string {
	switch {
	case d > 0 && d < time.Second:
		return "under 1s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Round(time.Second)/time.Second))
	case d < time.Hour:
		return fmt.Sprintf("%dmin", int(d.Round(time.Minute)/time.Minute))
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%dh %02dmin", int(d/time.Hour), int(d%time.Hour/time.Minute))
}

// workers sets the number of concurrent batches (ROUTE-13).
func (j *judge) workers() {
	d, f := j.d, j.f
	d.Workers = 1
	if d.Mode != Team {
		if j.o.Workers > 1 {
			j.because("--workers %d has no effect: headless mode runs one batch at a time", j.o.Workers)
		}
		return
	}
	if j.o.Workers > 0 {
		d.Workers = max(1, min(j.o.Workers, f.Width))
		why := fmt.Sprintf("%s: --workers %d", phrase.Count(d.Workers, "worker"), j.o.Workers)
		if d.Workers < j.o.Workers {
			why += fmt.Sprintf(", of which the plan has work for %d at a time", d.Workers)
		}
		if d.Memory.Available != nil && f.MemoryGB < float64(d.Workers)*f.WorkerGB {
			why += fmt.Sprintf("; memory may be too small: %s available, %s for each worker", GB(f.MemoryGB), GB(f.WorkerGB))
		}
		j.because("%s", why)
		return
	}
	if d.Memory.Available == nil {
		j.because("1 worker: available memory is unknown; --workers N sets the number")
		return
	}
	fit := math.Floor(f.MemoryGB / f.WorkerGB)
	d.Workers = int(max(1, min(float64(j.o.Rules.MaxWorkers), fit, float64(f.Width))))
	j.because("%s: %s available, %s for each worker, at most %s, up to %s at the same time",
		phrase.Count(d.Workers, "worker"), GB(f.MemoryGB), GB(f.WorkerGB),
		phrase.Count(j.o.Rules.MaxWorkers, "worker"), phrase.Count(f.Width, "batch"))
}

// GB formats an amount of memory, in units of 2^30 bytes. It rounds down, so that no amount seems to reach a limit that
// it does not reach.
func GB(v float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", math.Floor(v*10)/10), ".0") + " GB"
}

// AvailableMemory returns the memory that programs can still use, in bytes.
func AvailableMemory() (uint64, error) {
	m, err := mem.VirtualMemory()
	if err != nil {
		return 0, fmt.Errorf("read the machine's memory: %w", err)
	}
	return m.Available, nil
}
