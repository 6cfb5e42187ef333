package ui

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

// record starts a live board on a pipe and returns its output after the board is closed.
func record(t *testing.T, use func(*Live)) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	text := make(chan string)
	go func() {
		b, _ := io.ReadAll(r)
		text <- string(b)
	}()
	live := NewLive(LiveOptions{Out: w, Env: []string{"TERM=xterm-kitty"}, Now: start})
	use(live)
	live.Close()
	live.Close()
	live.Println("after the end")
	_ = w.Close()
	return <-text
}

func TestLiveKeepsOrderAndFinalBoard(t *testing.T) {
	out := record(t, func(live *Live) {
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for range 20 {
					b := board()
					b.Subtitle = fmt.Sprint(i)
					live.Update(b)
				}
			})
		}
		for i := range 100 {
			live.Println(fmt.Sprintf("line %03d", i))
		}
		wg.Wait()
		b := board()
		b.Done = true
		live.Update(b)
	})
	plain := ansi.Strip(out)
	at := -1
	for i := range 100 {
		next := strings.Index(plain, fmt.Sprintf("line %03d", i))
		if next <= at {
			t.Fatalf("line %d is missing or out of order", i)
		}
		at = next
	}
	want := strings.Join(func() []string { b := board(); b.Done = true; return b.lines(frame{now: start(), width: 80}) }(),
		"\n")
	if !strings.HasSuffix(plain, want+"\nafter the end\n") {
		t.Errorf("the output does not end with the board:\n%s", plain)
	}
	if strings.Contains(out, "$p") {
		t.Error("the output queries the terminal, but nothing reads the answer")
	}
}

func TestLiveCloseKeepsAllLines(t *testing.T) {
	out := record(t, func(live *Live) {
		for i := range 20 {
			live.Println(fmt.Sprintf("line %d.", i))
		}
	})
	for i := range 20 {
		if !strings.Contains(out, fmt.Sprintf("line %d.", i)) {
			t.Errorf("line %d is lost", i)
		}
	}
}

func TestCtrlCCallsInterrupt(t *testing.T) {
	got := make(chan bool, 2)
	m := &model{live: &Live{o: LiveOptions{Interrupt: func() { got <- true }, Now: start}}}
	for range 2 {
		if _, cmd := m.Update(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}); cmd != nil {
			t.Error("^C ends the view")
		}
		select {
		case <-got:
		case <-time.After(5 * time.Second):
			t.Fatal("^C is swallowed")
		}
	}
	if _, cmd := m.Update(tea.KeyPressMsg{Code: 'z', Mod: tea.ModCtrl}); cmd == nil {
		t.Error("^Z is swallowed")
	}
}

func TestFrameHeightNeverShrinks(t *testing.T) {
	m := &model{live: &Live{o: LiveOptions{Now: start}}, width: 80, height: 40}
	m.live.Update(long(10, 2))
	was := strings.Count(m.View().Content, "\n")
	m.live.Update(long(3, 2))
	if is := strings.Count(m.View().Content, "\n"); is != was {
		t.Errorf("%d lines after %d", is, was)
	}
}

// Lines above the board are wrapped between words; a word wider than the terminal is split.
func TestWrapped(t *testing.T) {
	for line, want := range map[string][]string{
		"    code that is indented keeps it":      {"    code that is", "indented keeps it"},
		"exactly twenty chars":                    {"exactly twenty chars"},
		"/a/path/without/any/space/in/it":         {"/a/path/without/any/", "space/in/it"},
		"日本語日本語日本語日本語":                            {"日本語日本語日本語日", "本語"},
		"\x1b[31mred words that go on and\x1b[0m": {"\x1b[31mred words that go on", "and\x1b[0m"},
		"": {" "},
	} {
		if diff := cmp.Diff(want, wrapped(line, 20)); diff != "" {
			t.Errorf("%q: %s", line, diff)
		}
	}
}
