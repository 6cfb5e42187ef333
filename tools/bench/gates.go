package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/plugin"
	"github.com/runplan/runplan/lessons"
	"github.com/runplan/runplan/patterns"
)

// goSource returns the source of the Go installation, or a part of it: a large tree that every machine with Go has.
func (b *bench) goSource() (dir, name string, err error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", "", fmt.Errorf("go env GOROOT: %w", err)
	}
	name = "src"
	if b.quick {
		name = "src/net"
	}
	return filepath.Join(strings.TrimSpace(string(out)), filepath.FromSlash(name)), "GOROOT/" + name, nil
}

// found runs a program that exits with 1 if it finds something, else with 0, and returns its output.
func found(cmd *exec.Cmd) ([]byte, error) {
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", filepath.Base(cmd.Path), err, errOut.String())
	}
	return out.Bytes(), nil
}

// lessons compares the scanner of lessons with one call of ripgrep for the same patterns. It measures the program,
// which applies a lesson to its languages, and the library with each lesson on each file, as rg does it. It scans the
// tree in place.
func (b *bench) lessons() error {
	dir, name, err := b.goSource()
	if err != nil {
		return err
	}
	lib, err := lessons.Load(lessons.BuiltIn())
	if err != nil {
		return err
	}
	scanner, err := lessons.NewScanner(lib.Lessons, lessons.Options{AnyLanguage: true})
	if err != nil {
		return err
	}
	rg, err := exec.LookPath("rg")
	if err != nil {
		rg = ""
	}
	// Both skip third-party code. rg runs without the few multi-line patterns, which make it slower.
	args := []string{"--no-config", "--no-ignore", "--hidden", "--no-heading", "--line-number", "--glob=!vendor"}
	for _, l := range lib.Lessons {
		if l.Pattern.Type == lessons.Syntactic && l.Severity.Level() != lessons.None && !overLines(l.Pattern.Regex) {
			args = append(args, "-e", rgRegex(l.Pattern.Regex))
		}
	}
	args = append(args, "--", dir)
	var size int64
	var program, library, floor, first, second []float64
	for range b.of(7, 3) {
		began := time.Now()
		files, _, err := patterns.Files(context.Background(), os.Environ(), dir)
		if err != nil {
			return err
		}
		r, err := scanner.Scan(context.Background(), dir, files)
		if err != nil {
			return err
		}
		any := float64(time.Since(began))
		began = time.Now()
		if _, err := found(b.place.Command(b.place.Dir, b.place.Runplan, "lessons", "check", "--json", dir)); err != nil {
			return err
		}
		own := float64(time.Since(began))
		size, program, library = r.Bytes, append(program, own), append(library, any)
		if rg == "" {
			continue
		}
		began = time.Now()
		if _, err := found(b.place.Command(b.place.Dir, rg, args...)); err != nil {
			return err
		}
		fl := float64(time.Since(began))
		floor, first, second = append(floor, fl), append(first, own/fl), append(second, any/fl)
	}
	add := func(what string, took, ratio []float64) {
		v := median(took)
		value := fmt.Sprintf("%s, %.0f MB/s", ms(v), float64(size)/1e6/(v/1e9))
		if rg == "" {
			b.figures = append(b.figures, figure{what: what, value: value, floor: "no rg", ratio: "-"})
			return
		}
		b.add(what, value, ms(median(floor)), median(ratio), 1.5)
	}
	add("lessons check "+name+" (rg)", program, first)
	add("each lesson on each file of "+name+" (rg)", library, second)
	return nil
}

// overLines reports whether a pattern has \n outside of [^…].
func overLines(re string) bool {
	return strings.Contains(regexp.MustCompile(`\[\^[^\]]*\]`).ReplaceAllString(re, ""), `\n`)
}

