package gates

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/proc"
)

// FormatResult is the result of the format hook.
type FormatResult struct {
	Changed []string `json:"changed,omitempty"` // files it rewrote, sorted
	Notes   []string `json:"notes,omitempty"`   // missing tools and files that a tool could not read
}

// formatter is one tool and its files.
type formatter struct {
	tool  string // as people call it
	args  []string
	dir   string
	files []string // relative to dir
}

// Format runs the project's formatters on the changed files (GATE-09). It runs once before the gates, and does not
// repeat until a linter is satisfied (GATE-13). It changes no other file and follows no link. A missing tool, or a file
// that a tool cannot read, is a note; the linter reports it. An error means that the tree could not be read or that the
// work was stopped.
func Format(ctx context.Context, dir string, changed, env []string, s Settings) (FormatResult, error) {
	w := &Look{subject: Subject{Dir: dir, Env: env}, rep: Report{Gate: "format"}, limit: DefaultTimeout}
	if err := w.start(ctx); err != nil {
		return FormatResult{}, fmt.Errorf("format: %w", err)
	}
	if slices.Contains(s.Disable, "format") {
		return FormatResult{Notes: []string{"formatting is turned off in the configuration"}}, nil
	}
	files := formattable(dir, changed)
	sum := func(file string) (string, error) { return atomicfile.Sum(filepath.Join(dir, filepath.FromSlash(file))) }
	before := map[string]string{}
	for _, f := range files {
		var err error
		if before[f], err = sum(f); err != nil {
			return FormatResult{}, fmt.Errorf("format %s: %w", f, err)
		}
	}
	var res FormatResult
	for _, f := range formatters(w, files) {
		if f.args == nil {
			res.Notes = append(res.Notes, f.tool)
			continue
		}
		for some := range slices.Chunk(f.files, maxArgs) {
			out, err := w.run(ctx, program{args: append(slices.Clone(f.args), some...), dir: f.dir})
			if errors.Is(err, proc.ErrNotFound) {
				res.Notes = append(res.Notes, f.tool+" is not installed, so its files are not formatted")
				break
			}
			if err != nil {
				return res, fmt.Errorf("format with %s: %w", f.tool, err)
			}
			if !out.ok() {
				res.Notes = append(res.Notes,
					phrase.Fit(fmt.Sprintf("%s, %s: %s", f.tool, out.how(), strings.TrimSpace(out.text)), 500))
			}
		}
	}
	for _, f := range files {
		now, err := sum(f)
		if err != nil {
			return res, fmt.Errorf("format %s: %w", f, err)
		}
		if now != before[f] {
			res.Changed = append(res.Changed, f)
		}
	}
	return res, nil
}

// formattable returns the regular files of the tree: no links, no fixtures, no files behind a link.
func formattable(dir string, changed []string) []string {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, p := range changed {
		p = path.Clean(p)
		if !filepath.IsLocal(filepath.FromSlash(p)) ||
			slices.ContainsFunc(strings.Split(path.Dir(p), "/"), func(part string) bool {
				return part != "." && Ignored(part)
			}) {
			continue
		}
		full := filepath.Join(real, filepath.FromSlash(p))
		fi, err := os.Lstat(full)
		if err != nil || !fi.Mode().IsRegular() {
			continue // removed, or a link
		}
		if at, err := filepath.EvalSymlinks(full); err != nil || at != full {
			continue // a folder on the way is a link
		}
		out = append(out, p)
	}
	return lists.Unique(out)
}

// formatters says which tool formats which files. One without args is a note.
func formatters(w *Look, files []string) []formatter {
	dir := w.subject.Dir
	var goFiles, shFiles []string
	python, web := map[string][]string{}, map[string][]string{}
	for _, f := range files {
		switch ext := path.Ext(f); {
		case ext == ".go":
			goFiles = append(goFiles, "./"+f)
		case ext == ".py" || ext == ".pyi":
			root := above(path.Dir(f), func(at string) bool { return ruffConfig(dir, at) != "" })
			if root != "" {
				python[root] = append(python[root], seenFrom(root, f))
			}
		case ext == ".sh" || ext == ".bash":
			shFiles = append(shFiles, "./"+f)
		}
		root := above(path.Dir(f), func(at string) bool { return prettierConfig(dir, at) })
		if root != "" && path.Ext(f) != ".go" && path.Ext(f) != ".py" {
			web[root] = append(web[root], seenFrom(root, f))
		}
	}
	var out []formatter
	if goFiles = goUnformatted(dir, goFiles, w.environ(nil)); len(goFiles) > 0 {
		out = append(out, formatter{tool: "gofmt", args: []string{"gofmt", "-w"}, files: goFiles})
	}
	for _, root := range slices.Sorted(maps.Keys(python)) {
		tool := w.pythonTool(root, "ruff")
		if readPyproject(dir, root).Tool.Black != nil {
			out = append(out, formatter{tool: path.Join(root, "pyproject.toml") +
				" configures black, which runplan does not run; it only sorts imports"})
		} else {
			out = append(out, formatter{tool: "ruff format", args: []string{tool, "format", "--no-cache"}, dir: root,
				files: python[root]})
		}
		out = append(out, formatter{
			tool: "ruff check --select I", dir: root, files: python[root],
			args: []string{tool, "check", "--fix", "--select", "I", "--no-cache", "--exit-zero"},
		})
	}
	for _, root := range slices.Sorted(maps.Keys(web)) {
		tool := w.Tool(root, "node_modules/.bin/prettier", "")
		if tool == "" {
			out = append(out, formatter{tool: "prettier is configured in " + root + " but not installed in node_modules"})
			continue
		}
		out = append(out, formatter{
			tool: "prettier", args: []string{tool, "--write", "--ignore-unknown", "--log-level", "warn"}, dir: root,
			files: web[root],
		})
	}
	if len(shFiles) > 0 && shfmtConfig.MatchString(readText(dir, ".", ".editorconfig")) {
		out = append(out, formatter{tool: "shfmt", args: []string{"shfmt", "-w"}, files: shFiles})
	}
	return out
}

// shfmtConfig matches shfmt settings in .editorconfig. Without them, runplan does not run shfmt.
var shfmtConfig = lazyre.New(`(?m)^\s*(?:\[\[(?:shell|bash)\]\]|\[[^\]]*\.(?:sh|bash|\{[^}]*sh[^}]*\})\]|shell_variant\s*=)`)

func prettierConfig(dir, root string) bool {
	return readPackage(dir, root).Prettier != nil || firstOf(dir, root,
		".prettierrc", ".prettierrc.json", ".prettierrc.yml", ".prettierrc.yaml", ".prettierrc.json5", ".prettierrc.toml",
		".prettierrc.js", ".prettierrc.cjs", ".prettierrc.mjs", "prettier.config.js", "prettier.config.cjs",
		"prettier.config.mjs", "prettier.config.ts") != ""
}

// seenFrom returns the path of file relative to root.
func seenFrom(root, file string) string { return "./" + strings.TrimPrefix(file, root+"/") }
