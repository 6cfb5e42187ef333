package page

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runplan/runplan/agents/stream"
)

func saying(n int) string {
	return fmt.Sprintf(`{"type":"assistant","message":{"content":[{"type":"text","text":"line %d of what is said"},{"type":"tool_use","name":"Write","input":{"file_path":"f%d"}}]}}`+"\n", n, n)
}

// The text of an agent that prints JSON is read while its log grows: no line is repeated or split, and completed
// chunks do not change.
func TestAgentTextIsReadIncrementally(t *testing.T) {
	b := newBook(t, team(1))
	h := newHub(options(b.layout))
	file := filepath.Join(b.layout.Root, "x.log")
	var all strings.Builder
	for n := range 200 {
		all.WriteString(saying(n))
	}
	text := all.String()
	known := map[string]string{}
	size := 0
	for size < len(text) {
		size = min(size+977, len(text))
		if err := os.WriteFile(file, []byte(text[:size]), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := h.hear("x.log", stream.Claude, size == len(text))
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range got.chunks {
			drawn := fmt.Sprint(c.Lines)
			if was, ok := known[c.ID]; ok && was != drawn {
				t.Fatalf("%s has changed", c.ID)
			}
			if i < len(got.chunks)-1 {
				known[c.ID] = drawn
			}
		}
	}
	got, err := h.hear("x.log", stream.Claude, true)
	if err != nil {
		t.Fatal(err)
	}
	var lines []talkLine
	for _, c := range got.chunks {
		lines = append(lines, c.Lines...)
	}
	if len(lines) != 400 || got.left || got.totals.Tools != 200 {
		t.Fatalf("%d lines of 400, %d tool calls of 200, left out: %v", len(lines), got.totals.Tools, got.left)
	}
	for n := range 200 {
		if l := lines[2*n]; l.Class != "text" || l.Text != fmt.Sprintf("line %d of what is said", n) {
			t.Fatalf("line %d is %q", n, l)
		}
		if l := lines[2*n+1]; l.Class != "tool" || l.Text != fmt.Sprintf("▸ Write: f%d", n) {
			t.Fatalf("tool call %d is %q", n, l)
		}
	}
}

// The stored part of an agent's text has a maximum size. If a log is rewritten, reading it is an error first, and
// then starts again from its beginning.
func TestAgentTextIsLimited(t *testing.T) {
	b := newBook(t, team(1))
	h := newHub(options(b.layout))
	file := filepath.Join(b.layout.Root, "x.log")
	one := saying(1)
	if err := os.WriteFile(file, []byte(strings.Repeat(one, (talkRead+2<<20)/len(one))), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := h.hear("x.log", stream.Claude, true)
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, c := range got.chunks {
		for _, l := range c.Lines {
			size += len(l.Text)
			if !strings.HasPrefix(l.Text, "line 1 of") && !strings.HasPrefix(l.Text, "▸ Write: f1") {
				t.Fatalf("half of an event is shown: %q", l.Text)
			}
		}
	}
	if size > talkBytes || size < talkBytes/2 || !got.left {
		t.Errorf("%d bytes are kept; told that there was more: %v", size, got.left)
	}
	if err := os.WriteFile(file, []byte(one), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := h.hear("x.log", stream.Claude, true); err == nil {
		t.Error("a log that was rewritten was read on")
	}
	if got, err = h.hear("x.log", stream.Claude, true); err != nil || len(got.chunks) != 1 ||
		len(got.chunks[0].Lines) != 2 {
		t.Errorf("and then it is read from its beginning: %v, %v", got.chunks, err)
	}
	for n := range 3 * maxTalks {
		name := fmt.Sprintf("y%d.log", n)
		if err := os.WriteFile(filepath.Join(b.layout.Root, name), []byte(one), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := h.hear(name, stream.Claude, false); err != nil {
			t.Fatal(err)
		}
	}
	if n := h.talks.open.Len(); n > 2*maxTalks {
		t.Errorf("%d open conversations are kept", n)
	}
}

// The table of a run shows the text of a running agent, not the JSON that contains it.
func TestRunTableShowsAgentText(t *testing.T) {
	b := newBook(t, team(1))
	h := newHub(options(b.layout))
	text := strings.Repeat(saying(3), 2000) +
		`{"type":"assistant","message":{"content":[{"type":"text","text":"all of it is there\n\n"}]}}` + "\n" + `{"type":"us`
	if err := os.WriteFile(filepath.Join(b.layout.Root, "x.log"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := h.lastLine("x.log", stream.Claude); got != "all of it is there" {
		t.Errorf("got %q", got)
	}
	if got := h.lastLine("x.log", stream.Plain); got != `{"type":"us` {
		t.Errorf("an unknown program: %q", got)
	}
}
