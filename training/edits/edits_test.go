package edits

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/runplan/runplan/internal/edit"
	"github.com/runplan/runplan/internal/linediff"
)

// Edits have the format of a model's answer, and reproduce the change.
func TestEdits(t *testing.T) {
	lines := func(s ...string) []byte { return []byte(strings.Join(s, "\n") + "\n") }
	for name, tt := range map[string]struct {
		before, after []byte
		want          string
	}{
		"a new file":        {nil, []byte("a\n"), "f.go\n<<<<<<< SEARCH\n=======\na\n>>>>>>> REPLACE\n"},
		"an empty new file": {nil, []byte{}, "f.go\n<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\n"},
		"a file that goes":  {[]byte("a\n"), nil, "f.go\n<<<<<<< DELETE\n>>>>>>> DELETE\n"},
		"one line": {lines("a", "b", "c"), lines("a", "x", "c"),
			"f.go\n<<<<<<< SEARCH\nb\n=======\nx\n>>>>>>> REPLACE\n"},
		"a line more": {lines("a", "b"), lines("a", "x", "b"),
			"f.go\n<<<<<<< SEARCH\na\nb\n=======\na\nx\nb\n>>>>>>> REPLACE\n"},
		"a repeated line": {lines("a", "x", "b", "x"), lines("a", "x", "b", "y"),
			"f.go\n<<<<<<< SEARCH\nb\nx\n=======\nb\ny\n>>>>>>> REPLACE\n"},
		"two places": {lines("a", "1", "2", "3", "4", "5", "6", "7", "8", "z"),
			lines("b", "1", "2", "3", "4", "5", "6", "7", "8", "y"),
			"f.go\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n\nf.go\n<<<<<<< SEARCH\nz\n=======\ny\n>>>>>>> REPLACE\n"},
		"line ends of Windows": {[]byte("a\r\nb\r\n"), []byte("a\r\nc\r\n"),
			"f.go\n<<<<<<< SEARCH\nb\n=======\nc\n>>>>>>> REPLACE\n"},
		"no end at the end": {[]byte("a\nb"), []byte("a\nc"),
			"f.go\n<<<<<<< SEARCH\nb\n=======\nc\n>>>>>>> REPLACE\n"},
		"a quote whose places overlap": {lines("x", "x", "x", "b"), lines("x", "x", "x", "y", "b"),
			"f.go\n<<<<<<< SEARCH\nx\nb\n=======\nx\ny\nb\n>>>>>>> REPLACE\n"},
		"lines that overlap with themselves": {lines("a", "b", "a", "b", "a", "c"), lines("a", "b", "a", "b", "z", "c"), ""},
		"marks of its own":                   {[]byte("a\n=======\nb\n"), []byte("a\n=======\nc\n=======\n"), ""},
		"a block of its own": {lines("a", "b"), lines("a", "<<<<<<< SEARCH", "x", "=======", "y", ">>>>>>> REPLACE"),
			"f.go\n<<<<<<<<< SEARCH\nb\n=========\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n>>>>>>>>> REPLACE\n"},
		"a dash in front": {lines("-- a", "++ b", "c"), lines("++ b", "c", "-- d"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := Of("f.go", tt.before, tt.after)
			got := a.Text
			if err != nil {
				t.Fatal(err)
			}
			if tt.want != "" && got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			carriedOut(t, got, tt.before, tt.after)
		})
	}
}

// carriedOut applies an answer with the edit engine of another package, and checks the result.
func carriedOut(t *testing.T, answer string, before, after []byte) {
	t.Helper()
	edits, err := edit.Parse(answer, "")
	if err != nil {
		t.Fatal(err)
	}
	text := string(before)
	for _, e := range edits {
		if e.Delete {
			if after != nil {
				t.Error("a deleted file has content")
			}
			return
		}
		if text, err = edit.Apply(text, e); err != nil {
			t.Fatal(err)
		}
	}
	if strings.TrimRight(text, "\r\n") != strings.TrimRight(string(after), "\r\n") {
		t.Errorf("it makes\n%q\nof\n%q\nwant\n%q", text, before, after)
	}
}

// A change that edits cannot express is an error, and never a different change.
func TestInexpressibleChangeIsAnError(t *testing.T) {
	for name, sides := range map[string][2][]byte{
		"binary":       {[]byte("a\x00b"), []byte("a")},
		"no UTF-8":     {[]byte("a"), []byte{0xff, 0xfe}},
		"nothing":      {nil, nil},
		"the same":     {[]byte("a\n"), []byte("a\n")},
		"only the end": {[]byte("a\n"), []byte("a")},
		"a blank file": {[]byte("\n\n"), []byte("a\n")},
		"all lines alike": {[]byte(strings.Repeat("x\n", 200)),
			[]byte(strings.Repeat("x\n", 100) + "y\n" + strings.Repeat("x\n", 100))},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := Of("f.go", sides[0], sides[1]); !errors.Is(err, ErrNone) {
				t.Errorf("%q, %v", got.Text, err)
			}
		})
	}
}

