// Command mutation compares the mutants of runplan with those of other programs, on the same files with the same tests.
//
//	mutation -histories FOLDER -table FILE          measure; -record FILE keeps each mutant of runplan
//	mutation -draw 100 -record FILE                 draw survivors by -seed, as lines for a person to judge
//	mutation -judged FILE                           the shares of the verdicts
//
// A row of the table is a file of a repository at a commit:
//
//	NAME|REPOSITORY|COMMIT|FILE|INSTALL
//
// REPOSITORY names a bundle or a repository in the folder. INSTALL is the shell command that makes its tests run in the
// clone, and that configures the other program: mutmut for Python, Stryker for JavaScript and TypeScript. Gremlins, for
// Go, needs no configuration. Both programs run one after the other, each up to -cap.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/mutants"
	"github.com/runplan/runplan/gates/mutants/mutant"
	"github.com/runplan/runplan/patterns"
)

type options struct {
	histories, table, only, record, judged string
	cap                                    time.Duration
	draw                                   int
	seed                                   uint64
	own, peer                              bool
}

func main() {
	var o options
	flag.StringVar(&o.histories, "histories", "", "`folders` of git bundles and repositories, separated by commas")
	flag.StringVar(&o.table, "table", "", "`file` with a row for each file to mutate")
	flag.StringVar(&o.only, "only", "", "only rows whose name contains this `text`")
	flag.DurationVar(&o.cap, "cap", 4*time.Minute, "time limit of each program for each file")
	flag.StringVar(&o.record, "record", "", "`file` for the mutants of runplan, as JSON lines")
	flag.BoolVar(&o.own, "own", false, "run only runplan")
	flag.BoolVar(&o.peer, "peer", false, "run only the other program")
	flag.IntVar(&o.draw, "draw", 0, "draw this `number` of survivors from the file of -record")
	flag.Uint64Var(&o.seed, "seed", 1, "random seed of the draw")
	flag.StringVar(&o.judged, "judged", "", "print the shares of the verdicts in this `file`")
	flag.Parse()
	var err error
	switch {
	case o.judged != "":
		err = shares(os.Stdout, o.judged)
	case o.draw > 0:
		err = drawn(os.Stdout, o)
	default:
		err = measure(context.Background(), os.Stdout, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutation:", err)
		os.Exit(1)
	}
}

// Mutant is a line of the record, and of the file of judgements.
type Mutant struct {
	Repository string `json:"repository"`
	Commit     string `json:"commit"`
	File       string `json:"file"`
	Line       int    `json:"line"`
	Mutator    string `json:"mutator"`
	From       string `json:"from"`
	To         string `json:"to"`
	Result     string `json:"result,omitempty"`
	Verdict    string `json:"verdict,omitempty"` // equivalent, arguable or killable
	Why        string `json:"why,omitempty"`
}

// row is a row of the table.
type row struct{ name, repository, commit, file, install string }

// count summarizes the mutants of one program.
type count struct {
	killed, survived, untested, invalid int
	seconds, cpu                        float64
	capped                              bool
}

func measure(ctx context.Context, w io.Writer, o options) error {
	text, err := os.ReadFile(o.table)
	if err != nil {
		return err
	}
	var record io.Writer = io.Discard
	if o.record != "" {
		f, err := os.OpenFile(o.record, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			return err
		}
		defer f.Close()
		record = f
	}
	fmt.Fprint(w,
		"| File | Lines | Program | Tried | Killed | Survived | Untested | Invalid | Seconds | CPU | A CPU second | ",
		"Kill rate |\n|---|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for line := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n") {
		part := strings.SplitN(line, "|", 5)
		if len(part) < 5 || strings.HasPrefix(line, "#") || !strings.Contains(part[0], o.only) {
			continue
		}
		r := row{part[0], part[1], part[2], part[3], part[4]}
		if err := r.measure(ctx, w, record, o); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", r.name, err)
		}
	}
	return nil
}

func (r row) measure(ctx context.Context, w, record io.Writer, o options) error {
	dir, err := os.MkdirTemp("", "runplan-mutation-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// Some programs name a project after its folder.
	dir = filepath.Join(dir, path.Base(strings.NewReplacer("__", "/", "+", "/").Replace(r.repository)))
	source, err := find(strings.Split(o.histories, ","), r.repository)
	if err != nil {
		return err
	}
	script := fmt.Sprintf("git clone -q %q %q && cd %q && git checkout -q %s && %s", source, dir, dir, r.commit,
		cmp.Or(r.install, ":"))
	if out, err := exec.CommandContext(ctx, "bash", "-c", script).CombinedOutput(); err != nil {
		return fmt.Errorf("prepare: %w: %s", err, out)
	}
	env := append(os.Environ(), fmt.Sprintf("PATH=%s/.venv/bin:%s/node_modules/.bin:%s", dir, dir, os.Getenv("PATH")))
	code, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(r.file)))
	if err != nil {
		return err
	}
	lines := strings.Count(string(code), "\n")
	if !o.peer {
		own, err := r.own(ctx, dir, env, string(code), o.cap, record)
		if err != nil {
			return err
		}
		own.print(w, r, "runplan", lines)
	}
	if o.own {
		return nil
	}
	name, peer, err := r.peer(ctx, dir, env, o.cap)
	if err != nil {
		return err
	}
	peer.print(w, r, name, lines)
	return nil
}

