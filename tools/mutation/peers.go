package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// peer runs the other program for the file's language in dir.
func (r row) peer(ctx context.Context, dir string, env []string, limit time.Duration) (string, count, error) {
	name, args, result := "Stryker", []string{"stryker", "run", "--mutate", r.file, "--reporters", "json"}, stryker
	switch path.Ext(r.file) {
	case ".go":
		name, args, result = "Gremlins", []string{"gremlins", "unleash"}, gremlins
		others, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(path.Dir(r.file)), "*.go"))
		if err != nil {
			return name, count{}, err
		}
		folder := "./" + path.Dir(r.file)
		for _, f := range others {
			if base := filepath.Base(f); base != path.Base(r.file) {
				args = append(args, "-E", `(^|/)`+regexp.QuoteMeta(base)+"$")
			}
		}
		inner, err := os.ReadDir(filepath.Join(dir, filepath.FromSlash(path.Dir(r.file))))
		if err != nil {
			return name, count{}, err
		}
		for _, d := range inner { // gremlins mutates the folders below too
			if d.IsDir() {
				args = append(args, "-E", "(^|/)"+regexp.QuoteMeta(d.Name())+"/")
			}
		}
		args = append(args, folder)
	case ".py":
		name, args, result = "mutmut", []string{"mutmut", "run"}, mutmut
	}
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	if at := lookPath(args[0], env); at != "" {
		cmd.Path, cmd.Err = at, nil
	}
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, env, 10*time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	began, cpu := time.Now(), spent()
	out, err := cmd.CombinedOutput()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what a time limit left running
	took, cpu := time.Since(began).Seconds(), spent()-cpu
	c, readErr := result(dir, r.file, string(out))
	c.seconds, c.cpu, c.capped = took, cpu, ctx.Err() != nil
	if c.killed+c.survived == 0 && !c.capped {
		return name, c, fmt.Errorf("%s tried no mutant: %w: %s", name, errors.Join(err, readErr), out)
	}
	return name, c, nil
}

// lookPath finds a program in the last PATH of env.
func lookPath(name string, env []string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if list, ok := strings.CutPrefix(env[i], "PATH="); ok {
			for _, dir := range filepath.SplitList(list) {
				if info, err := os.Stat(filepath.Join(dir, name)); err == nil && !info.IsDir() {
					return filepath.Join(dir, name)
				}
			}
			break
		}
	}
	return ""
}

// gremlins reads the lines that it prints during the run, which a time limit does not lose.
func gremlins(_, _, out string) (c count, err error) {
	for line := range strings.SplitSeq(out, "\n") {
		switch line = strings.TrimSpace(line); {
		case !strings.Contains(line, " at "):
		case strings.HasPrefix(line, "KILLED"), strings.HasPrefix(line, "TIMED OUT"):
			c.killed++
		case strings.HasPrefix(line, "LIVED"):
			c.survived++
		case strings.HasPrefix(line, "NOT COVERED"):
			c.untested++
		case strings.HasPrefix(line, "NOT VIABLE"):
			c.invalid++
		}
	}
	return c, nil
}

// mutmut reads the file that it writes after each mutant.
func mutmut(dir, file, _ string) (c count, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "mutants", filepath.FromSlash(file)+".meta"))
	if err != nil {
		return c, err
	}
	var meta struct {
		Codes map[string]*int `json:"exit_code_by_key"`
	}
	if err := json.Unmarshal(text, &meta); err != nil {
		return c, err
	}
	for _, code := range meta.Codes {
		switch {
		case code == nil:
		case *code == 0:
			c.survived++
		case *code == 5, *code == 33:
			c.untested++
		case *code == 34, *code == 35, *code == 37:
			c.invalid++
		default:
			c.killed++
		}
	}
	return c, nil
}

// stryker reads its report, which it writes at the end.
func stryker(dir, _, _ string) (c count, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "reports", "mutation", "mutation.json"))
	if err != nil {
		return c, err
	}
	var report struct {
		Files map[string]struct {
			Mutants []struct{ Status string }
		}
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return c, err
	}
	for _, f := range report.Files {
		for _, m := range f.Mutants {
			switch m.Status {
			case "Killed", "Timeout":
				c.killed++
			case "Survived":
				c.survived++
			case "NoCoverage":
				c.untested++
			default:
				c.invalid++
			}
		}
	}
	return c, nil
}
