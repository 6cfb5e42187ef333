// Command storm kills runplan at random moments and checks whether anything was lost, done twice or left behind.
//
// It makes a repository and a plan of twelve batches, and starts the run in headless or in team mode. It kills the
// process (only that one, with SIGKILL) and resumes until the run is done. Then it checks everything that a run
// promises, and starts again, until the number of kills is reached. Its choices depend only on a seed. The moments of
// the kills are distributed over the stages of a batch, not over time, so that short stages are hit as often as long
// ones.
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/tools/scratch"
)

func main() {
	kills := flag.Int("kills", 200, "kills to survive")
	seed := flag.Uint64("seed", 1, "seed of the random choices")
	keep := flag.Bool("keep", false, "keep the repositories, also those without a violation")
	verbose := flag.Bool("v", false, "print each kill")
	mode := flag.String("mode", "both", "headless, team, or both at random")
	flag.Parse()
	if !slices.Contains([]string{"headless", "team", "both"}, *mode) {
		fmt.Fprintf(os.Stderr, "storm: -mode %s: it is headless, team or both\n", *mode)
		os.Exit(2)
	}
	place, err := scratch.New("storm")
	if err == nil {
		s := &storm{
			place: place, want: *kills, mode: *mode, rnd: rand.New(rand.NewPCG(*seed, 0)), verbose: *verbose,
			phases: map[string]int{}, team: map[string]int{}, typical: map[string]time.Duration{},
		}
		err = s.all()
		s.print(*seed)
		if !*keep && err == nil && len(s.violations) == 0 {
			place.Remove()
		} else {
			fmt.Printf("repositories: %s\n", place.Dir)
		}
		if err == nil && len(s.violations) > 0 {
			err = fmt.Errorf("%d violation(s)", len(s.violations))
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "storm:", err)
		os.Exit(1)
	}
}

// storm counts kills and violations.
type storm struct {
	place   *scratch.Place
	want    int
	mode    string
	rnd     *rand.Rand
	verbose bool

	kills, runs, sessions int
	inTeam                int            // of the kills
	phases                map[string]int // kills by phase, from the journal
	team                  map[string]int // of runs in team mode, by activity; there may be several at a time
	typical               map[string]time.Duration
	violations            []string
	began                 time.Time
}

// all runs plans until there were enough kills.
func (s *storm) all() error {
	s.began = time.Now()
	for s.kills < s.want {
		s.runs++
		r, err := s.repository()
		if err != nil {
			return err
		}
		if err := s.finish(r); err != nil {
			return err
		}
		before := len(s.violations)
		s.check(r)
		if len(s.violations) == before {
			os.RemoveAll(r.dir)
		}
		fmt.Printf("run %d (%s): done, %d kills so far, %d violations\n", s.runs, r.variant(), s.kills, len(s.violations))
	}
	return nil
}

// mostSessions ends a run that does not get anywhere.
const mostSessions = 120

// finish starts and resumes a run until it is done.
func (s *storm) finish(r *repository) error {
	for n := 1; ; n++ {
		if n > mostSessions {
			return fmt.Errorf("run %d is not finished after %d sessions: %s", s.runs, mostSessions, r.dir)
		}
		c := s.choose(r)
		if s.kills >= s.want || n > mostSessions/2 {
			c = choice{} // to its end, in peace
		}
		s.sessions++
		end, err := s.session(r, c)
		if err != nil {
			return err
		}
		switch {
		case end.killed:
			s.kills++
			doing := s.count(r, end)
			if s.verbose {
				fmt.Printf("  kill %d in %s (%s %d, after %s)\n", s.kills, strings.Join(doing, ", "), c.stage, c.nth,
					end.after.Round(time.Millisecond))
			}
			if s.rnd.IntN(2) == 0 { // otherwise the next session meets the leftovers, as for an impatient user
				s.childless(r)
			}
		case end.code == 0:
			return nil
		default:
			s.violation(r, "a session ended by itself with exit %d: %s", end.code, end.stderr)
			if n > 20 {
				return fmt.Errorf("run %d cannot be finished: %s", s.runs, r.dir)
			}
		}
	}
}

// count records the activity of a run at the time of its kill.
func (s *storm) count(r *repository, e end) []string {
	events, _ := r.events() // none if there is no journal
	if r.workers == 0 {
		phase := r.phase(events)
		if e.early && phase != phases()[0] {
			phase = "resume"
		}
		s.phases[phase]++
		return []string{phase}
	}
	s.inTeam++
	doing := underWay(events, e.at)
	if e.early && len(events) > 0 {
		doing = []string{"resume"}
	}
	for _, p := range doing {
		s.team[p]++
	}
	return doing
}

func (s *storm) violation(r *repository, format string, args ...any) {
	text := fmt.Sprintf("run %d (%s, %s): %s", s.runs, r.dir, r.variant(), fmt.Sprintf(format, args...))
	s.violations = append(s.violations, text)
	fmt.Println("VIOLATION", text)
}

func (s *storm) print(seed uint64) {
	fmt.Printf("\ncrash storm, seed %d: %d kills in %d runs of %d batches, %s\n", seed, s.kills, s.runs, batches,
		time.Since(s.began).Round(time.Second))
	fmt.Printf("sessions a run: %.1f on average\n", float64(s.sessions)/float64(max(1, s.runs)))
	if n := s.kills - s.inTeam; n > 0 {
		fmt.Printf("%d kills in headless mode, by phase: %s\n", n, list(s.phases, phases()))
	}
	if s.inTeam > 0 {
		fmt.Printf("%d kills in team mode, by all that was in progress: %s\n", s.inTeam, list(s.team, teamPhases()))
	}
	fmt.Printf("violations: %d\n", len(s.violations))
	for _, v := range s.violations {
		fmt.Println("-", v)
	}
}

// list writes counts in the given order.
func list(counts map[string]int, order []string) string {
	var parts []string
	for _, name := range order {
		if counts[name] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
		}
	}
	return strings.Join(parts, ", ")
}