// For any two texts, the edits turn one into the other, or Of returns ErrNone.
func TestRandomEdits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func() []byte {
		var b strings.Builder
		for range r.IntN(40) {
			fmt.Fprintf(&b, "%s\n", []string{"a", "b", "c", "}", "", "  d", "- x", "@@ -1,2 +3,4 @@",
				">>>>>>> REPLACE"}[r.IntN(9)])
		}
		return []byte(b.String())
	}
	made := 0
	for range 2000 {
		before, after := text(), text()
		got, err := Of("f.go", before, after)
		if err != nil {
			if !errors.Is(err, ErrNone) {
				t.Fatal(err)
			}
			continue
		}
		made++
		carriedOut(t, got.Text, before, after)
	}
	if made < 1000 {
		t.Errorf("edits for %d of 2000 only", made)
	}
}

// The hunks turn one text into the other with the fewest lines, and each block gives the lines that it quotes.
func TestCompare(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	made := 0
	for n := range 3000 {
		var before, after []string
		for range rnd.IntN(40) {
			before = append(before, fmt.Sprintf("line %d\n", rnd.IntN(30)))
		}
		for _, l := range before {
			switch rnd.IntN(12) {
			case 0:
			case 1:
				after = append(after, l, fmt.Sprintf("new %d\n", rnd.IntN(99)))
			case 2:
				after = append(after, fmt.Sprintf("other %d\n", rnd.IntN(5)))
			default:
				after = append(after, l)
			}
		}
		hunks, changed, ok := linediff.Compare(before, after, 1000)
		if !ok {
			t.Fatalf("%d: no way from %q to %q", n, before, after)
		}
		count := 0
		for _, h := range hunks {
			count += h.To - h.From + h.NewTo - h.NewFrom
		}
		if got := carried(before, after, hunks); got != strings.Join(after, "") || count != changed {
			t.Fatalf("%d: %q to %q by %v makes %q", n, before, after, hunks, got)
		}
		if changed > 0 {
			if _, _, ok := linediff.Compare(before, after, changed-1); ok {
				t.Fatalf("%d: %d lines are found with %d allowed", n, changed, changed-1)
			}
		}
		a, err := Change{Path: "a/b.go", Before: before, After: after, Hunks: hunks}.Write(strings.Join(before, ""),
			strings.Join(after, ""))
		switch {
		case err == nil:
			made++
		case len(hunks) > 0 && strings.Contains(err.Error(), "another text"):
			t.Fatalf("%d: %v\n%q\n%q", n, err, before, after)
		}
		for i, b := range a.Blocks {
			if strings.Join(before[b.From:b.To], "") != b.old || i > 0 && b.From <= a.Blocks[i-1].To {
				t.Fatalf("%d: block %d of %+v", n, i, a.Blocks)
			}
		}
	}
	if made < 1500 {
		t.Errorf("only %d changes could be written as edits", made)
	}
}

// carried applies hunks to the old lines and returns the result.
func carried(before, after []string, hunks []linediff.Hunk) string {
	var got []string
	at := 0
	for _, h := range hunks {
		got = append(append(got, before[at:h.From]...), after[h.NewFrom:h.NewTo]...)
		at = h.To
	}
	return strings.Join(append(got, before[at:]...), "")
}

// A change of thousands of lines is written too, and its edits reproduce it.
func TestLargeChanges(t *testing.T) {
	var before, after strings.Builder
	for i := range 6000 {
		fmt.Fprintf(&before, "line %d\n", i)
		fmt.Fprintf(&after, "line %d\n", i)
		if i%3 == 0 {
			fmt.Fprintf(&after, "more %d\n", i)
		}
	}
	got, err := Of("f.go", []byte(before.String()), []byte(after.String()))
	if err != nil {
		t.Fatal(err)
	}
	carriedOut(t, got.Text, []byte(before.String()), []byte(after.String()))
}

func FuzzEdits(f *testing.F) {
	f.Add("a\nb\n", "a\nc\n")
	f.Add("", "x")
	f.Add("a\r\nb", "a\nb\n")
	f.Add("-- a\n", "++ b\n")
	f.Fuzz(func(t *testing.T, before, after string) {
		got, err := Of("f.go", []byte(before), []byte(after))
		if err == nil {
			carriedOut(t, got.Text, []byte(before), []byte(after))
		} else if !errors.Is(err, ErrNone) {
			t.Error(err)
		}
	})
}
