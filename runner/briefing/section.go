package briefing

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	fences "github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/phrase"
)

// The marks around the section in an agent's own context file, such as CLAUDE.md or AGENTS.md. The second one says
// that the file had no line feed at its end, which must be restored.
const (
	markBegin  = "<!-- runplan:context begin -->"
	markJoined = "<!-- runplan:context begin, joined -->"
	markEnd    = "<!-- runplan:context end -->"
)

// Section returns a context file with the block as its section. It replaces the section of an earlier batch, so there
// is never more than one (CTX-10). The rest of the file does not change.
func Section(file []byte, block string) []byte {
	out := WithoutSection(file)
	begin := markBegin
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out, begin = append(out, '\n'), markJoined
	}
	// What is quoted in the block may hold our marks.
	block = strings.ReplaceAll(block, "<!-- runplan:context", "<!-- runplan context")
	out = append(out, begin+"\n"+strings.TrimRight(block, "\n")+"\n"+markEnd+"\n"...)
	return out
}

// WithoutSection removes the section. It returns a copy, which is unchanged if there is no section.
func WithoutSection(file []byte) []byte {
	out := bytes.Clone(file)
	for {
		from, to, ok := section(out)
		if !ok {
			return out
		}
		out = append(out[:from:from], out[to:]...)
	}
}

// section finds a section: the first end mark after a start mark, and the last such start mark.
func section(file []byte) (from, to int, ok bool) {
	begin, joined := -1, false
	for at := 0; at < len(file); {
		line := file[at:]
		next := len(file)
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			line, next = line[:i], at+i+1
		}
		switch string(bytes.TrimSuffix(line, []byte("\r"))) {
		case markBegin:
			begin, joined = at, false
		case markJoined:
			begin, joined = at, true
		case markEnd:
			if begin < 0 {
				break
			}
			// user text below the section needs the line feed
			if joined && begin > 0 && next == len(file) {
				begin--
			}
			return begin, next, true
		}
		at = next
	}
	return 0, 0, false
}

// oneLine puts text outside of a fence on one line.
func oneLine(text string) string { return fences.Line(text) }

// hide removes probable secrets. A brief is stored and shown, and may be sent to a provider; an agent that needs the
// content of a file can read the file.
func hide(text string) string { return fences.Hide(text) }

// clean removes characters from foreign text that readers do not see but models do.
func clean(text string) string { return fences.Clean(text) }

// fence puts foreign text into a fence that it cannot close, so that nothing in it passes for a directive.
func fence(b *strings.Builder, text string) { b.WriteString(fences.Foreign("", text)) }

// fencePlan fences the user's text for the agent without changing it.
func fencePlan(b *strings.Builder, text string) { b.WriteString(fences.Around("", clean(text))) }

// name is a path, a number or a glob in the middle of a sentence.
func name(text string) string {
	return "`" + phrase.Cut(strings.ReplaceAll(oneLine(text), "`", "'"), 160) + "`"
}

// names lists at most n of them.
func names(list []string, n int) string {
	list = slices.Clone(list)
	for i := range list {
		list[i] = name(list[i])
	}
	return phrase.Few(list, n)
}

func short(hash string) string { return hash[:min(len(hash), 10)] }

// PutSection writes the block into the context file of a workspace, for agents that read such a file on their own.
// The returned function removes the section. Call it at the end of each attempt, before any check of the
// workspace. The agent's changes outside the section stay. A file that did not exist before is removed, unless the
// agent wrote into it. file is relative to dir and may not lead out of it.
func PutSection(dir, file, block string) (undo func() error, err error) {
	fail := func(err error) error { return fmt.Errorf("write the context into %s of the workspace: %w", file, err) }
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fail(err)
	}
	before, err := root.ReadFile(file)
	made := errors.Is(err, fs.ErrNotExist)
	if err != nil && !made {
		root.Close()
		return nil, fail(err)
	}
	if err := root.WriteFile(file, Section(before, block), 0o644); err != nil {
		root.Close()
		return nil, fail(err)
	}
	return func() error {
		defer root.Close()
		now, err := root.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the agent removed it
		}
		var after []byte
		if err == nil {
			if after = WithoutSection(now); len(after) == 0 && made {
				err = root.Remove(file)
			} else {
				err = root.WriteFile(file, after, 0o644)
			}
		}
		if err != nil {
			return fmt.Errorf("remove the context from %s of the workspace: %w", file, err)
		}
		return nil
	}, nil
}
