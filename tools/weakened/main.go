// Command weakened measures how many weakened tests runplan detects.
//
// Each case is a change of tests after which all tests pass: an assertion is loosened, an expectation is changed with
// the code, rows of a table are removed, or a helper skips. The program makes a repository for each, commits the strong
// tests, applies the change and runs "runplan gate --mutants". A case is detected if a finding names a mutant, a part
// or a test.
package main

import (
	"context"
	"embed"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/txtar"
)

//go:embed testdata/*.txtar
var data embed.FS

// The rules whose findings detect a weakened test.
var rules = []string{"test-weakened", "changed-expectation", "mutant-survived", "line-untested", "part-untested"}

func main() {
	binary := flag.String("binary", filepath.Join("bin", "runplan"), "runplan `program`")
	budget := flag.Duration("budget", time.Minute, "budget of each case")
	only := flag.String("only", "", "only cases whose name contains this `text`")
	flag.Parse()
	program, err := filepath.Abs(*binary)
	if err == nil {
		err = run(context.Background(), program, *budget, *only)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "weakened:", err)
		os.Exit(1)
	}
}

// one is a case: the files of a repository, and those of the change.
type one struct {
	name, kind, lang string
	before, after    map[string]string
}

// cases reads the archives. A file "KIND.N/NAME" belongs to the change of a case, any other one to the repository.
func cases() ([]one, error) {
	names, err := fs.Glob(data, "testdata/*.txtar")
	if err != nil {
		return nil, err
	}
	var list []one
	for _, name := range names {
		text, err := data.ReadFile(name)
		if err != nil {
			return nil, err
		}
		before, changes := map[string]string{}, map[string]map[string]string{}
		for _, f := range txtar.Parse(text).Files {
			dir, base, _ := strings.Cut(f.Name, "/")
			if kind, _, ok := strings.Cut(dir, "."); !ok || base == "" || kind == "" {
				before[f.Name] = string(f.Data)
				continue
			}
			if changes[dir] == nil {
				changes[dir] = map[string]string{}
			}
			changes[dir][base] = string(f.Data)
		}
		stem := strings.TrimSuffix(filepath.Base(name), ".txtar")
		_, lang, _ := strings.Cut(stem, "_")
		for dir, after := range changes {
			kind, _, _ := strings.Cut(dir, ".")
			list = append(list, one{name: stem + "/" + dir, kind: kind, lang: lang, before: before, after: after})
		}
	}
	slices.SortFunc(list, func(a, b one) int { return strings.Compare(a.name, b.name) })
	return list, nil
}

func run(ctx context.Context, program string, budget time.Duration, only string) error {
	list, err := cases()
	if err != nil {
		return err
	}
	home, err := os.MkdirTemp("", "runplan-weakened-home-") // the suites share one build cache
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	told, all := map[string]int{}, map[string]int{}
	for _, c := range list {
		if !strings.Contains(c.name, only) {
			continue
		}
		began := time.Now()
		by, err := c.told(ctx, program, home, budget)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		for _, key := range []string{"all", c.kind, c.lang} {
			all[key]++
			if by != "" {
				told[key]++
			}
		}
		fmt.Printf("%-40s %5.1fs  %s\n", c.name, time.Since(began).Seconds(), by)
	}
	fmt.Println()
	for _, key := range []string{"all", "loosened", "expectation", "rows", "helper", "go", "python", "js"} {
		if all[key] > 0 {
			fmt.Printf("%-12s %d of %d told, %d %%\n", key, told[key], all[key], 100*told[key]/all[key])
		}
	}
	return nil
}

// told returns the first rule that detects the case, "" if none does. It returns an error if the tests of the change
// do not pass.
func (c one) told(ctx context.Context, program, home string, budget time.Duration) (string, error) {
	dir, err := os.MkdirTemp("", "runplan-weakened-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	repo := filepath.Join(dir, "repo")
	if err := write(repo, c.before); err != nil {
		return "", err
	}
	env := append(os.Environ(), "HOME="+home, "RUNPLAN_HOME="+filepath.Join(home, "runplan"), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	for name, of := range map[string]string{"RUNPLAN_GATE_GOCACHE": "GOCACHE", "GOMODCACHE": "GOMODCACHE"} {
		if out, err := exec.CommandContext(ctx, "go", "env", of).Output(); err == nil {
			env = append(env, name+"="+strings.TrimSpace(string(out)))
		}
	}
	command := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Dir, cmd.Env = repo, env
		return cmd.Output()
	}
	for _, args := range [][]string{{"git", "init", "-q", "-b", "main"}, {"git", "add", "-A"},
		{"git", "commit", "-q", "-m", "base"}} {
		if out, err := command(args...); err != nil {
			return "", fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	if err := write(repo, c.after); err != nil {
		return "", err
	}
	out, err := command(program, "gate", "--json", "--mutants", "--only", "tests", "--mutants-budget", budget.String())
	var v struct {
		Reports []struct {
			Gate, Status, Note string
			Findings           []struct{ Rule, Message string }
		}
	}
	if json.Unmarshal(out, &v) != nil {
		return "", fmt.Errorf("runplan gate: %w: %s", err, out)
	}
	by := ""
	for _, r := range v.Reports {
		if strings.HasPrefix(r.Gate, "tests") && r.Status != "pass" && r.Status != "warn" {
			return "", fmt.Errorf("the tests of the change do not pass: %+v", r)
		}
		for _, f := range r.Findings {
			if at := slices.Index(rules, f.Rule); at >= 0 && (by == "" || at < slices.Index(rules, strings.Fields(by)[0])) {
				by = f.Rule + " " + f.Message
			}
		}
	}
	return by, nil
}

func write(dir string, files map[string]string) error {
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
