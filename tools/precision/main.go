// Command precision runs the static rules over human commits of real projects, and counts the findings.
//
// A history is a git bundle or a repository in one of the folders of -histories. Precision draws commits of each by
// -seed, and checks each out in a separate clone. There it runs "runplan review --base HEAD~1 --only 1,4,5", with the
// detection of linters and tests turned off. It looks up each finding in judgements.tsv, which says whether it is true,
// arguable or false, and why.
//
// It exits with 1 if more than -blocked percent of the commits are blocked, or if there are more than -warnings
// warnings per commit.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// options holds the values of the flags.
type options struct {
	histories string
	cache     string
	binary    string
	only      string
	judged    string
	record    string
	commit    string
	n         int
	seed      uint64
	parallel  int
	open      bool
	whole     bool
	add       bool
	verbose   bool
	blocked   float64
	warnings  float64
}

func main() {
	var o options
	flag.StringVar(&o.histories, "histories", "", "`folders` with git bundles or repositories, separated by commas")
	flag.StringVar(&o.cache, "cache", "", "`folder` for clones, kept for the next time (default in the user's cache)")
	flag.StringVar(&o.binary, "binary", "", "runplan `program` to use; empty builds one")
	flag.StringVar(&o.only, "only", "", "use only the histories whose name contains `text`")
	flag.StringVar(&o.judged, "judgements", "tools/precision/judgements.tsv", "`file` with the judgements")
	flag.StringVar(&o.record, "record", "", "write the measured precision of each rule to this `file`")
	flag.StringVar(&o.commit, "commit", "",
		"check this `commit` instead of a sample, and print all of its findings; with -only")
	flag.IntVar(&o.n, "n", 25, "commits to draw from each history")
	flag.Uint64Var(&o.seed, "seed", 1, "random seed of the sample")
	flag.IntVar(&o.parallel, "parallel", min(2, runtime.NumCPU()), "histories that are checked the same time")
	flag.BoolVar(&o.open, "open", false, "print findings without a judgement, as lines for the file of judgements")
	flag.BoolVar(&o.whole, "whole", false,
		"check the newest tree of each history as one change that adds everything, without limits")
	flag.BoolVar(&o.add, "add", false,
		"with -record, add to the recorded results; use it only for other histories")
	flag.BoolVar(&o.verbose, "v", false, "print each error and warning")
	flag.Float64Var(&o.blocked, "blocked", 2, "most commits that may be blocked, in percent")
	flag.Float64Var(&o.warnings, "warnings", 0.3, "most warnings a commit")
	flag.Parse()
	code, err := measure(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "precision:", err)
		code = 2
	}
	os.Exit(code)
}

// measure runs the sample and prints the tables. It returns the exit code.
func measure(o options) (int, error) {
	var folders []string
	for f := range strings.SplitSeq(o.histories, ",") {
		if f = strings.TrimSpace(f); f != "" {
			folders = append(folders, f)
		}
	}
	if len(folders) == 0 {
		return 0, fmt.Errorf("no histories are given: make precision HISTORIES=FOLDER, with git bundles or clones in it")
	}
	verdicts, err := readJudgements(o.judged)
	if err != nil {
		return 0, err
	}
	m, err := newMeter(o)
	if err != nil {
		return 0, err
	}
	defer m.close()
	list, err := histories(folders, o.only)
	if err != nil {
		return 0, err
	}
	looks, err := m.all(list)
	if err != nil {
		return 0, err
	}
	return report(os.Stdout, o, looks, verdicts)
}
