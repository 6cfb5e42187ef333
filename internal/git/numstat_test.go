package git

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseNumstat(t *testing.T) {
	got := ParseNumstat("3\t1\ta b.txt\x00-\t-\tx.png\x000\t4\tgone\x00junk\x002\t0\ttab\there\x00")
	want := []LineCount{{"a b.txt", 3, 1, false}, {"x.png", 0, 0, true}, {"gone", 0, 4, false},
		{"tab\there", 2, 0, false}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func FuzzParseNumstat(f *testing.F) {
	f.Add("3\t1\tf\x00-\t-\tx\x00")
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range ParseNumstat(text) {
			if c.Path == "" {
				t.Errorf("%+v", c)
			}
		}
	})
}
