// Package acceptance runs a project's own testscripts with the built-in engine. Each script shows what a user types
// and the result.
//
// A script starts in its own folder, $WORK, with the files of its archive; the tree is $WORKSPACE. It fails at the
// first line whose expectation is not met; the finding has that line. A folder without scripts is a finding too,
// because the configuration names it.
//
//	rule                   found in                                severity
//	acceptance/failed      a line of a script                      error
//	acceptance/no-scripts  the folder is missing, or has none      error
package acceptance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/lazyre"
)

// Own is an argument of the engine: the script starts in its own folder.
const Own = "-own"

// New makes the gate for the scripts in folder, relative to the tree. It calls the engine with [Own], a script and the
// tree. The engine prints the output of package testscript, or "SKIP: REASON" for a script that skipped itself. It
// exits with 0 or 1.
func New(folder string, engine []string) gates.Gate {
	info := gates.Info{Name: "acceptance", Kind: gates.Static, Cost: gates.Costly, Blocking: true,
		Command: "testscripts of " + folder}
	return gates.New(info, func(ctx context.Context, l *gates.Look) error {
		if len(engine) == 0 {
			return errors.New("no testscript engine is available to run them")
		}
		if !filepath.IsLocal(filepath.FromSlash(folder)) {
			return fmt.Errorf("the folder %q is not in the tree; correct gates.acceptance.dir", folder)
		}
		scripts, err := list(filepath.Join(l.Subject().Dir, filepath.FromSlash(folder)))
		if err != nil {
			return fmt.Errorf("list the scripts of %s: %w", folder, err)
		}
		if len(scripts) == 0 {
			l.Find(gates.Finding{Rule: "acceptance/no-scripts", Severity: gates.Error, Message: "there are no testscripts in " +
				folder, Fix: "restore them, or correct gates.acceptance.dir"})
			return nil
		}
		var sum gates.TestCount
		for _, name := range scripts {
			if err := one(ctx, l, engine, path.Join(path.Clean(folder), name), &sum); err != nil {
				return err
			}
		}
		l.Count(sum)
		return nil
	})
}

// list finds the scripts of a folder, as package testscript does.
func list(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if ext := path.Ext(e.Name()); e.Type().IsRegular() && (ext == ".txtar" || ext == ".txt") {
			out = append(out, e.Name())
		}
	}
	slices.Sort(out)
	return out, nil
}

var (
	failLine = lazyre.New(`(?m)^FAIL: .*?script\.txtar:(\d+): (.*)$`)
	skipLine = lazyre.New(`(?m)^SKIP: (.*)$`)
)

// one runs a copy of a script, since the engine works next to it.
func one(ctx context.Context, l *gates.Look, engine []string, script string, sum *gates.TestCount) error {
	text, err := os.ReadFile(filepath.Join(l.Subject().Dir, filepath.FromSlash(script)))
	if err != nil {
		return fmt.Errorf("read %s: %w", script, err)
	}
	temp, err := os.MkdirTemp("", "runplan-acceptance-")
	if err != nil {
		return fmt.Errorf("create a folder for %s: %w", script, err)
	}
	defer os.RemoveAll(temp)
	file := filepath.Join(temp, "script.txtar")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("create a folder for %s: %w", script, err)
	}
	out, err := l.Run(ctx, gates.Program{Args: append(slices.Clone(engine), Own, file, l.Subject().Dir),
		Env: []string{"TMPDIR=" + temp}})
	if err != nil {
		return fmt.Errorf("run %s: %w", script, err)
	}
	said := strings.ReplaceAll(out.Text, file, script)
	switch {
	case out.OK() && skipLine.MatchString(said):
		sum.Skipped++
		l.Note("%s skipped itself: %s", script, skipLine.FindStringSubmatch(said)[1])
	case out.OK():
		sum.Passed++
	case out.Exit == 1:
		sum.Failed++
		l.Find(failure(script, string(text), out.Text))
	default:
		return fmt.Errorf("the testscript engine could not run %s, %s: %s", script, out.How,
			strings.TrimSpace(said[strings.LastIndexByte(strings.TrimSpace(said), '\n')+1:]))
	}
	return nil
}

// failure makes the finding from the output of the engine.
func failure(script, text, said string) gates.Finding {
	f := gates.Finding{Rule: "acceptance/failed", Severity: gates.Error, Path: script, Message: "the script failed"}
	m := failLine.FindStringSubmatch(said)
	if m == nil {
		if t := strings.TrimSpace(said); t != "" {
			f.Message += ": " + t[strings.LastIndexByte(t, '\n')+1:]
		}
		return f
	}
	f.Message = m[2]
	n, err := strconv.Atoi(m[1])
	if lines := strings.Split(text, "\n"); err == nil && n > 0 && n <= len(lines) {
		f.Line = n
		f.Message = strings.TrimSpace(lines[n-1]) + ": " + m[2]
	}
	return f
}
