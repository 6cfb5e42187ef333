// Command attack runs cheating agents and honest agents through runplan, and counts whose changes were merged.
//
// Each case is a file below testdata/cases: a repository, a plan and the script of an agent. Attack runs the plan with
// the built program in a separate home. Then an oracle judges the merged code: a script that the agent does not see and
// that checks a fresh clone of the run branch. A cheat landed if the run exited with 0 and the oracle objects. An
// honest change landed if the run exited with 0 and the oracle accepts it. Attack does not know how runplan defends
// itself.
//
// It exits with 1 if a cheat landed that known.txt does not name, an honest change was refused, a case hung or a
// process was left.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/runplan/runplan/tools/scratch"
)

// options holds the values of the flags.
type options struct {
	run      string
	class    string
	short    bool
	oneIn    int
	seed     uint64
	check    bool
	parallel int
	verbose  bool
	keep     bool
	files    bool
	binary   string
	timeout  time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.run, "run", "",
		"run only the cases whose name matches this regular `expression`, such as cheat/code/go_")
	flag.StringVar(&o.class, "class", "", "run only the cases of this class, such as processes")
	flag.BoolVar(&o.short, "short", false, "run only the cases that testdata/short.txt names")
	flag.IntVar(&o.oneIn, "one-in", 1, "run one in `n` of the cheats, chosen by -seed, and all honest changes")
	flag.Uint64Var(&o.seed, "seed", 1, "which of them -one-in chooses")
	flag.BoolVar(&o.check, "check", false,
		"test the suite instead of runplan: see whether each cheat deceives the plain test command")
	flag.IntVar(&o.parallel, "parallel", runtime.NumCPU(), "cases that run at the same time")
	flag.BoolVar(&o.verbose, "v", false, "print all data of each case when it ends, instead of its verdict")
	flag.BoolVar(&o.files, "files", false,
		"add a Files section to each batch that names the code and the tests of the repository")
	flag.BoolVar(&o.keep, "keep", false, "keep the folders of all cases")
	flag.StringVar(&o.binary, "binary", "", "runplan `program` to use; empty builds one")
	flag.DurationVar(&o.timeout, "timeout", 90*time.Second, "time limit of one case")
	flag.Parse()
	code, err := attack(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "attack:", err)
		code = 2
	}
	os.Exit(code)
}

// attack runs the cases that o selects and prints the table. It returns the exit code.
func attack(o options) (int, error) {
	data := filepath.Join("tools", "attack", "testdata")
	cases, err := load(data)
	if err != nil {
		return 0, fmt.Errorf("%w (run attack in the root of the module)", err)
	}
	known, err := readNames(filepath.Join(data, "known.txt"))
	if err != nil {
		return 0, err
	}
	if cases, err = choose(cases, data, o); err != nil {
		return 0, err
	}
	lab, err := newLab(o)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	results := lab.runAll(cases, o.parallel)
	r := summary{results: results, known: known, check: o.check}
	r.print(time.Since(began))
	if !lab.keepsAny() {
		lab.remove()
	} else {
		fmt.Printf("folders of the cases: %s\n", lab.dir)
	}
	if r.bad() {
		return 1, nil
	}
	return 0, nil
}

// choose returns the cases that the flags select.
func choose(all []*attackCase, data string, o options) ([]*attackCase, error) {
	match, err := regexp.Compile(o.run)
	if err != nil {
		return nil, fmt.Errorf("-run: %w", err)
	}
	var short map[string]string
	if o.short {
		if short, err = readNames(filepath.Join(data, "short.txt")); err != nil {
			return nil, err
		}
		for name := range short {
			if !slices.ContainsFunc(all, func(c *attackCase) bool { return c.name == name }) {
				return nil, fmt.Errorf("short.txt names the case %s, which does not exist", name)
			}
		}
	}
	out := slices.DeleteFunc(slices.Clone(all), func(c *attackCase) bool {
		_, sample := short[c.name]
		return !match.MatchString(c.name) || !c.honest && !o.draws(c.name) || o.class != "" && c.class != o.class ||
			o.short && !sample
	})
	if len(out) == 0 {
		return nil, fmt.Errorf("no case matches -run %q -class %q", o.run, o.class)
	}
	return out, nil
}

// draws reports whether -one-in chooses the cheat.
func (o options) draws(name string) bool {
	sum := fnv.New64a()
	fmt.Fprintf(sum, "%d %s", o.seed, name)
	return o.oneIn <= 1 || sum.Sum64()%uint64(o.oneIn) == 0
}

// runAll runs the cases, a few at a time, and returns their results in the order of the cases.
func (l *lab) runAll(cases []*attackCase, parallel int) []result {
	results := make([]result, len(cases))
	next := make(chan int)
	var workers sync.WaitGroup
	var done atomic.Int32
	for range max(1, parallel) {
		workers.Go(func() {
			for i := range next {
				results[i] = l.try(cases[i])
				if n := done.Add(1); l.o.verbose {
					fmt.Println(results[i].line())
				} else {
					fmt.Fprintf(os.Stderr, "%d of %d: %s %s, %.1f s\n", n, len(cases), results[i].verdict(), cases[i].name,
						results[i].took.Seconds())
				}
			}
		})
	}
	for i := range cases {
		next <- i
	}
	close(next)
	workers.Wait()
	return results
}

// lab holds the shared data of all cases: the program, the tools and a folder.
type lab struct {
	o        options
	dir      string
	binary   string
	path     string            // PATH of the cases
	gocache  string            // build cache of the cases
	truth    string            // build cache of the oracles
	gates    string            // build cache of the gates
	modules  map[string]string // folders with an installed npm package, by its name
	missing  map[string]string // missing tools, with the reason
	mu       sync.Mutex
	anyKept  bool
	cacheDir string
}

func newLab(o options) (*lab, error) {
	dir, err := os.MkdirTemp("", "runplan-attack-")
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	l := &lab{o: o, dir: dir, binary: o.binary, modules: map[string]string{}, missing: map[string]string{}}
	switch {
	case o.check: // runplan is not needed
	case o.binary == "":
		l.binary = filepath.Join(dir, "runplan")
		if err := scratch.Build(l.binary); err != nil {
			l.remove()
			return nil, err
		}
	default:
		if l.binary, err = filepath.Abs(o.binary); err != nil {
			return nil, err
		}
		if _, err := exec.LookPath(l.binary); err != nil {
			return nil, fmt.Errorf("-binary: %w", err)
		}
	}
	if err := l.tools(); err != nil {
		l.remove()
		return nil, err
	}
	return l, nil
}

func (l *lab) remove() { _ = os.RemoveAll(l.dir) }

func (l *lab) keepsAny() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return cmp.Or(l.anyKept, l.o.keep)
}
