package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// item is a file of an archive or package.
type item struct {
	from string // path on this machine
	to   string // path in the archive, with slashes
	mode os.FileMode
}

// shells are the shells with completions, with the name of the file in the archive.
var shells = map[string]string{"bash": "runplan.bash", "zsh": "_runplan", "fish": "runplan.fish",
	"powershell": "runplan.ps1"}

// manuals writes the manual pages and the completions, with programs for this machine.
func (r *release) manuals(ctx context.Context) error {
	here := target{runtime.GOOS, runtime.GOARCH}
	program, writer := filepath.Join(r.work, "here", here.program()),
		filepath.Join(r.work, "reference", here.program())
	if err := errors.Join(r.build(ctx, here, program, "grpcnotrace", "./cmd/runplan"),
		r.build(ctx, here, writer, "grpcnotrace", "./tools/reference")); err != nil {
		return err
	}
	dir := filepath.Join(r.work, "completions")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for shell, name := range shells {
		text, err := output(ctx, program, "completion", shell)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return command(ctx, []string{"SOURCE_DATE_EPOCH=" + epoch(r.date)}, writer, "-manuals", filepath.Join(r.work, "man"))
}

// items returns the files of an archive in addition to the binary.
func (r *release) items() ([]item, error) {
	var all []item
	for _, name := range []string{"LICENSE", "NOTICE", "README.md", "CHANGELOG.md"} {
		all = append(all, item{name, name, 0o644})
	}
	for _, pattern := range []string{"completions/*", "man/*.1"} {
		files, err := filepath.Glob(filepath.Join(r.work, pattern))
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, errors.New("no files match " + pattern)
		}
		for _, f := range files {
			all = append(all, item{f, filepath.Base(filepath.Dir(f)) + "/" + filepath.Base(f), 0o644})
		}
	}
	return all, nil
}

// name returns the name of an archive without its extension.
func (r *release) name(t target) string { return "runplan_" + r.version + "_" + t.os + "_" + t.arch }

// archives packs each binary with licences, manuals and completions, and the one for training with licences.
func (r *release) archives(context.Context) error {
	rest, err := r.items()
	if err != nil {
		return err
	}
	for _, t := range r.targets {
		items := append([]item{{r.binary(t), t.program(), 0o755}}, rest...)
		write, extension := tarGz, ".tar.gz"
		if t.os == "windows" {
			write, extension = zipFile, ".zip"
		}
		training := []item{{r.trainer(t), filepath.Base(r.trainer(t)), 0o755}, {"LICENSE", "LICENSE", 0o644},
			{"NOTICE", "NOTICE", 0o644}}
		for name, items := range map[string][]item{r.name(t): items,
			strings.Replace(r.name(t), "runplan", "runplan-training", 1): training} {
			if err := write(filepath.Join(r.out, name+extension), name+"/", r.date, items); err != nil {
				return err
			}
		}
	}
	return nil
}

// tarGz writes items below the folder dir of a new archive. Owners are 0 and dates are at, so that bytes repeat.
func tarGz(path, dir string, at time.Time, items []item) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	for _, i := range items {
		text, err := os.ReadFile(i.from)
		if err != nil {
			return err
		}
		h := &tar.Header{Name: dir + i.to, Mode: int64(i.mode), Size: int64(len(text)), ModTime: at, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), z.Close())
}

// zipFile writes items below the folder dir of a new archive, as [tarGz] does.
func zipFile(path, dir string, at time.Time, items []item) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := zip.NewWriter(f)
	for _, i := range items {
		h := &zip.FileHeader{Name: dir + i.to, Method: zip.Deflate, Modified: at}
		h.SetMode(i.mode)
		to, err := w.CreateHeader(h)
		if err != nil {
			return err
		}
		from, err := os.Open(i.from)
		if err != nil {
			return err
		}
		_, err = io.Copy(to, from)
		if err := errors.Join(err, from.Close()); err != nil {
			return err
		}
	}
	return w.Close()
}
