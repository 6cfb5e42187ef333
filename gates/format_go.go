package gates

import (
	"bytes"
	"debug/buildinfo"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/version"
	"os"
	"path/filepath"
	"runtime"

	"github.com/runplan/runplan/internal/proc"
)

// Limits for formatting in this process: the printer is very slow on deeply nested code and cannot be stopped.
const (
	maxFormatted = 64 << 10 // bytes of a file
	maxNested    = 100      // nodes within each other
)

// goUnformatted returns the Go files that must be passed to gofmt. If gofmt has the Go release of this program, it
// omits files that are already formatted, because this program can check that itself.
func goUnformatted(dir string, files, env []string) []string {
	if !sameGofmt(env) {
		return files
	}
	var out []string
	for _, f := range files {
		if text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f))); err != nil || !goFormatted(text) {
			out = append(out, f)
		}
	}
	return out
}

// sameGofmt reports whether the gofmt of env is that of Go itself, in the release of this program.
func sameGofmt(env []string) bool {
	path, err := proc.LookPath("gofmt", env)
	if err != nil {
		return false
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil || info.Path != "cmd/gofmt" {
		return false
	}
	release := version.Lang(runtime.Version())
	return release != "" && version.Lang(info.GoVersion) == release
}

// goFormatted reports whether it is certain that gofmt would not change a file.
func goFormatted(text []byte) bool {
	if len(text) > maxFormatted {
		return false
	}
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || nested(file) > maxNested {
		return false
	}
	out, err := format.Source(text)
	return err == nil && bytes.Equal(out, text)
}

// nested returns the greatest nesting depth of the nodes below root.
func nested(root ast.Node) int {
	depth, most := 0, 0
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil {
			depth--
			return true
		}
		depth++
		most = max(most, depth)
		return true
	})
	return most
}