// find returns the bundle or repository of a name in one of the folders.
func find(folders []string, name string) (string, error) {
	for _, folder := range folders {
		for _, at := range []string{name + ".bundle", name + "/repo", name} {
			at, err := filepath.Abs(filepath.Join(folder, at))
			if err != nil {
				return "", err
			}
			if _, err := os.Stat(at); err == nil {
				return at, nil
			}
		}
	}
	return "", fmt.Errorf("%s is in none of the folders", name)
}

// own runs the gate on a change that adds the file.
func (r row) own(ctx context.Context, dir string, env []string, code string, budget time.Duration, record io.Writer) (
	count, error) {
	var c count
	enc := json.NewEncoder(record)
	enc.SetEscapeHTML(false)
	made := 0
	gate := mutants.New(mutants.Options{
		Budget: budget,
		Tree: func(context.Context, gates.Subject) (string, []string, func(), error) {
			return dir, nil, func() {}, nil
		},
		Program: func(ctx context.Context) (patterns.Program, error) { return patterns.Find(ctx, env, "") },
		Tried: func(m mutant.Mutant, result string) {
			made++
			switch result {
			case "killed":
				c.killed++
			case "survived":
				c.survived++
			case "uncovered":
				c.untested++
			default:
				c.invalid++
			}
			_ = enc.Encode(Mutant{Repository: r.repository, Commit: r.commit, File: m.Path, Line: m.Line,
				Mutator: string(m.Kind), From: m.Old, To: m.New, Result: result})
		},
	})
	began, cpu := time.Now(), spent()
	rep, err := gate.Check(ctx, gates.Subject{Dir: dir, Env: env, Timeout: time.Hour, Diff: whole{r.file, code}})
	c.seconds, c.cpu = time.Since(began).Seconds(), spent()-cpu
	switch {
	case err == nil && made == 0:
		err = fmt.Errorf("no mutant was tried: %s", rep.Note)
	case err == nil:
		fmt.Fprintf(os.Stderr, "%s: %s\n", r.name, rep.Note)
	}
	c.capped = strings.Contains(rep.Note, "not tried")
	return c, err
}

// spent returns the processor time of all ended child processes, in seconds. Other work on the machine does not count.
func spent() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// whole is the change that adds a file.
type whole struct{ path, text string }

func (d whole) Changes(context.Context) ([]gates.Change, error) {
	return []gates.Change{{Path: d.path, Status: gates.Added}}, nil
}

func (whole) Before(context.Context, string) ([]byte, error) { return nil, nil }

func (d whole) After(context.Context, string) ([]byte, error) { return []byte(d.text), nil }

func (c count) print(w io.Writer, r row, program string, lines int) {
	tried := c.killed + c.survived
	rate, note := "–", ""
	if n := tried + c.untested; n > 0 {
		rate = fmt.Sprintf("%d %%", 100*c.killed/n)
	}
	if c.capped {
		note = " (limit)"
	}
	fmt.Fprintf(w, "| %s %s | %d | %s | %d | %d | %d | %d | %d | %.0f%s | %.0f | %.2f | %s |\n", r.name, r.file, lines,
		program,
		tried, c.killed, c.survived, c.untested, c.invalid, c.seconds, note, c.cpu, float64(tried+c.invalid)/c.cpu, rate)
}

// drawn prints survivors of the record, drawn by the seed.
func drawn(w io.Writer, o options) error {
	list, err := read(o.record)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(m Mutant) bool { return m.Result != "survived" })
	rand.New(rand.NewPCG(o.seed, 0)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, m := range list[:min(o.draw, len(list))] {
		m.Result = ""
		if err := enc.Encode(m); err != nil {
			return err
		}
	}
	return nil
}

// shares prints the share of each verdict, for all and by mutator.
func shares(w io.Writer, file string) error {
	list, err := read(file)
	if err != nil {
		return err
	}
	of := map[string]map[string]int{"all": {}}
	for _, m := range list {
		if !slices.Contains(verdicts, m.Verdict) || m.Why == "" {
			return fmt.Errorf("%s:%d of %s has the verdict %q and the reason %q", m.File, m.Line, m.Repository, m.Verdict,
				m.Why)
		}
		if of[m.Mutator] == nil {
			of[m.Mutator] = map[string]int{}
		}
		of[m.Mutator][m.Verdict]++
		of["all"][m.Verdict]++
	}
	fmt.Fprintln(w, "| Mutator | Judged | Equivalent | Arguable | Killable |\n|---|--:|--:|--:|--:|")
	for _, name := range []string{"swallow", "condition", "return", "call", "operator", "boundary", "constant", "all"} {
		v := of[name]
		fmt.Fprintf(w, "| %s | %d | %d | %d | %d |\n", name, v["equivalent"]+v["arguable"]+v["killable"], v["equivalent"],
			v["arguable"], v["killable"])
	}
	return nil
}

var verdicts = []string{"equivalent", "arguable", "killable"}

func read(file string) ([]Mutant, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var list []Mutant
	for dec := json.NewDecoder(strings.NewReader(string(text))); dec.More(); {
		var m Mutant
		if err := dec.Decode(&m); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		list = append(list, m)
	}
	return list, nil
}
