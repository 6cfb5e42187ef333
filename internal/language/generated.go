package language

import (
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
)

// GeneratedName reports whether a base name suggests generated code, such as user.pb.go or app.min.js.
func GeneratedName(base string) bool {
	base = strings.ToLower(base)
	for _, end := range []string{
		".pb.go", ".pb.gw.go", "_pb2.py", "_pb2.pyi", "_pb2_grpc.py", "_pb2_grpc.pyi", ".gen.go", "_gen.go", ".min.js",
		".min.mjs", ".min.cjs",
		"-min.js", ".bundle.js", "bindata.go", "_string.go",
	} {
		if strings.HasSuffix(base, end) {
			return true
		}
	}
	stem := strings.TrimSuffix(base, path.Ext(base))
	return strings.HasSuffix(stem, "_generated") || strings.HasSuffix(stem, ".generated") ||
		strings.Contains(base, "zz_generated.")
}

var generatedMark = lazyre.New(`(?m)^(?://|#|/\*|\s\*|--|<!--).{0,80}(?:Code generated .{0,120}DO NOT EDIT|@generated|[Aa]uto-?generated\b.{0,60}(?i:do not (?:edit|modify)))`)

// Generated reports whether the first lines of a text say that a program wrote it.
func Generated(text string) bool {
	head := text[:min(len(text), 2000)]
	return strings.Contains(head, "enerated") && generatedMark.MatchString(head)
}

// ByProgram reports whether the name or the first lines of a file say that a program wrote it.
func ByProgram(p, text string) bool { return GeneratedName(path.Base(p)) || Generated(text) }

// bundleMarks open each module of a file that browserify, webpack or component joined from several.
var bundleMarks = []string{"[function(require,module,exports){", "\n/******/", "\nrequire.register("}

// Bundle reports whether a program joined a text from at least two modules.
func Bundle(text string) bool {
	return slices.ContainsFunc(bundleMarks, func(mark string) bool { return strings.Count(text, mark) > 1 })
}
