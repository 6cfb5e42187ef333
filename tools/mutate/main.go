// Command mutate measures how much the tests of this repository prove. Like the gate mutants, it makes wrong versions
// of production code, called mutants, and runs the tests of the package on each. It prints each mutant that passes all
// tests.
//
// Usage: go run ./tools/mutate [-n 300] [-seed 1] [-workers 1] [-bar 85] package folder ...
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/runplan/runplan/gates/mutants/mutant"
)

// verdict is the result of a mutant.
type verdict string

const (
	killed   verdict = "killed"
	survived verdict = "survived"
	unbuilt  verdict = "does not build" // does not count
)

func main() {
	n := flag.Int("n", 300, "mutants to try, spread evenly over the packages; 0 tries all")
	seed := flag.Uint64("seed", 1, "seed of the choice")
	workers := flag.Int("workers", 1, "mutants to try at the same time")
	bar := flag.Int("bar", 0, "minimum percent of killed mutants; below it the command fails")
	limit := flag.Duration("timeout", 3*time.Minute, "time for the tests on one mutant; longer counts as killed")
	only := flag.String("file", "", "only mutants of files whose path contains this")
	flag.Parse()
	if err := measure(flag.Args(), *n, *seed, *workers, *bar, *limit, *only); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func measure(dirs []string, n int, seed uint64, workers, bar int, limit time.Duration, only string) error {
	if len(dirs) == 0 {
		return errors.New("name folders of packages, such as ./runner")
	}
	var list []mutant.Mutant
	for _, dir := range dirs {
		all, err := mutantsOf(dir, only)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %d mutants\n", dir, len(all))
		r := rand.New(rand.NewPCG(seed, 0))
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		if n > 0 {
			all = all[:min(len(all), (n+len(dirs)-1)/len(dirs))]
		}
		if try(mutant.Mutant{Path: all[0].Path}, limit) != survived {
			return fmt.Errorf("the tests of %s fail without a mutant", dir)
		}
		list = append(list, all...)
	}
	results := make([]verdict, len(list))
	var wg sync.WaitGroup
	next := make(chan int)
	for range workers {
		wg.Go(func() {
			for i := range next {
				results[i] = try(list[i], limit)
				m := list[i]
				if results[i] == survived {
					fmt.Printf("survived: %s:%d: %s: %q becomes %q\n", m.Path, m.Line, m.Kind, cut(m.Old), cut(m.New))
				}
			}
		})
	}
	for i := range list {
		next <- i
	}
	close(next)
	wg.Wait()
	return sum(list, results, bar)
}

// sum prints the figures by package.
func sum(list []mutant.Mutant, results []verdict, bar int) error {
	count := map[string]map[verdict]int{}
	var names []string
	for i, m := range list {
		for _, name := range []string{filepath.Dir(m.Path), "all"} {
			if count[name] == nil {
				count[name] = map[verdict]int{}
				if name != "all" {
					names = append(names, name)
				}
			}
			count[name][results[i]]++
		}
	}
	share := 0
	for _, name := range append(names, "all") {
		c := count[name]
		tried := c[killed] + c[survived]
		share = 100 * c[killed] / max(1, tried)
		fmt.Printf("%s: %d of %d mutants killed, %d %%; %d do not build\n", name, c[killed], tried, share, c[unbuilt])
	}
	if share < bar {
		return fmt.Errorf("%d %% are fewer than %d %%", share, bar)
	}
	return nil
}

// mutantsOf lists the mutants of the production code of a package.
func mutantsOf(dir, only string) ([]mutant.Mutant, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var all []mutant.Mutant
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(f, "_test.go") || !strings.Contains(f, only) || bytes.Contains(text, []byte("// Code generated ")) {
			continue
		}
		lines := map[int]bool{}
		for i := range bytes.Count(text, []byte("\n")) + 1 {
			lines[i+1] = true
		}
		all = append(all, mutant.Of(filepath.ToSlash(f), string(text), lines)...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no mutants", dir)
	}
	return all, nil
}

// try runs the tests of the package on a mutant. The working tree does not change: the compiler reads the mutant from
// a temporary file instead.
func try(m mutant.Mutant, limit time.Duration) verdict {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	text, err := os.ReadFile(m.Path)
	path, err2 := filepath.Abs(m.Path)
	wrong, overlay := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json")
	replace, err3 := json.Marshal(map[string]map[string]string{"Replace": {path: wrong}})
	if err := errors.Join(err, err2, err3, os.WriteFile(wrong, []byte(m.Apply(string(text))), 0o600),
		os.WriteFile(overlay, replace, 0o600)); err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit+30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-short", "-vet=off", "-failfast", "-timeout", limit.String(),
		"-overlay", overlay, "./"+filepath.Dir(m.Path))
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return survived
	case bytes.Contains(out, []byte("[build failed]")):
		return unbuilt
	}
	return killed
}

// cut shortens code for a line of output.
func cut(code string) string {
	if len(code) > 60 {
		return code[:60] + "…"
	}
	return code
}
