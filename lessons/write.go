package lessons

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"github.com/runplan/runplan/internal/lazyre"
)

// Draft returns a lesson template. It is valid, and matches nothing yet.
func Draft(id, title string) *Lesson {
	return &Lesson{
		ID: id, Title: title, Severity: ShouldFix, Languages: []string{All}, Category: Categories()[0],
		Pattern: Pattern{Type: Semantic, Description: "The sign of the mistake in the code, in one sentence."},
		Fix:     "What to do instead, in one sentence.",
		Body: "## Observation\n\nThe observation, in words for any code base.\n\n" +
			"## Why it happens\n\nThe cause of the mistake.\n\n" +
			"## What to do instead\n\nHow to avoid it, and how to notice it.\n",
	}
}

// NextID returns the id after the highest one in use.
func NextID(lib *Library) (string, error) {
	last := 0
	for _, l := range lib.Lessons {
		n, err := strconv.Atoi(l.ID)
		if err != nil {
			return "", fmt.Errorf("lesson %s: %w", l.ID, err)
		}
		last = max(last, n)
	}
	if last == 9999 {
		return "", errors.New("lesson 9999 is in use, so no next id is free; give the file a free one by hand")
	}
	return fmt.Sprintf("%04d", last+1), nil
}

// FileName returns the name of a lesson's file: its id and its shortened title.
func FileName(l *Lesson) string {
	const most = 60
	name := strings.Trim(notInName.ReplaceAllString(strings.ToLower(l.Title), "-"), "-")
	if len(name) > most {
		name = name[:most]
		if i := strings.LastIndexByte(name, '-'); i > most/2 {
			name = name[:i]
		}
	}
	return l.ID + "-" + cmp.Or(strings.Trim(name, "-"), "lesson") + ".md"
}

var notInName = lazyre.New(`[^a-z0-9]+`)

// Write writes a lesson into a folder, which it creates if needed, and returns the path. It never replaces a file.
func Write(dir string, l *Lesson) (string, error) {
	path := filepath.Join(dir, FileName(l))
	text, err := Format(l)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("write lesson %s: %w", l.ID, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("write lesson %s: %s already exists", l.ID, path)
	}
	if err != nil {
		return "", fmt.Errorf("write lesson %s: %w", l.ID, err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(path)
		return "", fmt.Errorf("write lesson %s: %w", l.ID, err)
	}
	return path, nil
}

// Format writes a lesson as a file that [Parse] reads back as the same lesson, or returns why it cannot.
func Format(l *Lesson) ([]byte, error) {
	var err error
	for _, text := range []func(indent, s string) string{block, quoted} {
		out := format(l, text)
		var back *Lesson
		if back, err = Parse(FileName(l), out); err == nil && back.Pattern == l.Pattern &&
			back.Example == l.Example && back.Fix == l.Fix && back.Title == l.Title {
			return out, nil
		}
	}
	if err == nil {
		err = fmt.Errorf("lesson %s has text that front matter cannot contain", l.ID)
	}
	return nil, err
}

func format(l *Lesson, text func(indent, s string) string) []byte {
	var b bytes.Buffer
	field := func(indent, key, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s%s: %s\n", indent, key, text(indent+"  ", value))
		}
	}
	items := func(key string, values []string) {
		if len(values) > 0 {
			fmt.Fprintf(&b, "%s:\n", key)
		}
		for _, v := range values {
			fmt.Fprintf(&b, "  - %s\n", quoted("", v))
		}
	}
	fmt.Fprintf(&b, "---\nid: %q\n", l.ID)
	field("", "title", l.Title)
	fmt.Fprintf(&b, "severity: %s\nlanguages: [%s]\ncategory: %s\n", l.Severity, strings.Join(l.Languages, ", "),
		l.Category)
	items("scope", l.Scope)
	items("exclude", l.Exclude)
	fmt.Fprintf(&b, "pattern:\n  type: %s\n", l.Pattern.Type)
	field("  ", "regex", l.Pattern.Regex)
	field("  ", "unless", l.Pattern.Unless)
	if l.Pattern.Code {
		b.WriteString("  code: true\n")
	}
	field("  ", "description", l.Pattern.Description)
	field("", "fix", l.Fix)
	if l.Example != (Example{}) {
		b.WriteString("example:\n")
		field("  ", "bad", l.Example.Bad)
		field("  ", "good", l.Example.Good)
	}
	fmt.Fprintf(&b, "---\n\n%s\n", strings.TrimSpace(l.Body))
	return b.Bytes()
}

// block writes text as a literal block without escapes, if such a block can represent it.
func block(indent, s string) string {
	body, chomp := s, "|-"
	if strings.HasSuffix(s, "\n") {
		body, chomp = strings.TrimSuffix(s, "\n"), "|"
	}
	odd := func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }
	if body == "" || strings.TrimSpace(body) != body || strings.ContainsFunc(body, odd) {
		return quoted("", s)
	}
	var b strings.Builder
	b.WriteString(chomp)
	for line := range strings.SplitSeq(body, "\n") {
		b.WriteString("\n")
		if line != "" {
			b.WriteString(indent + line)
		}
	}
	return b.String()
}

// quoted writes text in double quotes. What Go escapes, YAML escapes in the same way.
func quoted(_, s string) string { return strconv.Quote(s) }
