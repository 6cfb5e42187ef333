// Command gate-plugin-go is a gate plugin: it finds TODO comments without an owner in changed files.
//
//	TODO(ada): this one is fine
//	TODO: this one is found
//
// Settings: words, the words to look for (default TODO and FIXME); severity, error or warning (default error).
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/runplan/runplan/sdk/gate"
)

func main() {
	gate.Serve(&todo{})
}

// todo is the gate.
type todo struct {
	word     *regexp.Regexp
	severity gate.Severity
}

// Info implements gate.Gate.
func (*todo) Info() gate.Info {
	return gate.Info{Name: "todo-owner", Kind: gate.Static, Cost: gate.Instant, Blocking: true}
}

// Configure implements gate.Configurer. It is called before anything else, with "{}" if there are no settings.
func (g *todo) Configure(settings json.RawMessage) error {
	c := struct {
		Words    []string      `json:"words"`
		Severity gate.Severity `json:"severity"`
	}{Words: []string{"TODO", "FIXME"}, Severity: gate.Error}
	strict := json.NewDecoder(bytes.NewReader(settings))
	strict.DisallowUnknownFields() // a typo is an error, not a gate that looks for nothing
	if err := strict.Decode(&c); err != nil {
		return err
	}
	if len(c.Words) == 0 || slices.Contains(c.Words, "") {
		return errors.New("words is empty: there is nothing to look for")
	}
	if c.Severity != gate.Error && c.Severity != gate.Warning {
		return fmt.Errorf("severity is %q; it may be error or warning", c.Severity)
	}
	for i, w := range c.Words {
		c.Words[i] = regexp.QuoteMeta(w)
	}
	// A comment sign and the word, without (name) after it.
	g.word = regexp.MustCompile(`(?:^|\s)(?://|#|--|/?\*|<!--)\s*(` + strings.Join(c.Words, "|") + `)\b($|[^(\w]|\(\s*\))`)
	g.severity = c.Severity
	return nil
}

// Check implements gate.Gate.
func (g *todo) Check(ctx context.Context, s gate.Subject) (gate.Report, error) {
	root, err := os.OpenRoot(s.Dir) // ignore links out of the tree
	if err != nil {
		return gate.Report{}, err
	}
	defer root.Close()
	paths, err := files(root, s)
	if err != nil {
		return gate.Report{}, err
	}
	rep := gate.Report{Status: gate.Pass}
	for _, path := range paths {
		if ctx.Err() != nil {
			return rep, ctx.Err() // an incomplete check is an error
		}
		text, err := read(root, path)
		if err != nil {
			return rep, err
		}
		for i, line := range strings.Split(text, "\n") {
			if m := g.word.FindStringSubmatchIndex(line); m != nil {
				rep.Findings = append(rep.Findings, gate.Finding{
					Rule: "todo-owner", Path: path, Line: i + 1, Col: m[2] + 1, Severity: g.severity,
					Message: "this " + line[m[2]:m[3]] + " has no owner",
					Fix:     "write " + line[m[2]:m[3]] + "(name), or do it now",
				})
			}
		}
	}
	if len(rep.Findings) > 0 {
		rep.Status = gate.Warn
		if g.severity == gate.Error {
			rep.Status = gate.Fail
		}
	}
	return rep, nil
}

// files lists the files to check: the changed ones, or the whole tree if the changes are unknown.
func files(root *os.Root, s gate.Subject) ([]string, error) {
	if s.Changed != nil {
		return s.Changed, nil
	}
	var all []string
	err := fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.Type().IsRegular():
			all = append(all, path)
		}
		return nil
	})
	return all, err
}

// read returns the text of a file, "" if it is deleted, not regular or not text.
func read(root *os.Root, path string) (string, error) {
	fi, err := root.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if !fi.Mode().IsRegular() {
		return "", nil
	}
	data, err := root.ReadFile(path)
	if err != nil || bytes.IndexByte(data, 0) >= 0 {
		return "", err
	}
	return string(data), nil
}
