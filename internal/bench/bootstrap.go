package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// bootstrap measures what examples of a history take: commits a second against git log -p over the same commits, and the
// memory for a short and a long history of the same repository.
func (b *bench) bootstrap() error {
	var peaks []int64
	short := b.of(1000, 200)
	for _, n := range []int{short, 10 * short} {
		dir, err := b.rebates(n)
		if err != nil {
			return err
		}
		took, peak, used, err := b.bootstrapRun(dir)
		if err != nil {
			return err
		}
		began := time.Now()
		if err := b.place.Command(dir, "git", "log", "-p", "HEAD").Run(); err != nil {
			return fmt.Errorf("git log -p: %w", err)
		}
		bare := time.Since(began)
		b.add(fmt.Sprintf("examples of %d commits, %d used", n, used), fmt.Sprintf("%.0f commits/s", float64(n)/took.Seconds()),
			fmt.Sprintf("git log -p %.0f/s", float64(n)/bare.Seconds()), took.Seconds()/bare.Seconds(), 1.5)
		peaks = append(peaks, peak)
	}
	b.add("… memory of a history ten times as long", fmt.Sprintf("%d MiB", peaks[1]>>20), fmt.Sprintf("%d MiB", peaks[0]>>20), float64(peaks[1])/float64(peaks[0]), 1.5)
	return nil
}

// bootstrapRun makes all examples of a repository once.
func (b *bench) bootstrapRun(dir string) (took time.Duration, peak int64, used int, err error) {
	cmd := b.place.Command(dir, b.place.Runplan, "training", "bootstrap", ".", "--json", "--out", filepath.Join(b.place.Dir, "examples-"+filepath.Base(dir)))
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, 0, 0, fmt.Errorf("runplan training bootstrap: %w\n%s", err, errOut.String())
	}
	took = time.Since(began)
	var m struct {
		Used int `json:"commits_used"`
	}
	err = json.Unmarshal(out.Bytes(), &m)
	return took, int64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) << 10, m.Used, err
}

// rebates is a history of n small commits on 60 files of Go that use each other, made by git fast-import.
func (b *bench) rebates(n int) (string, error) {
	const files, functions = 60, 12
	dir := filepath.Join(b.place.Dir, fmt.Sprintf("rebates-%d", n))
	if _, err := b.place.Git(b.place.Dir, "init", "-q", "-b", "main", dir); err != nil {
		return "", err
	}
	version := map[int]int{}
	text := func(f int) string {
		var s strings.Builder
		fmt.Fprintf(&s, "// Package p%d knows rebates.\npackage p%d\n", f%6, f%6)
		for k := range functions {
			next := (f+6)%files*functions + k
			fmt.Fprintf(&s, "\n// Rebate%d takes a rebate off.\nfunc Rebate%d(cents int) int {\n\tif cents < %d {\n\t\treturn cents\n\t}\n\treturn Rebate%d(cents - 1)\n}\n", f*functions+k, f*functions+k, version[f*functions+k], next)
		}
		return s.String()
	}
	var in bytes.Buffer
	file := func(name, text string) { fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", name, len(text), text) }
	name := func(f int) string { return fmt.Sprintf("p%d/rebate_%d.go", f%6, f) }
	for i := range n {
		message := fmt.Sprintf("Raise the rebate of group %d to %d cents", i*7%files, i)
		fmt.Fprintf(&in, "commit refs/heads/main\ncommitter bench <b@example.org> %d +0000\ndata %d\n%s\n", 1700000000+i, len(message), message)
		if i == 0 {
			file("go.mod", "module example.org/rebates\n\ngo 1.24\n")
			for f := range files {
				file(name(f), text(f))
			}
			continue
		}
		for k := range 1 + i%3 {
			f := (i*7 + k) % files
			version[f*functions+i%functions]++
			file(name(f), text(f))
		}
	}
	cmd := b.place.Command(dir, "git", "fast-import", "--quiet")
	cmd.Stdin = &in
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("git fast-import: %w\n%s", err, out)
	}
	_, err := b.place.Git(dir, "reset", "-q", "--hard")
	return dir, err
}
