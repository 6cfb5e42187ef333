// Package hygiene contains small rules: licences of new dependencies, dead links in documents, dangerous commands, the
// length of files, and free memory. docs/rules.md lists them.
package hygiene

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/language"
)

func info(name string, blocking bool) gates.Info {
	return gates.Info{Name: name, Kind: gates.Static, Cost: gates.Instant, Blocking: blocking}
}

// Size makes the gate that limits the length of source files (GATE-17). A file that was too long before may stay so,
// but must not grow.
func Size(most int) gates.Gate {
	return gates.New(info("size", true), func(ctx context.Context, l *gates.Look) error {
		files, ok, err := l.Changed(ctx, func(c gates.Change) bool { return c.Status != gates.Deleted && source(c.Path) })
		if err != nil || !ok {
			return err
		}
		for _, f := range files {
			was, n := lines(f.Before), lines(f.After)
			if n <= most || n <= was {
				continue
			}
			l.Find(gates.Finding{
				Rule: "size/too-long", Severity: gates.Error, Path: f.Path, Line: most + 1,
				Message: fmt.Sprintf("the file has %d lines, %d are allowed", n, most), Fix: "split it",
			})
		}
		return nil
	})
}

func lines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

func source(p string) bool {
	return !language.ThirdParty(p) && !gates.Match([]string{"**/{testdata,dist,build}/**", "*.pb.go", "*_gen.go",
		"*.min.js", "*.d.ts"}, p) && (language.IsCode(p) || path.Ext(p) == ".css")
}

// Memory makes the gate that checks whether a test suite has enough memory (GATE-07). It only warns, because the code
// cannot change it. least is in MiB; available returns the free bytes.
func Memory(least int, available func() (uint64, error)) gates.Gate {
	return gates.New(info("memory", false), func(_ context.Context, l *gates.Look) error {
		if available == nil {
			l.Skip("runplan cannot read the free memory")
			return nil
		}
		free, err := available()
		if err != nil {
			return fmt.Errorf("read how much memory is free: %w", err)
		}
		if mib := free >> 20; mib < uint64(max(0, least)) {
			l.Find(gates.Finding{
				Rule: "memory/low", Severity: gates.Warning,
				Message: fmt.Sprintf("%d MiB of memory are free, %d are required; tests may be killed", mib, least),
				Fix:     "end other programs, or run fewer workers",
			})
		}
		return nil
	})
}
