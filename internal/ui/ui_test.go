package ui

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/internal/cells"
)

var update = flag.Bool("update", false, "write the golden files again")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), got); d != "" {
		t.Errorf("%s (-want +got), -update rewrites it:\n%s", name, d)
	}
}

func start() time.Time { return time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC) }

func board() Board {
	return Board{
		Title: "demo.md", Subtitle: "5 batches, agent script", Started: start(),
		Footer: []string{"^C stops, twice kills"},
		Rows: []Row{
			{Label: "1 Skeleton", State: "merged", Tone: Good, Elapsed: 12 * time.Second, Detail: "a1b2c3d",
				Marks: []Mark{{"lint", Good}, {"format", Muted}}},
			{Label: "2 字句解析器 🚀 and a tail that is long", State: "editing", Tone: Busy,
				Started: start().Add(10 * time.Second), Detail: "reading\x1b[31m a file\nand more"},
			{Label: "3 Parser", State: "failed", Tone: Bad, Elapsed: 3*time.Minute + 4*time.Second,
				Detail: "tests: 2 failed"},
			{Label: "4 \x1b]0;owned\x07Printer", State: "waiting", Tone: Idle},
			{Label: "5 Docs", State: "skipped", Tone: Muted, Detail: "(empty batch -- skipping)"},
		},
	}
}

// queue returns a board with rows that wait: they are not settled, and their spinner does not move.
func queue() Board {
	return Board{Title: "queue.md", Started: start(), Rows: []Row{
		{Number: "9", Label: "Storage", State: "checking", Tone: Busy, Started: start(), Detail: "on 3, 4: lint: pass"},
		{Number: "10", Label: "Handlers", State: "queued", Tone: Busy, Still: true, Started: start(),
			Detail: "waits to be checked"},
		{Number: "11", Label: "Limiter", State: "sampling", Tone: Busy, Started: start(),
			Marks: []Mark{{"c1 1 312", Good}, {"c2", Busy}, {"c3", Bad}}},
		{Number: "12", Label: "Metrics", State: "parked", Tone: Warn, Still: true, Started: start(),
			Detail: "until 14:05 (rate limit)"},
		{Number: "13", Label: "Docs", State: "waiting", Tone: Idle},
	}}
}

func long(n, busy int) Board {
	b := Board{Title: "long.md"}
	for i := range n {
		r := Row{Label: fmt.Sprint(i + 1), State: "waiting", Tone: Idle}
		switch {
		case i < busy:
			r.State, r.Tone = "merged", Good
		case i == busy || i == busy+9:
			r.State, r.Tone = "editing", Busy
		}
		b.Rows = append(b.Rows, r)
	}
	return b
}

func TestBoard(t *testing.T) {
	now := start().Add(72 * time.Second)
	for name, c := range map[string]struct {
		b Board
		f frame
	}{
		"board-80":     {board(), frame{now: now, width: 80}},
		"board-40":     {board(), frame{now: now, width: 40}},
		"board-color":  {board(), frame{now: now, width: 100, style: Style{Color: true}}},
		"board-ascii":  {board(), frame{now: now, width: 100, style: Style{ASCII: true}}},
		"board-queue":  {queue(), frame{now: now, width: 90}},
		"board-long":   {long(60, 20), frame{now: now, width: 60, height: 20}},
		"board-bottom": {long(60, 60), frame{now: now, width: 60, height: 20}},
	} {
		t.Run(name, func(t *testing.T) { golden(t, name+".txt", strings.Join(c.b.lines(c.f), "\n")+"\n") })
	}
}

func TestBoardFitsAnySize(t *testing.T) {
	for _, b := range []Board{board(), queue(), long(60, 20), long(200, 199), {Title: "no rows"}} {
		for width := 0; width < 90; width += 7 {
			for height := 1; height < 30; height++ {
				f := frame{now: start(), width: width, height: height, style: Style{Color: true}}
				lines := b.lines(f)
				if len(lines) > height {
					t.Fatalf("%d lines on %d by %d", len(lines), width, height)
				}
				for _, l := range lines {
					if cells.Width(l) > width {
						t.Fatalf("line of %d cells on %d by %d: %q", cells.Width(l), width, height, l)
					}
				}
			}
		}
	}
}

func TestBusyRowsAreShownFirst(t *testing.T) {
	b := long(60, 20)
	text := strings.Join(b.lines(frame{now: start(), width: 60, height: 12}), "\n")
	if n := strings.Count(text, "editing"); n != 2 {
		t.Errorf("%d busy rows are shown, want 2:\n%s", n, text)
	}
}

