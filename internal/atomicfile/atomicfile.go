// Package atomicfile replaces files atomically: a reader sees either the old content or the new one, never a mixture.
//
// A write goes to a temporary file next to the target, which is then renamed. A process that is killed in between
// leaves the temporary file, whose name is not reused. [Sweep] and its variants remove such files. They may run while
// other processes write: a writer that loses its temporary file writes it again.
package atomicfile

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Write replaces the file at path with data and syncs it to disk before it returns, so a power failure leaves no
// partial file. It applies the process's umask to perm, as for a new file.
func Write(path string, data []byte, perm fs.FileMode) error {
	return replace(path, nameFor(path), perm, true, func(f *os.File) error { return fill(f, data) })
}

// WriteJSON is [Write] with v as indented JSON.
func WriteJSON(path string, v any, perm fs.FileMode) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return Write(path, append(text, '\n'), perm)
}

// ReadJSON reads a file that [WriteJSON] wrote.
func ReadJSON(path string, v any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// Sum returns the SHA-256 of a file in hex.
func Sum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// WriteLoose is [Write] without fsync, for files that can be rebuilt.
func WriteLoose(path string, data []byte, perm fs.FileMode) error {
	return replace(path, nameFor(path), perm, false, func(f *os.File) error { return fill(f, data) })
}

// Prune removes the oldest files of a folder once it has more than most, down to three quarters of that.
func Prune(dir string, most int) {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) <= most {
		return
	}
	age := func(e os.DirEntry) time.Time {
		info, err := e.Info()
		if err != nil {
			return time.Time{}
		}
		return info.ModTime()
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return age(a).Compare(age(b)) })
	for _, e := range entries[:len(entries)-most*3/4] {
		os.Remove(filepath.Join(dir, e.Name()))
	}
}

// Copy is [Write] for content too large for memory. Temporary files begin with prefix, for folders whose owner, such as
// git, removes leftovers by name.
func Copy(path, prefix string, from io.ReadSeeker, perm fs.FileMode) error {
	name := func() string { return filepath.Join(filepath.Dir(path), prefix+chance()) }
	return replace(path, name, perm, true, func(f *os.File) error {
		if _, err := from.Seek(0, io.SeekStart); err != nil {
			return err
		}
		_, err := io.Copy(f, from)
		return err
	})
}

func fill(f *os.File, data []byte) error {
	_, err := io.Copy(f, bytes.NewReader(data))
	return err
}

const suffix = ".tmp"

const digits = 16

func nameFor(path string) func() string {
	return func() string { return path + "." + chance() + suffix }
}

// chance makes names that no two processes share, also on different machines, because process ids repeat.
func chance() string {
	var b [digits / 2]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// tries limits how often a writer begins again. On a busy machine, a file may be swept several times while it is
// written.
const tries = 50

func replace(path string, name func() string, perm fs.FileMode, durable bool, fill func(*os.File) error) error {
	var err error
	for range tries {
		temp := name()
		if err = attempt(temp, path, perm, durable, fill); err == nil {
			return nil
		}
		os.Remove(temp)
		if swept := errors.Is(err, fs.ErrNotExist) && exists(filepath.Dir(path)); !swept {
			break
		}
	}
	return fmt.Errorf("write %s: %w", path, err)
}

func attempt(temp, path string, perm fs.FileMode, durable bool, fill func(*os.File) error) error {
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	err = fill(f)
	if err == nil && durable {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err == nil && durable {
		syncFolder(filepath.Dir(path))
	}
	return err
}

// syncFolder syncs the directory entry to disk. Some systems cannot do that; the file exists anyway.
func syncFolder(dir string) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	d.Sync()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Sweep removes temporary files that killed writers of path left.
func Sweep(path string) error {
	left, err := Left(path)
	for _, name := range left {
		err = errors.Join(err, remove(name))
	}
	return err
}

// Left lists the files that [Sweep] would remove.
func Left(path string) ([]string, error) {
	entries, err := readDir(filepath.Dir(path))
	var out []string
	for _, e := range entries {
		if of, ok := temporary(e); ok && of == filepath.Base(path) {
			out = append(out, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	return out, err
}

// SweepFolder removes the temporary files of all files in dir, but not in its subfolders. A missing folder is not an
// error.
func SweepFolder(dir string) error {
	entries, err := readDir(dir)
	for _, e := range entries {
		if _, ok := temporary(e); ok {
			err = errors.Join(err, remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// SweepTree removes the temporary files of all files in dir and its subfolders.
func SweepTree(dir string) error {
	var errs []error
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // it was removed, or never existed
		case err != nil:
			errs = append(errs, err)
			return nil
		}
		if _, ok := temporary(e); ok {
			errs = append(errs, remove(path))
		}
		return nil
	})
	return errors.Join(append(errs, err)...)
}

// temporary reports whether a name is a temporary name of this package, and for which file.
func temporary(e fs.DirEntry) (of string, ok bool) {
	name, ok := strings.CutSuffix(e.Name(), suffix)
	if !ok || !e.Type().IsRegular() {
		return "", false
	}
	dot := strings.LastIndexByte(name, '.')
	if dot <= 0 || len(name)-dot-1 != digits || strings.Trim(name[dot+1:], "0123456789abcdef") != "" {
		return "", false
	}
	return name[:dot], true
}

func readDir(dir string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
