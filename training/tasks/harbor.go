package tasks

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/pelletier/go-toml/v2"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/lists"
)

// harbor writes a task as Harbor reads it: task.toml, instruction.md, environment, solution and tests.
func (x *export) harbor(ctx context.Context, w *work, id, dir string) error {
	there, gone := w.contents(w.test)
	var names []string
	for _, e := range there {
		_, blob := e.Blobs()
		names = append(names, blob)
	}
	objects, err := x.objects.Read(names)
	if err != nil {
		return err
	}
	config, err := x.config(w, id)
	if err != nil {
		return fmt.Errorf("write the settings of task %s: %w", id, err)
	}
	script, err := w.script(gone)
	if err != nil {
		return fmt.Errorf("write the tests of task %s: %w", id, err)
	}
	files := map[string][]byte{
		"task.toml":               config,
		"instruction.md":          []byte(instruction(w.task)),
		"solution/solve.sh":       []byte(solve),
		"solution/solution.patch": w.patch,
		"tests/test.sh":           script,
	}
	for name, text := range w.lists() {
		files["tests/"+name] = []byte(text)
	}
	for i, e := range there {
		if e.NewMode == "120000" || objects[i].Data == nil && objects[i].Size > 0 {
			return refuse(CannotRun, "%s is a link or too large", e.Path)
		}
		files["tests/files/"+e.Path] = objects[i].Data
	}
	if err := os.MkdirAll(filepath.Join(dir, "tests", "files"), 0o755); err != nil {
		return fmt.Errorf("write task %s: %w", id, err)
	}
	manifests, err := x.archive(ctx, w, filepath.Join(dir, "environment", "repo.tar"))
	if err != nil {
		return fmt.Errorf("write the repository of task %s: %w", id, err)
	}
	if files["environment/Dockerfile"], err = w.dockerfile(manifests); err != nil {
		return fmt.Errorf("write the container of task %s: %w", id, err)
	}
	for name, data := range files {
		if !fs.ValidPath(name) {
			return refuse(CannotRun, "%q is not a path", name)
		}
		at, mode := filepath.Join(dir, filepath.FromSlash(name)), fs.FileMode(0o644)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o755
		}
		err := os.MkdirAll(filepath.Dir(at), 0o755)
		if err == nil {
			err = os.WriteFile(at, data, mode)
		}
		if err != nil {
			return fmt.Errorf("write task %s: %w", id, err)
		}
	}
	return nil
}

// solve is solution/solve.sh.
const solve = `#!/usr/bin/env bash
# Makes the change of the commit in the repository in the current folder.
set -euo pipefail
git apply --whitespace=nowarn "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/solution.patch"
`

// instruction returns the text that the agent reads.
func instruction(task string) string {
	return task + "\n\nThe repository is in the current folder. Tests that you do not see judge the result.\n"
}

