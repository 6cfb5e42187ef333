package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/runner/journal"
)

// unlink removes symbolic links that appeared in runplan's own folder while an agent worked: because its logs and
// reports would be written to their targets. It returns the removed links.
func (w *work) unlink() (found []change) {
	for range 100 {
		var link *journal.LinkError
		if err := w.Layout.CheckLinks(); !errors.As(err, &link) {
			return found
		}
		found = append(found, change{name: link.Path, steers: "where runplan writes its files",
			stuck: os.Remove(link.Path) != nil})
		if found[len(found)-1].stuck {
			return found
		}
	}
	return found
}

// writeFile replaces path in one step, and makes its folder. It does not sync to disk, because the journal is
// authoritative.
func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.WriteLoose(path, data, 0o644)
}

func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return writeFile(path, append(data, '\n'))
}

// copyFile copies a file from one folder to the same place in another, with its rights and its time.
func copyFile(from, to *os.Root, path string) error {
	in, err := from.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if err := to.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := to.RemoveAll(path); err != nil {
		return err
	}
	out, err := to.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	err = errors.Join(err, out.Close())
	if err == nil {
		err = to.Chtimes(path, info.ModTime(), info.ModTime())
	}
	return err
}

// lastLines returns the last n lines of text that are not blank, joined to one line.
func lastLines(text string, n int) string {
	lines := filled(text)
	return strings.Join(lines[max(0, len(lines)-n):], " / ")
}

// filled returns the lines of text that are not blank.
func filled(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}
