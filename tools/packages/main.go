// Command packages writes what the source says about its packages: docs/packages.md has a sentence about each of them,
// and docs/ARCHITECTURE.md a picture of the imports between the main folders. It reads package comments and imports of
// all systems, so the result does not depend on where it runs.
//
// Usage: go run ./tools/packages, or make generate.
package main

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const module = "github.com/runplan/runplan/"

// The generated files.
const (
	tablePage   = "docs/packages.md"
	picturePage = "docs/ARCHITECTURE.md"
)

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, "packages:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	pages, err := generate(root)
	if err != nil {
		return err
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns the text of each generated file.
func generate(root string) (map[string]string, error) {
	all, err := read(root)
	if err != nil {
		return nil, err
	}
	picture, err := draw(all)
	if err != nil {
		return nil, err
	}
	page, err := os.ReadFile(filepath.Join(root, picturePage))
	if err != nil {
		return nil, err
	}
	place := regexp.MustCompile("(?s)(\n```mermaid\n).*?(\n```\n)")
	if len(place.FindAllIndex(page, -1)) != 1 {
		return nil, fmt.Errorf("%s needs one block ```mermaid for the picture", picturePage)
	}
	text := place.ReplaceAll(page, []byte("${1}"+picture+"${2}"))
	return map[string]string{tablePage: table(all), picturePage: string(text)}, nil
}

// folder holds what is known of a folder with code.
type folder struct {
	name    string
	says    string // first sentence of its package comment
	imports []string
}

// read returns all folders that have a package or a script, by name.
func read(root string) ([]folder, error) {
	found := map[string]*folder{}
	tree := os.DirFS(root)
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch base := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (base[0] == '.' || slices.Contains([]string{"testdata", "node_modules", "bin",
			"dist"}, base)):
			return fs.SkipDir
		case !d.Type().IsRegular() || name == path.Base(name):
			return nil
		}
		dir, f := path.Dir(name), &folder{name: path.Dir(name)}
		if old := found[dir]; old != nil {
			f = old
		}
		switch path.Ext(name) {
		case ".go":
			err = f.add(tree, name)
		case ".sh":
			err = f.script(tree, name)
		default:
			return nil
		}
		found[dir] = f
		return err
	})
	if err != nil {
		return nil, err
	}
	var all []folder
	for _, name := range slices.Sorted(maps.Keys(found)) {
		all = append(all, *found[name])
	}
	return all, nil
}

// add reads a Go file. A package that has only tests gets its comment from them.
func (f *folder) add(tree fs.FS, name string) error {
	src, err := fs.ReadFile(tree, name)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return err
	}
	if file.Doc != nil {
		f.says = said(file)
	}
	if strings.HasSuffix(name, "_test.go") {
		return nil
	}
	for _, imp := range file.Imports {
		p, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			return err
		}
		if target, ours := strings.CutPrefix(p, module); ours {
			f.imports = append(f.imports, target)
		}
	}
	return nil
}

// said returns the first sentence of a package comment, without the name of the package.
func said(file *ast.File) string {
	text := new(doc.Package).Synopsis(file.Doc.Text())
	kind, rest, _ := strings.Cut(text, " ")
	if _, after, ok := strings.Cut(rest, " "); ok && slices.Contains([]string{"Package", "Command", "Program"}, kind) {
		text = after
	}
	return strings.NewReplacer("[", "", "]", "", "|", `\|`).Replace(strings.Join(strings.Fields(text), " "))
}

// script reads the comment of a shell script that is the main one of a folder without a package.
func (f *folder) script(tree fs.FS, name string) error {
	base := path.Base(f.name)
	if f.says != "" && path.Base(name) != base+".sh" {
		return nil
	}
	src, err := fs.ReadFile(tree, name)
	if err != nil {
		return err
	}
	var text []string
	for _, line := range strings.Split(string(src), "\n")[1:] {
		line, comment := strings.CutPrefix(line, "#")
		if line = strings.TrimSpace(line); !comment || line == "" {
			break
		}
		text = append(text, line)
	}
	says := strings.TrimPrefix(new(doc.Package).Synopsis(strings.Join(text, " ")), base+": ")
	f.says = "(a script) " + strings.TrimRight(says, ".:") + "."
	return nil
}

// table returns the page with a sentence about each folder.
func table(all []folder) string {
	var b strings.Builder
	b.WriteString("# Packages\n\nThis page is generated from the package comments: `make generate`. The comments say more; `go " +
		"doc ./FOLDER` prints\none. [ARCHITECTURE.md](ARCHITECTURE.md) has the picture of the imports.\n")
	last := ""
	for _, f := range all {
		if top, _, _ := strings.Cut(f.name, "/"); top != last {
			fmt.Fprintf(&b, "\n## %s\n\n| Folder | What it does |\n|---|---|\n", top)
			last = top
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", f.name, f.says)
	}
	return b.String()
}
