package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// bootstrap measures the cost of making examples from a history. The floor is the time of git log -p over the same
// commits; memory for a long history must equal that for a short one. The first history is typical, and the second is
// the history of the current folder. In the third, every commit makes examples, and the changes are so small that git
// has little to do. So the third has a figure but no goal.
func (b *bench) bootstrap() error {
	short, long := b.of(2000, 400), 0
	if *long20 {
		long = 20_000
	}
	for _, h := range []struct {
		name string
		fill func(int) func(*past)
		goal float64
	}{{"everyday", everyday, 1.5}, {"all used", rebates, 0}} {
		var peak int64
		for _, n := range []int{short, long} {
			if n == 0 {
				continue
			}
			dir, err := b.fastImport(fmt.Sprintf("%s %d", h.name, n), h.fill(n))
			if err != nil {
				return err
			}
			at, err := b.bootstrapOf(h.name, dir, h.goal)
			if err != nil {
				return err
			}
			if n == long {
				b.add("… memory of a history ten times as long", mebi(at), mebi(peak), float64(at)/float64(peak), 1.15)
			}
			peak = at
			os.RemoveAll(dir)
		}
	}
	if _, err := os.Stat(".git"); err != nil {
		return nil
	}
	here, err := filepath.Abs(".")
	if err == nil {
		_, err = b.bootstrapOf("this project", here, 1.5)
	}
	return err
}

// long20 is optional, because histories of that length take minutes.
var long20 = flag.Bool("long", false, "with bootstrap: also histories of 20,000 commits")

func mebi(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }

// bootstrapOf measures one history, and returns the most memory that its examples took. goal is the highest permitted
// multiple of git's time, 0 for none.
func (b *bench) bootstrapOf(name, dir string, goal float64) (int64, error) {
	var ours, floor, ratio []float64
	var most int64
	var m made
	for range b.of(3, 1) {
		began := time.Now()
		if err := b.place.Command(dir, "git", "log", "-p", "HEAD").Run(); err != nil {
			return 0, fmt.Errorf("git log -p: %w", err)
		}
		bare := time.Since(began).Seconds()
		took, peak, x, err := b.bootstrapRun(dir)
		if err != nil {
			return 0, err
		}
		m, most = x, max(most, peak)
		ours, floor, ratio = append(ours, took), append(floor, bare), append(ratio, took/bare)
	}
	bytes := 0
	for _, f := range m.Files {
		bytes += f.Bytes
	}
	what, took, bare := fmt.Sprintf("examples of a history, %s: %d of %d commits (git log -p)", name, m.Used, m.Commits),
		fmt.Sprintf("%.2f s", median(ours)), fmt.Sprintf("%.2f s", median(floor))
	if goal > 0 {
		b.add(what, took, bare, median(ratio), goal)
	} else {
		b.figures = append(b.figures, figure{what: what, value: took, floor: bare, ratio: fmt.Sprintf("%.2f", median(ratio))})
	}
	b.notes = append(b.notes,
		fmt.Sprintf("examples, %s: %.0f commits/s, %.1f MiB of examples, at most %s of memory", name,
			float64(m.Commits)/median(ours), float64(bytes)/(1<<20), mebi(most)))
	return most, nil
}

// made holds fields of the manifest of a set of examples.
type made struct {
	Commits int `json:"commits"`
	Used    int `json:"commits_used"`
	Files   map[string]struct {
		Bytes int `json:"bytes"`
	} `json:"files"`
}

// bootstrapRun makes all examples of a repository once.
func (b *bench) bootstrapRun(dir string) (took float64, peak int64, m made, err error) {
	out := filepath.Join(b.place.Dir, "examples")
	defer os.RemoveAll(out)
	cmd := b.place.Command(dir, b.place.Runplan, "training", "bootstrap", ".", "--json", "--out", out)
	var said, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &errOut
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, 0, m, fmt.Errorf("runplan training bootstrap: %w\n%s", err, errOut.String())
	}
	took = time.Since(began).Seconds()
	err = json.Unmarshal(said.Bytes(), &m)
	return took, int64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) << 10, m, err
}
