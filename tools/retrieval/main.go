// Command retrieval measures how much of a real change retrieval finds, compared with plain searches with the same
// budget. The message of a commit is the task, its parent is indexed, and its changed code is the expected result.
//
// It reads repositories in a folder: git bundles, bare repositories and checkouts. It does not change them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

type options struct {
	from     []string
	only     []string
	methods  []string
	each     int
	seed     uint64
	budgets  []int
	workers  int
	features string
	verbose  bool
}

func main() {
	var o options
	var from, only, at, chosen string
	flag.StringVar(&from, "from", "", "folders with git bundles, bare repositories or checkouts, separated by commas")
	flag.StringVar(&only, "only", "", "names of the repositories to measure, separated by commas; else all")
	flag.StringVar(&chosen, "methods", "",
		"parts of the names of the methods to compare, separated by semicolons; else all")
	flag.IntVar(&o.each, "each", 20, "commits of each repository")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the choice of commits")
	flag.StringVar(&at, "at", "4000,8000,16000", "budgets in tokens")
	flag.IntVar(&o.workers, "workers", 2, "repositories at a time")
	flag.StringVar(&o.features, "features", "", "write the features of each chunk to this file, for fitting the weights")
	flag.BoolVar(&o.verbose, "v", false, "print the misses of each commit")
	fitted := flag.String("fit", "", "search for better weights with this file of -features")
	rounds := flag.Int("rounds", 6, "with -fit: how often each weight is tried")
	flag.Parse()
	if *fitted != "" {
		if err := fit(os.Stdout, *fitted, o.seed, *rounds); err != nil {
			fmt.Fprintln(os.Stderr, "retrieval:", err)
			os.Exit(1)
		}
		return
	}
	split := func(s string) []string {
		return slices.DeleteFunc(strings.Split(s, ","), func(s string) bool { return s == "" })
	}
	o.from, o.only = split(from), split(only)
	for _, m := range methods {
		if chosen == "" || slices.ContainsFunc(strings.Split(chosen, ";"),
			func(s string) bool { return strings.Contains(m, s) }) {
			o.methods = append(o.methods, m)
		}
	}
	for _, s := range split(at) {
		n, err := strconv.Atoi(s)
		if err != nil || n <= 0 {
			fmt.Fprintln(os.Stderr, "retrieval: -at takes numbers of tokens, separated by commas")
			os.Exit(2)
		}
		o.budgets = append(o.budgets, n)
	}
	if err := measure(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "retrieval:", err)
		os.Exit(1)
	}
}

// source is a repository to measure.
type source struct{ name, path string }

// sources finds the repositories of the folders, by name.
func (o options) sources() ([]source, error) {
	var out []source
	for _, dir := range o.from {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			s := source{strings.TrimSuffix(e.Name(), ".bundle"), filepath.Join(dir, e.Name())}
			if strings.HasPrefix(e.Name(), ".") {
				continue
			}
			if e.IsDir() {
				found := ""
				for _, sub := range []string{"", ".git", "repo"} {
					if _, err := os.Stat(filepath.Join(s.path, sub, "HEAD")); err == nil {
						found = filepath.Join(s.path, sub)
					}
				}
				if found == "" {
					continue
				}
				s.path = found
			} else if !strings.HasSuffix(e.Name(), ".bundle") {
				continue
			}
			if len(o.only) > 0 && !slices.ContainsFunc(o.only, func(n string) bool { return strings.Contains(s.name, n) }) {
				continue
			}
			if !slices.ContainsFunc(out, func(x source) bool { return x.name == s.name }) {
				out = append(out, s)
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no repositories in %s", strings.Join(o.from, ", "))
	}
	slices.SortFunc(out, func(a, b source) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

func measure(ctx context.Context, o options) error {
	all, err := o.sources()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "runplan-retrieval-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var dump *os.File
	if o.features != "" {
		if dump, err = os.Create(o.features); err != nil {
			return err
		}
		defer dump.Close()
	}
	b := &board{o: o, dump: dump}
	fmt.Fprint(os.Stdout, legend)
	jobs := make(chan source)
	var group sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for range max(1, o.workers) {
		group.Go(func() {
			for s := range jobs {
				r, err := measureRepo(ctx, b, s, filepath.Join(dir, s.name))
				mu.Lock()
				if err != nil {
					fmt.Fprintf(os.Stderr, "retrieval: %s: %v\n", s.name, err)
					failed = errors.Join(failed, fmt.Errorf("%s: %w", s.name, err))
				}
				b.repos = append(b.repos, r)
				b.table(os.Stdout, r)
				mu.Unlock()
				os.RemoveAll(filepath.Join(dir, s.name))
			}
		})
	}
	for _, s := range all {
		jobs <- s
	}
	close(jobs)
	group.Wait()
	b.print(os.Stdout)
	return failed
}
