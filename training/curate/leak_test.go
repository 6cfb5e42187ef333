package curate_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/curate"
	"github.com/runplan/runplan/training/folder"
)

func lines(t *testing.T, all ...training.Example) *bytes.Reader {
	t.Helper()
	b, err := os.ReadFile(file(t, all...))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(b)
}

// CheckLeaks finds each kind of leak in a dataset, whatever program made it.
func TestCheckLeaks(t *testing.T) {
	all := apart(8)
	m := curate.Measure{Threshold: 0.85, Shingle: 5}
	if err := curate.CheckLeaks(lines(t, all[:6]...), lines(t, all[6:]...), m); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*training.Example)
		want   string
	}{
		"commit": {func(e *training.Example) { e.Origin.Commit = all[6].Origin.Commit }, "commit c6000"},
		"task":   {func(e *training.Example) { e.Origin.Task = "t" }, "task t"},
		"batch":  {func(e *training.Example) { e.Origin.Run, e.Origin.Batch = "r", "b" }, "batch r/b"},
		"file": {func(e *training.Example) { e.Origin.Files = []training.File{{Path: "x", Blob: "v1"}} },
			"file version v1"},
		"prompt": {func(e *training.Example) { e.Prompt, e.Completion = all[6].Prompt, strings.Repeat("other words ", 40) },
			"prompt "},
		"text":   {func(e *training.Example) { e.Prompt[1].Content = all[6].Prompt[1].Content + " more" }, "like"},
		"system": {func(e *training.Example) { e.Prompt[1], e.Prompt[0].Content = all[6].Prompt[1], "Another." }, "like"},
	} {
		t.Run(name, func(t *testing.T) {
			held := with(all[6], func(e *training.Example) {
				e.Origin.Task, e.Origin.Run, e.Origin.Batch = "t", "r", "b"
				e.Origin.Files = []training.File{{Path: "y", Blob: "v1"}}
			})
			leak := with(all[2], func(e *training.Example) { e.Origin.Commit = "z" })
			if err := curate.CheckLeaks(lines(t, all[0], leak), lines(t, all[7], held), m); err != nil {
				t.Fatalf("before: %v", err)
			}
			leak = with(leak, c.change)
			err := curate.CheckLeaks(lines(t, all[0], leak, all[1]), lines(t, all[7], held), m)
			if !errors.Is(err, curate.ErrLeak) || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), leak.ID) {
				t.Errorf("%v", err)
			}
		})
	}
}

// If an example contains a secret or an input is invalid, Build writes nothing and leaves nothing behind.
func TestFailedBuildWritesNothing(t *testing.T) {
	all := apart(12)
	good := file(t, all...)
	broken := filepath.Join(t.TempDir(), "broken.jsonl")
	if err := os.WriteFile(broken, []byte("\n{\"id\":\"x\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	changed := filepath.Join(t.TempDir(), "changed.jsonl")
	text, _ := os.ReadFile(good)
	if err := os.WriteFile(changed, bytes.Replace(text, []byte("w5 "), []byte("w6 "), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	secret := file(t, append(all,
		with(example(900_000, 30), func(e *training.Example) { e.Prompt[1].Content += " hunter2hunter2" }))...)
	for name, c := range map[string]struct {
		files []string
		want  string
	}{
		"no JSON":          {[]string{good, broken}, "broken.jsonl:2: not an example"},
		"changed by hand":  {[]string{changed}, "changed.jsonl:1: example"},
		"a secret":         {[]string{secret}, "holds THE_TOKEN in its prompt"},
		"no such file":     {[]string{good, "nowhere.jsonl"}, "nowhere.jsonl"},
		"no example in it": {[]string{file(t)}, "the files are empty"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			canary := training.NewCanary([]training.Secret{{Name: "THE_TOKEN", Value: "hunter2hunter2"}})
			_, err := curate.Build(t.Context(), c.files, filepath.Join(dir, "set"),
				curate.Options{Plan: scope(), Canary: canary})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
				t.Errorf("left behind: %v, %v", entries, err)
			}
		})
	}
}

// An existing folder stays, unless it is a dataset that may be replaced. No other files remain next to it.
func TestBuildReplacesOnlyDatasets(t *testing.T) {
	files := []string{file(t, apart(12)...)}
	dir := filepath.Join(t.TempDir(), "set")
	run := func(replace bool) error {
		_, err := curate.Build(t.Context(), files, dir, curate.Options{Plan: scope(), Replace: replace})
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := run(false); err != nil {
		t.Fatalf("an empty folder must count as missing: %v", err)
	}
	if err := run(false); !errors.Is(err, folder.ErrExists) {
		t.Errorf("%v", err)
	}
	if err := run(true); err != nil {
		t.Error(err)
	}
	if _, err := curate.Load(dir); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, curate.TrainFile), []byte("\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := curate.Load(dir); !errors.Is(err, curate.ErrChanged) {
		t.Errorf("%v", err)
	}
	if err := os.Remove(filepath.Join(dir, curate.ManifestFile)); err != nil {
		t.Fatal(err)
	}
	if err := run(true); !errors.Is(err, folder.ErrExists) {
		t.Errorf("a folder that holds no dataset was replaced: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, curate.TrainFile)); errors.Is(err, fs.ErrNotExist) {
		t.Error("the folder was also emptied")
	}
	if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}
