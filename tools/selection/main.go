// Command selection measures how well a tournament chooses among candidates.
//
// It takes fix commits of real projects. Their tests fail on the parent's code and pass on the commit's code. For each
// it makes candidates: the commit itself (the truth), mutants of it, parts of it, wrong fixes, special cases and
// changes that do nothing. All candidates run the commit's tests. Tests that passed before decide which candidate is
// eligible. Tests that the commit turned green are held out, and decide which candidate is right. The program prints
// how often each method of choosing finds a right candidate.
//
// It runs the tests of the projects that it is given. Results are kept in -cache, so that a second run is quick.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

type options struct {
	from, only []string
	cache      string
	python     string
	astGrep    string
	commits    int
	each       int
	seed       uint64
	limit      time.Duration
	verbose    bool
	fit        bool
	kept       bool
}

func main() {
	var o options
	var from, only string
	flag.StringVar(&from, "from", "", "`folders` with git bundles, bare repositories or checkouts, separated by commas")
	flag.StringVar(&only, "only", "", "use only histories whose name contains one of these `texts`, separated by commas")
	flag.StringVar(&o.cache, "cache", "", "`folder` for clones and results (default in the user's cache)")
	flag.StringVar(&o.python, "python", "python3", "Python `program` with pytest")
	flag.StringVar(&o.astGrep, "ast-grep", filepath.Join("bin", "tools", "ast-grep"),
		"ast-grep `program`, for mutants of Python and JavaScript")
	flag.IntVar(&o.commits, "commits", 120, "stop at this many commits")
	flag.IntVar(&o.each, "each", 20, "commits of each history")
	flag.Uint64Var(&o.seed, "seed", 1, "random seed")
	flag.DurationVar(&o.limit, "for", 0, "start no further commit after this time (0 sets no limit)")
	flag.BoolVar(&o.kept, "kept", false, "run no tests: use only commits whose results are in the cache")
	flag.BoolVar(&o.verbose, "v", false, "print each commit with its candidates")
	flag.BoolVar(&o.fit, "fit", false,
		"search for better weights on one half of the commits, and print the tables for the other half")
	flag.Parse()
	split := func(s string) []string {
		return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
	}
	o.from, o.only = split(from), split(only)
	if err := measure(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "selection:", err)
		os.Exit(1)
	}
}

// measure collects the commits and prints the tables.
func measure(ctx context.Context, o options) error {
	if len(o.from) == 0 {
		return fmt.Errorf("no histories are given: make selection HISTORIES=FOLDER, with git bundles or clones in it")
	}
	if o.cache == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		o.cache = filepath.Join(cache, "runplan-selection")
	}
	all, err := histories(o.from, o.only)
	if err != nil {
		return err
	}
	cases, err := collect(ctx, o, all)
	if err != nil {
		return err
	}
	if len(cases) == 0 {
		return fmt.Errorf("no fix commit with a test that fails before it and passes after it")
	}
	report(os.Stdout, o, cases)
	if o.fit {
		return fit(os.Stdout, o, cases)
	}
	return nil
}
