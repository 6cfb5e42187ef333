package edit

import (
	"fmt"
	"strings"
)

// Parse reads the edit blocks in text:
//
//	path/of/the/file.go
//	<<<<<<< SEARCH
//	old lines
//	=======
//	new lines
//	>>>>>>> REPLACE
//
// The name of the file is on the line before; a code fence may be between. A block without a name is for the file of
// the block before it, and the first one for path. REPLACE ALL replaces each occurrence. The three markers of a block
// have the same width, so a wider block can contain the lines of a narrower one. This deletes a file:
//
//	path/of/the/file.go
//	<<<<<<< DELETE
//	>>>>>>> DELETE
//
// It needs its path on the line before. All other text is ignored, because a model may explain what it does.
func Parse(text, path string) ([]Edit, error) {
	var edits []Edit
	lines := splitLines(text)
	for i := 0; i < len(lines); i++ {
		width, ok := marker(lines[i], '<', "SEARCH")
		if width, del := marker(lines[i], '<', "DELETE"); del {
			e, err := deletion(lines, i, width)
			if err != nil {
				return nil, err
			}
			edits = append(edits, e)
			i++
			continue
		}
		if !ok {
			continue
		}
		if name := nameBefore(lines[:i]); name != "" {
			path = name
		}
		if path == "" {
			return nil, fmt.Errorf("line %d: an edit block without a file; put its path on the line before", i+1)
		}
		e := Edit{Path: path, Lines: true, Line: i + 1}
		end, err := e.read(lines, i, width)
		if err != nil {
			return nil, err
		}
		edits = append(edits, e)
		i = end
	}
	if len(edits) == 0 {
		return nil, fmt.Errorf("%w: it begins with a line <<<<<<< SEARCH", ErrNone)
	}
	return edits, nil
}

// deletion reads the block that begins at lines[start]. It must name its own file.
func deletion(lines []string, start, width int) (Edit, error) {
	e := Edit{Path: nameBefore(lines[:start]), Delete: true, Line: start + 1}
	if e.Path == "" {
		return e, fmt.Errorf("line %d: a delete block without a file; put its path on the line before", start+1)
	}
	if start+1 < len(lines) {
		if w, ok := marker(lines[start+1], '>', "DELETE"); ok && w == width {
			return e, nil
		}
	}
	return e, fmt.Errorf("line %d: the delete block of %s must end on the next line: %s DELETE", start+1, e.Path,
		strings.Repeat(">", width))
}

// read fills e from the block that begins at lines[start] and returns the index of its last line.
func (e *Edit) read(lines []string, start, width int) (int, error) {
	var search, replace strings.Builder
	into, divider := &search, strings.Repeat("=", width)
	for i := start + 1; i < len(lines); i++ {
		text := strings.TrimRight(lines[i], " \t\r\n")
		if into == &search && text == divider {
			into = &replace
			continue
		}
		for _, word := range []string{"REPLACE", "REPLACE ALL"} {
			w, ok := marker(lines[i], '>', word)
			if !ok || w != width {
				continue
			}
			if into == &search {
				return 0, fmt.Errorf("line %d: the edit block of line %d has no line %s", i+1, start+1, divider)
			}
			e.Search, e.Replace, e.All = search.String(), replace.String(), word == "REPLACE ALL"
			return i, nil
		}
		if w, ok := marker(lines[i], '<', "SEARCH"); ok && w == width {
			return 0, fmt.Errorf("line %d: an edit block begins inside the block of line %d, which has no end", i+1, start+1)
		}
		into.WriteString(lines[i])
	}
	return 0, fmt.Errorf("line %d: the edit block has no end: a line %s REPLACE", start+1, strings.Repeat(">", width))
}

// splitLines keeps the line ends.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.SplitAfter(text, "\n")
}

// marker reports whether line has the character c five or more times and then the word, and returns the count.
func marker(line string, c byte, word string) (int, bool) {
	line = strings.TrimRight(line, " \t\r\n")
	n := 0
	for n < len(line) && line[n] == c {
		n++
	}
	return n, n >= 5 && line[n:] == " "+word
}

// nameBefore returns the file name on the last of lines, if there is one.
func nameBefore(lines []string) string {
	for i := len(lines) - 1; i >= max(0, len(lines)-2); i-- {
		text := strings.TrimSpace(lines[i])
		if strings.HasPrefix(text, "```") || strings.HasPrefix(text, "~~~") {
			continue
		}
		return fileName(text)
	}
	return ""
}

// fileName removes the decoration that people and models put around a path; "" if text is not a path.
func fileName(text string) string {
	text = strings.TrimLeft(text, "# ")
	if before, after, ok := strings.Cut(text, ":"); ok {
		switch strings.ToLower(strings.Trim(before, "* ")) {
		case "file", "path", "filename":
			text = after
		}
	}
	text = strings.TrimSuffix(strings.Trim(text, "* "), ":")
	text = strings.Trim(text, "*`\"' ")
	if text == "" || strings.ContainsAny(text, " \t<>|*`") || !strings.ContainsAny(text, "./") && !bareName(text) {
		return ""
	}
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "/") {
		return "" // the end of a sentence
	}
	return text
}

// bareName names the files that usually have neither folder nor extension.
func bareName(text string) bool {
	switch text {
	case "Makefile", "Dockerfile", "LICENSE", "README", "Gemfile", "Rakefile", "Procfile", "Justfile", "justfile":
		return true
	}
	return false
}
