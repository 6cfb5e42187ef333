package room

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// goCache watches the build cache of go in rooms. Go uses a compiled package there without checking it, so a changed
// one would change what the gates run.
//
// The cache holds two kinds of files: ID-d is the output whose SHA-256 is ID, and ID-a names the output of an action.
// An output whose content does not match its name is removed, and so is an action entry that names another output
// than before. Go then builds both again.
type goCache struct {
	dir string

	mu      sync.Mutex
	good    map[string]stamp  // outputs that match their name
	answers map[string]answer // by file
}

type answer struct {
	stamp  stamp
	output string
}

const (
	outputSuffix = "-d"
	answerSuffix = "-a"
)

// An output that differs from its name may still be written by another gate. check waits while it changes, at most
// mostWriting.
const (
	lastWrite   = 2 * time.Second
	mostWriting = 5 * time.Second
)

// check removes changed files and returns their number.
func (c *goCache) check(ctx context.Context) (removed int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	folders, err := os.ReadDir(c.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("check the build cache of the gates: %w", err)
	}
	if c.good == nil {
		c.good, c.answers = map[string]stamp{}, map[string]answer{}
	}
	for _, folder := range folders {
		if len(folder.Name()) != 2 || !folder.IsDir() {
			continue
		}
		if ctx.Err() != nil {
			return removed, context.Cause(ctx)
		}
		files, err := os.ReadDir(filepath.Join(c.dir, folder.Name()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return removed, fmt.Errorf("check the build cache of the gates: %w", err)
		}
		for _, f := range files {
			path := filepath.Join(c.dir, folder.Name(), f.Name())
			fine, err := c.file(path, f)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return removed, fmt.Errorf("check the build cache of the gates: %w", err)
			}
			if fine || err != nil {
				continue
			}
			if err := os.RemoveAll(path); err != nil {
				return removed, fmt.Errorf("remove a changed file from the build cache of the gates: %w", err)
			}
			delete(c.good, path)
			delete(c.answers, path)
			removed++
		}
	}
	return removed, nil
}

// file reports whether one file may stay.
func (c *goCache) file(path string, d fs.DirEntry) (bool, error) {
	info, err := d.Info()
	if err != nil {
		return false, err
	}
	isOutput := strings.HasSuffix(path, outputSuffix)
	switch {
	case info.IsDir():
		return true, nil // programs that go tool stores; gates use none
	case !info.Mode().IsRegular():
		return false, nil
	case !isOutput && !strings.HasSuffix(path, answerSuffix):
		return true, nil
	}
	now := stampOf(info)
	if isOutput {
		if c.good[path] == now {
			return true, nil
		}
		fine, err := c.output(path)
		if fine {
			c.good[path] = now
		}
		return fine, err
	}
	was, known := c.answers[path]
	if known && was.stamp == now {
		return true, nil
	}
	output, err := answerOf(path)
	if err != nil {
		return false, err
	}
	if known && output != was.output {
		return false, nil
	}
	c.answers[path] = answer{now, output}
	return true, nil
}

// output reports whether the content of a file matches its name.
func (c *goCache) output(path string) (bool, error) {
	want := strings.TrimSuffix(filepath.Base(path), outputSuffix)
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		f, err := os.Open(path)
		if err != nil {
			return false, err
		}
		sum := sha256.New()
		_, err = io.Copy(sum, f)
		_ = f.Close() // it was only read
		if err != nil {
			return false, err
		}
		if hex.EncodeToString(sum.Sum(nil)) == want {
			return true, nil
		}
		info, err := os.Stat(path)
		if err != nil {
			return false, err
		}
		if time.Since(info.ModTime()) > lastWrite || time.Since(began) > mostWriting {
			return false, nil
		}
	}
}

// answerOf returns the output that an answer names: "v1 ACTION OUTPUT SIZE TIME".
func answerOf(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 3 {
		return "", nil // it is being written, or is none
	}
	return fields[2], nil
}
