package language

import (
	"iter"
	"path"
	"strings"
)

// compiled lists, for the ending of a compiled file, those of its sources: TypeScript imports the name of the former.
var compiled = map[string][]string{
	".js": {".ts", ".tsx", ".d.ts"}, ".jsx": {".tsx"}, ".mjs": {".mts", ".d.mts"}, ".cjs": {".cts", ".d.cts"},
}

// ScriptFiles yields the files that an import of JavaScript or TypeScript may mean, most likely first. p is the slash-
// separated path of the import, with or without extension: a may be a.ts or a/index.ts, and a.js may be a.ts.
func ScriptFiles(p string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield(p) {
			return
		}
		ext := path.Ext(p)
		for _, source := range compiled[ext] {
			if !yield(strings.TrimSuffix(p, ext) + source) {
				return
			}
		}
		for _, stem := range []string{p, path.Join(p, "index")} {
			for _, ext := range []string{".ts", ".tsx", ".d.ts", ".mts", ".cts", ".d.mts", ".d.cts", ".js", ".jsx", ".mjs",
				".cjs", ".vue", ".svelte"} {
				if !yield(stem + ext) {
					return
				}
			}
		}
	}
}

// PythonFiles returns the files that may be the module at a slash-separated path, in the order in which Python looks
// for them, each with its stub.
func PythonFiles(p string) []string {
	return []string{path.Join(p, "__init__.py"), p + ".py", path.Join(p, "__init__.pyi"), p + ".pyi"}
}