// rgRegex converts a pattern for rg: ASCII classes, and no unnecessary escapes.
func rgRegex(re string) string {
	var s strings.Builder
	s.WriteString("(?-u)")
	for i := 0; i < len(re); i++ {
		if re[i] == '\\' && i+1 < len(re) {
			i++
			if strings.IndexByte("\"'`/:;,<>=!@% ", re[i]) < 0 {
				s.WriteByte('\\')
			}
		}
		s.WriteByte(re[i])
	}
	return s.String()
}

// again measures the second run of a gate on a large unchanged repository. The floor is the time that git needs to see
// that nothing changed.
func (b *bench) again() error {
	from, name, err := b.goSource()
	if err != nil {
		return err
	}
	dir := filepath.Join(b.place.Dir, "again")
	n, err := copyGo(from, filepath.Join(dir, "src"))
	if err != nil {
		return err
	}
	if _, err := b.place.Repo("again", map[string]string{".runplan/config.toml": "[gates]\n"}); err != nil {
		return err
	}
	gate := func() ([]byte, error) {
		return found(b.place.Command(dir, b.place.Runplan, "gate", "--all", "--only", "lessons", "--json"))
	}
	if _, err := gate(); err != nil {
		return err
	}
	var ours, floor, ratio []float64
	for range b.of(15, 5) {
		began := time.Now()
		if _, err := b.place.Git(dir, "status", "--porcelain"); err != nil {
			return err
		}
		fl := float64(time.Since(began))
		began = time.Now()
		out, err := gate()
		if err != nil {
			return err
		}
		v := float64(time.Since(began))
		if !bytes.Contains(out, []byte(`"note": "cached`)) {
			return fmt.Errorf("the second result is not from the cache:\n%s", out)
		}
		ours, floor, ratio = append(ours, v), append(floor, fl), append(ratio, v/fl)
	}
	v := median(ours)
	b.figures = append(b.figures, figure{
		fmt.Sprintf("second gate, %s, %d files (git status)", name, n), ms(v), ms(median(floor)),
		fmt.Sprintf("%.2f", median(ratio)), "≤ 100 ms", v <= 100e6,
	})
	return os.RemoveAll(dir)
}

// copyGo copies Go files and gives them old modification times: git rereads files that are as new as its index.
func copyGo(from, to string) (n int, err error) {
	old := time.Now().Add(-time.Hour)
	err = filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || filepath.Ext(path) != ".go" {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		full := filepath.Join(to, rel)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(full, text, 0o644); err != nil {
			return err
		}
		n++
		return os.Chtimes(full, old, old)
	})
	return n, err
}

// plugin measures the start of a gate plugin with its first call. Its floor is the start of a Go program that does
// nothing.
func (b *bench) plugin() error {
	program := filepath.Join(b.place.Dir, "gate-plugin")
	build := exec.Command("go", "build", "-C", "examples/gate-plugin-go", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	empty, err := b.empty()
	if err != nil {
		return err
	}
	dir := filepath.Join(b.place.Dir, "looked-at")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "a.js"), []byte("// nothing to do\n"), 0o644); err != nil {
		return err
	}
	ctx := context.Background()
	var ours, floor, ratio []float64
	for range b.of(60, 15) {
		began := time.Now()
		if err := b.place.Command(b.place.Dir, empty).Run(); err != nil {
			return err
		}
		fl := float64(time.Since(began))
		began = time.Now()
		p, err := plugin.Open(ctx, plugin.Config{Name: "todo-owner", Path: program, Dir: dir, Environ: b.place.Env})
		if err != nil {
			return err
		}
		_, err = p.Check(ctx, gates.Subject{Dir: dir})
		v := float64(time.Since(began))
		if cerr := p.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return err
		}
		ours, floor, ratio = append(ours, v), append(floor, fl), append(ratio, v/fl)
	}
	v := median(ours)
	b.figures = append(b.figures, figure{
		"start of a gate plugin (an empty Go program)", ms(v), ms(median(floor)), fmt.Sprintf("%.2f", median(ratio)),
		"≤ 20 ms", v <= 20e6,
	})
	return nil
}
