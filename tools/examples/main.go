// Command examples measures the quality of training examples from histories. It draws some by seed for people to judge,
// counts their judgements, and tests whether the content of an example reveals where the edit is.
//
//	examples -draw 100 [-stage scope] folder…   examples to read, one JSON object a line: id, prompt, completion
//	examples -judged file [folder…]         shares of the verdicts in a file of judgements, those of the examples that the
//	                                        folders have, and how well their quality sorts them
//	examples -leak folder…                  guesses of the place of the edit, beside chance
//
// Each folder is the output of `runplan training bootstrap`.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/training"
)

func main() {
	draw := flag.Int("draw", 0, "number of examples to print, drawn by seed")
	stage := flag.String("stage", string(training.ExecuteCode), "stage of the examples of -draw")
	seed := flag.Uint64("seed", 1, "random seed of -draw")
	judged := flag.String("judged", "",
		"count the verdicts in this file of judgements, and exit with 1 if the goals are missed")
	leak := flag.Bool("leak", false,
		"guess the place of the edits from the prompts, and exit with 1 if that is better than chance")
	flag.Parse()
	var err error
	switch {
	case *judged != "":
		err = tally(os.Stdout, *judged)
		if flag.NArg() > 0 {
			err = cmp.Or(sorted(os.Stdout, *judged, flag.Args()), err)
		}
	case *leak:
		err = leaks(os.Stdout, flag.Args())
	case *draw > 0:
		err = drawn(os.Stdout, flag.Args(), training.Stage(*stage), *draw, *seed)
	default:
		flag.Usage()
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "examples:", err)
		os.Exit(1)
	}
}

// read reads the examples of a stage in the folders.
func read(dirs []string, stage training.Stage) ([]training.Example, error) {
	var out []training.Example
	for _, dir := range dirs {
		for e, err := range training.ReadFile(filepath.Join(dir, string(stage)+".jsonl")) {
			if err != nil {
				return nil, err
			}
			out = append(out, e)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no examples of %s in %s", stage, strings.Join(dirs, ", "))
	}
	return out, nil
}

// readCode reads the examples of edits of the folders.
func readCode(dirs []string) ([]training.Example, error) { return read(dirs, training.ExecuteCode) }

// prompt returns the question of an example.
func prompt(e training.Example) string { return e.Prompt[len(e.Prompt)-1].Content }

// drawn prints examples for a person to judge, the same number of each folder.
func drawn(w io.Writer, dirs []string, stage training.Stage, n int, seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 5))
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for i, dir := range dirs {
		all, err := read([]string{dir}, stage)
		if err != nil {
			return err
		}
		rng.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
		for _, e := range all[:min(len(all), n*(i+1)/len(dirs)-n*i/len(dirs))] {
			var files []string
			for _, p := range shown(prompt(e)) {
				files = append(files, fmt.Sprintf("%s:%d-%d", p.path, p.start, p.start+len(p.lines)-1))
			}
			if err := enc.Encode(map[string]any{"id": e.ID, "repo": e.Origin.Repo, "commit": e.Origin.Commit,
				"quality": e.Quality,
				"prompt":  prompt(e), "shown": files, "completion": e.Completion}); err != nil {
				return err
			}
		}
	}
	return nil
}

// judgement records a person's opinion of one example.
type judgement struct {
	Repo    string `json:"repo"`
	Commit  string `json:"commit"`
	File    string `json:"file"`
	Verdict string `json:"verdict"` // good, poor or bad
	Why     string `json:"why"`
}

// The goals for the shares of verdicts, in per cent.
const (
	leastGood = 80
	mostBad   = 3
)

func readJudgements(name string) ([]judgement, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []judgement
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var j judgement
		if err := json.Unmarshal(lines.Bytes(), &j); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, j)
	}
	return all, nil
}

// sorted counts the verdicts about the examples that the folders still have, and prints how often a good one has a
// higher quality than one that is poor or bad.
func sorted(w io.Writer, name string, dirs []string) error {
	all, err := readJudgements(name)
	if err != nil {
		return err
	}
	examples, err := readCode(dirs)
	if err != nil {
		return err
	}
	quality := map[string]float64{}
	for _, e := range examples {
		quality[e.Origin.Commit] = *e.Quality
	}
	verdicts := map[string][]float64{}
	for _, j := range all {
		if q, ok := quality[j.Commit]; ok {
			verdicts[j.Verdict] = append(verdicts[j.Verdict], q)
		}
	}
	good, poor, bad := verdicts["good"], verdicts["poor"], verdicts["bad"]
	n := len(good) + len(poor) + len(bad)
	fmt.Fprintf(w, "%-20s %4d judged: good %d, poor %d, bad %d\n", "in the folders", n, len(good), len(poor), len(bad))
	if len(good) > 0 && len(good) < n {
		fmt.Fprintf(w, "a good example has a higher quality than a poor or bad one: %.2f\n", auc(good, append(poor, bad...)))
	}
	return nil
}

// auc returns the share of pairs in which the first is higher; equal ones count half.
func auc(high, low []float64) float64 {
	sum := 0.0
	for _, a := range high {
		for _, b := range low {
			switch {
			case a > b:
				sum++
			case a == b:
				sum += 0.5
			}
		}
	}
	return sum / float64(len(high)*len(low))
}

func tally(w io.Writer, name string) error {
	all, err := readJudgements(name)
	if err != nil {
		return err
	}
	count := map[string]map[string]int{"all": {}}
	var repos []string
	for _, j := range all {
		if !slices.Contains([]string{"good", "poor", "bad"}, j.Verdict) || j.Why == "" || len(j.Commit) < 7 {
			return fmt.Errorf("%s: %s %s: a judgement needs a commit, a verdict (good, poor or bad) and a reason", name, j.Repo,
				j.Commit)
		}
		if count[j.Repo] == nil {
			count[j.Repo] = map[string]int{}
			repos = append(repos, j.Repo)
		}
		count[j.Repo][j.Verdict]++
		count["all"][j.Verdict]++
	}
	for _, r := range append(repos, "all") {
		c := count[r]
		n := c["good"] + c["poor"] + c["bad"]
		fmt.Fprintf(w, "%-20s %4d judged: good %d, poor %d, bad %d\n", r, n, c["good"], c["poor"], c["bad"])
	}
	c := count["all"]
	if n := c["good"] + c["poor"] + c["bad"]; n == 0 || c["good"]*100 < leastGood*n || c["bad"]*100 > mostBad*n {
		return fmt.Errorf("the goal is at least %d %% good and at most %d %% bad", leastGood, mostBad)
	}
	return nil
}