// config is task.toml.
func (x *export) config(w *work, id string) ([]byte, error) {
	var c struct {
		Schema string `toml:"schema_version"`
		Task   struct {
			Name        string   `toml:"name"`
			Description string   `toml:"description"`
			Keywords    []string `toml:"keywords"`
		} `toml:"task"`
		Metadata struct {
			Category   string   `toml:"category"`
			Repo       string   `toml:"repo"`
			License    string   `toml:"license"`
			Base       string   `toml:"base_commit"`
			Commit     string   `toml:"commit"`
			Tools      []string `toml:"verified_with"`
			FailToPass int      `toml:"fail_to_pass"`
			PassToPass int      `toml:"pass_to_pass"`
		} `toml:"metadata"`
		Agent struct {
			Timeout float64 `toml:"timeout_sec"`
		} `toml:"agent"`
		Verifier struct {
			Timeout float64 `toml:"timeout_sec"`
		} `toml:"verifier"`
		Environment struct {
			Timeout float64 `toml:"build_timeout_sec"`
			CPUs    int     `toml:"cpus"`
			Memory  int     `toml:"memory_mb"`
			Storage int     `toml:"storage_mb"`
		} `toml:"environment"`
	}
	text := func(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
	c.Schema = "1.1"
	c.Task.Name, c.Task.Description = "runplan/"+id, text(subjectOf(w.task))
	c.Task.Keywords = []string{string(w.lang)}
	m := &c.Metadata
	m.Category, m.Repo, m.License, m.Base, m.Commit = "programming", text(x.m.Repo), text(x.License), w.Parents[0], w.Hash
	m.Tools, m.FailToPass, m.PassToPass = w.receipt.Tools, len(w.receipt.Fixed), len(w.receipt.Kept)
	c.Agent.Timeout, c.Verifier.Timeout, c.Environment.Timeout = 1800, 600, 600
	c.Environment.CPUs, c.Environment.Memory, c.Environment.Storage = 1, 2048, 10240
	return toml.Marshal(c)
}

// dockerfile describes the container: the tools with the versions that ran the tests, and the repository as it was.
func (w *work) dockerfile(manifests []string) ([]byte, error) {
	var versions, folders []string
	for _, tool := range w.receipt.Tools {
		versions = append(versions, strings.TrimLeftFunc(tool, unicode.IsLetter))
	}
	folders = append(folders, lists.Map(manifests, path.Dir)...)
	data := map[string]any{"Go": w.lang == gates.LangGo, "Versions": versions}
	if w.lang == gates.LangGo {
		data["Modules"] = folders
	} else {
		data["Package"] = slices.Contains(folders, ".")
	}
	return rendered("Dockerfile", data)
}

// archive writes the tree before the commit as a tar file, the same bytes each time. It returns the paths of the files
// that list dependencies.
func (x *export) archive(ctx context.Context, w *work, to string) (manifests []string, err error) {
	list, err := x.Repo.Run(ctx, "ls-tree", "-r", "-z", w.before)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return nil, err
	}
	f, err := os.Create(to)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	buffered := bufio.NewWriterSize(f, 1<<20)
	t := tar.NewWriter(buffered)
	type file struct {
		tar.Header
		blob string
	}
	var files []file
	for line := range strings.SplitSeq(strings.TrimRight(list, "\x00"), "\x00") {
		head, name, ok := strings.Cut(line, "\t")
		field := strings.Fields(head)
		if !ok || len(field) != 3 || field[1] != "blob" {
			continue // a submodule has no content here
		}
		if base := path.Base(name); base == "go.mod" && w.lang == gates.LangGo ||
			(base == "pyproject.toml" || base == "setup.py") && w.lang == gates.LangPython {
			manifests = append(manifests, name)
		}
		h := tar.Header{Name: name, Mode: 0o644, ModTime: w.Time, Format: tar.FormatPAX, Typeflag: tar.TypeReg}
		switch field[0] {
		case "100755":
			h.Mode = 0o755
		case "120000":
			h.Mode, h.Typeflag = 0o777, tar.TypeSymlink
		}
		files = append(files, file{h, field[2]})
	}
	for part := range slices.Chunk(files, 100) {
		objects, err := x.objects.Read(lists.Map(part, func(f file) string { return f.blob }))
		if err != nil {
			return nil, err
		}
		for i, o := range objects {
			if err := entry(t, part[i].Header, o); err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(manifests)
	return manifests, errors.Join(t.Close(), buffered.Flush())
}

// entry writes one file of a tree.
func entry(t *tar.Writer, h tar.Header, o git.Object) error {
	if o.Hash == "" || o.Data == nil && o.Size > 0 {
		return refuse(CannotRun, "%s is not in git, or too large", h.Name)
	}
	if h.Typeflag == tar.TypeSymlink {
		h.Linkname = string(o.Data)
		return t.WriteHeader(&h)
	}
	h.Size = int64(len(o.Data))
	if err := t.WriteHeader(&h); err != nil {
		return err
	}
	_, err := t.Write(o.Data)
	return err
}