// A waiting row does not count as done; if space is short, running rows are shown instead of it.
func TestWaitingRowsAreNotDone(t *testing.T) {
	text := strings.Join(queue().lines(frame{now: start(), width: 90}), "\n")
	if !strings.Contains(text, "  0/5") {
		t.Errorf("a row that waits counts as done:\n%s", text)
	}
	text = strings.Join(queue().lines(frame{now: start(), width: 90, height: 7}), "\n")
	for _, want := range []string{"checking", "sampling", "parked"} {
		if !strings.Contains(text, want) {
			t.Errorf("no row is shown that is %s:\n%s", want, text)
		}
	}
	if strings.Contains(text, "Docs") {
		t.Errorf("a waiting row is shown instead of a running one:\n%s", text)
	}
}

func TestDuration(t *testing.T) {
	for in, want := range map[time.Duration]string{
		0:                                    "0s",
		850 * time.Millisecond:               "850ms",
		999_700 * time.Microsecond:           "1s",
		3240 * time.Millisecond:              "3.2s",
		9960 * time.Millisecond:              "10s",
		12 * time.Second:                     "12s",
		59_600 * time.Millisecond:            "1m00s",
		3*time.Minute + 4*time.Second:        "3m04s",
		time.Hour - 400*time.Millisecond:     "1h00m",
		time.Hour + 2*time.Minute:            "1h02m",
		26*time.Hour + 29*time.Second:        "26h00m",
		-(3*time.Minute + 4*time.Second):     "-3m04s",
		2*time.Hour - 20*time.Second:         "2h00m",
		10*time.Second + 40*time.Millisecond: "10s",
	} {
		if got := Duration(in); got != want {
			t.Errorf("Duration(%s) = %s, want %s", in.String(), got, want)
		}
	}
}

func TestSanitize(t *testing.T) {
	for in, want := range map[string]string{
		"two\nlines\tand  space ":     "two lines and space",
		"\x1b[31mred\x1b[0m":          "red",
		"\x1b]8;;http://x\x07link":    "link",
		"a\u202eb":                    "ab",
		"bad \xff byte":               "bad \uFFFD byte",
		"bell\x07 and back\x08":       "bell and back",
		"family 👨‍👩‍👧 stays together": "family 👨‍👩‍👧 stays together",
	} {
		if got := Sanitize(in); got != want {
			t.Errorf("Sanitize(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestTable(t *testing.T) {
	var b strings.Builder
	st := Style{}
	err := Table(&b, []string{">#", "title", ">cost", "gates"}, [][]string{
		{"1", "Skeleton", "$0.12", "lint"},
		{"12", "字句解析器", "unknown", ""},
		{"3", st.Tone(Bad, "Parser"), "$12.00", "tests"},
	})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "table.txt", b.String())

	var colored strings.Builder
	_ = Table(&colored, []string{Style{Color: true}.Faint(">n"), "x"}, [][]string{{"100", "y"}})
	if want := "\x1b[2mn\x1b[0m"; !strings.Contains(colored.String(), "  "+want) {
		t.Errorf("a coloured header is not aligned: %q", colored.String())
	}
}

func TestPlainStyleOmitsEscapeCodes(t *testing.T) {
	st := Style{}
	for _, tone := range []Tone{Idle, Busy, Good, Warn, Bad, Muted} {
		if s := st.Bold(st.Tone(tone, st.Faint("x"))); s != "x" {
			t.Errorf("tone %s: %q", tone, s)
		}
		if s := (Style{ASCII: true}).Icon(tone); len(s) != 1 || s[0] > 0x7e {
			t.Errorf("icon of %s in ASCII: %q", tone, s)
		}
	}
}

func TestTerminalDetection(t *testing.T) {
	env := func(kv ...string) Lookup {
		return func(name string) (string, bool) {
			for i := 0; i < len(kv); i += 2 {
				if kv[i] == name {
					return kv[i+1], true
				}
			}
			return "", false
		}
	}
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if IsTerminal(f) || IsTerminal(nil) || ColorAllowed(env(), f) || Interactive(env(), f, f) {
		t.Error("a file is taken for a terminal")
	}
	if w, h := Size(f); w != 80 || h != 24 {
		t.Errorf("size of a file: %d by %d", w, h)
	}
	if !StyleFor(env("LANG", "C"), f).ASCII || StyleFor(env("LANG", "C", "LC_ALL", "C.UTF-8"), f).ASCII ||
		StyleFor(env(), f).ASCII {
		t.Error("the locale is ignored")
	}
	if ci(env("CI", "false")) || !ci(env("CI", "true")) {
		t.Error("the variable CI is ignored")
	}
}

func TestPlain(t *testing.T) {
	var b strings.Builder
	p := NewPlain(&b, Style{})
	p.Line(Good, "merged\nin one line")
	p.Line(Bad, "\x1b[2Jred")
	if got, want := b.String(), "merged in one line\nred\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
