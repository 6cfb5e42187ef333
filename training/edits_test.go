package training

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/runplan/runplan/internal/edit"
)

// Edits are in the form that models answer in, and do what was done.
func TestEdits(t *testing.T) {
	lines := func(s ...string) []byte { return []byte(strings.Join(s, "\n") + "\n") }
	for name, tt := range map[string]struct {
		before, after []byte
		want          string
	}{
		"a new file":        {nil, []byte("a\n"), "f.go\n<<<<<<< SEARCH\n=======\na\n>>>>>>> REPLACE\n"},
		"an empty new file": {nil, []byte{}, "f.go\n<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\n"},
		"a file that goes":  {[]byte("a\n"), nil, "f.go\n<<<<<<< DELETE\n>>>>>>> DELETE\n"},
		"one line":          {lines("a", "b", "c"), lines("a", "x", "c"), "f.go\n<<<<<<< SEARCH\nb\n=======\nx\n>>>>>>> REPLACE\n"},
		"a line more":       {lines("a", "b"), lines("a", "x", "b"), "f.go\n<<<<<<< SEARCH\na\nb\n=======\na\nx\nb\n>>>>>>> REPLACE\n"},
		"a line that stands twice": {lines("a", "x", "b", "x"), lines("a", "x", "b", "y"),
			"f.go\n<<<<<<< SEARCH\nb\nx\n=======\nb\ny\n>>>>>>> REPLACE\n"},
		"two places": {lines("a", "1", "2", "3", "4", "5", "6", "7", "8", "z"), lines("b", "1", "2", "3", "4", "5", "6", "7", "8", "y"),
			"f.go\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n\nf.go\n<<<<<<< SEARCH\nz\n=======\ny\n>>>>>>> REPLACE\n"},
		"line ends of Windows": {[]byte("a\r\nb\r\n"), []byte("a\r\nc\r\n"), "f.go\n<<<<<<< SEARCH\nb\n=======\nc\n>>>>>>> REPLACE\n"},
		"no end at the end":    {[]byte("a\nb"), []byte("a\nc"), "f.go\n<<<<<<< SEARCH\nb\n=======\nc\n>>>>>>> REPLACE\n"},
		"marks of its own":     {[]byte("a\n=======\nb\n"), []byte("a\n=======\nc\n=======\n"), ""},
		"a dash in front":      {lines("-- a", "++ b", "c"), lines("++ b", "c", "-- d"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Edits("f.go", tt.before, tt.after)
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

// carriedOut does what an answer says, with the engine that is not this package's.
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
				t.Error("it deletes the file")
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

// What edits cannot say is an error, not another change.
func TestNoEdits(t *testing.T) {
	for name, sides := range map[string][2][]byte{
		"binary":          {[]byte("a\x00b"), []byte("a")},
		"no UTF-8":        {[]byte("a"), []byte{0xff, 0xfe}},
		"nothing":         {nil, nil},
		"the same":        {[]byte("a\n"), []byte("a\n")},
		"only the end":    {[]byte("a\n"), []byte("a")},
		"a blank file":    {[]byte("\n\n"), []byte("a\n")},
		"all lines alike": {[]byte(strings.Repeat("x\n", 200)), []byte(strings.Repeat("x\n", 100) + "y\n" + strings.Repeat("x\n", 100))},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := Edits("f.go", sides[0], sides[1]); !errors.Is(err, ErrNoEdits) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// Whatever two texts there are, the edits either make the one of the other or there are none.
func TestEditsOfChance(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func() []byte {
		var b strings.Builder
		for range r.IntN(40) {
			fmt.Fprintf(&b, "%s\n", []string{"a", "b", "c", "}", "", "  d", "- x", "@@ -1,2 +3,4 @@", ">>>>>>> REPLACE"}[r.IntN(9)])
		}
		return []byte(b.String())
	}
	made := 0
	for range 2000 {
		before, after := text(), text()
		got, err := Edits("f.go", before, after)
		if err != nil {
			if !errors.Is(err, ErrNoEdits) {
				t.Fatal(err)
			}
			continue
		}
		made++
		carriedOut(t, got, before, after)
	}
	if made < 1000 {
		t.Errorf("edits for %d of 2000 only", made)
	}
}

func FuzzEdits(f *testing.F) {
	f.Add("a\nb\n", "a\nc\n")
	f.Add("", "x")
	f.Add("a\r\nb", "a\nb\n")
	f.Add("-- a\n", "++ b\n")
	f.Fuzz(func(t *testing.T, before, after string) {
		got, err := Edits("f.go", []byte(before), []byte(after))
		if err == nil {
			carriedOut(t, got, []byte(before), []byte(after))
		} else if !errors.Is(err, ErrNoEdits) {
			t.Error(err)
		}
	})
}
