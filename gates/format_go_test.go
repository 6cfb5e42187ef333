package gates

import (
	"go/format"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/runplan/runplan/tools/tooltest"
)

// Each file that runplan accepts as formatted is accepted by gofmt too. The test uses a part of the Go sources, both
// unchanged and damaged.
func TestGoFormattedAgreesWithGofmt(t *testing.T) {
	tooltest.Slow(t)
	if !sameGofmt(os.Environ()) {
		t.Skip("the gofmt in PATH is not that of the release of Go that built this test, so nothing is decided without it")
	}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var files []string
	for _, part := range []string{"src/go/printer", "src/go/doc", "src/cmd/gofmt", "src/encoding"} {
		err := filepath.WalkDir(filepath.Join(strings.TrimSpace(string(out)), filepath.FromSlash(part)),
			func(path string, d fs.DirEntry, err error) error {
				if err != nil || !d.Type().IsRegular() || !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".input") &&
					!strings.HasSuffix(path, ".golden") {
					return err
				}
				text, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				for i, text := range []string{string(text), strings.Replace(string(text), "\t", "    ", 3),
					strings.Replace(string(text), "\n\n", "\n\n\n", 2)} {
					name := strings.ReplaceAll(path, string(filepath.Separator), "-") + string(rune('0'+i)) + ".go"
					files = append(files, name)
					if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
						return err
					}
				}
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("gofmt", "-l", ".")
	cmd.Dir = dir
	said, _ := cmd.CombinedOutput() // it fails on those that are no Go, which it names in another way
	left := goUnformatted(dir, files, os.Environ())
	for line := range strings.Lines(string(said)) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		if !slices.Contains(left, name) {
			t.Errorf("gofmt: %s; here the file counts as formatted", strings.TrimSpace(line))
		}
	}
	if len(files) < 300 || len(files)-len(left) < len(files)/5 || len(left) < len(files)/3 {
		t.Errorf("of %d files, %d are passed to gofmt", len(files), len(left))
	}
}

// If the gofmt in the PATH is not that of Go, all files are left to it.
func TestForeignGofmtChecksAllFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "gofmt"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if left := goUnformatted(dir, []string{"a.go"}, []string{"PATH=" + dir}); len(left) != 1 {
		t.Errorf("left to gofmt: %v", left)
	}
	if left := goUnformatted(dir, []string{"a.go", "gone.go"}, []string{"PATH="}); len(left) != 2 {
		t.Errorf("without gofmt: %v", left)
	}
}

// Code that takes long to print is left to gofmt.
func TestNestedCodeUsesGofmt(t *testing.T) {
	const n = 6000
	for name, text := range map[string]string{
		"functions": strings.Repeat("func() { _ = ", n/4) + "1" + strings.Repeat(" }", n/4),
		"sums":      "1" + strings.Repeat(" + 1", n),
		"calls":     "a" + strings.Repeat(".f()", n),
		"literals":  strings.Repeat("T{", n) + strings.Repeat("}", n),
		"no Go":     "package",
		"large":     "`" + strings.Repeat("x\n", maxFormatted) + "`",
	} {
		if goFormatted([]byte("package a\n\nvar x = " + text + "\n")) {
			t.Errorf("%s: formatted", name)
		}
	}
	if !goFormatted([]byte("package a\n\nvar x = 1\n")) || goFormatted([]byte("package a\nvar  x = 1\n")) ||
		goFormatted([]byte("var x = 1\n")) {
		t.Error("the result for a simple file is wrong")
	}
}

// For any text, goFormatted accepts only text that ends with a newline and that the formatter of Go does not change.
func FuzzGoFormatted(f *testing.F) {
	f.Add("package a\n\nfunc f() {\n\treturn\n}\n")
	f.Add("package a\n//go:build x\nvar a=`\r`")
	f.Add("package a\n\nvar x = 1\n\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		if !goFormatted([]byte(text)) {
			return
		}
		if out, err := format.Source([]byte(text)); err != nil || string(out) != text || !strings.HasSuffix(text, "\n") {
			t.Errorf("%q counts as formatted; the formatter returns %q, %v", text, out, err)
		}
	})
}
