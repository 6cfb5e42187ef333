package proc

import (
	"errors"
	"slices"
	"testing"
)

// The records are the same for output in pieces of any size.
func TestRecords(t *testing.T) {
	const text = "one\x00\x00three\nlines\x00rest"
	for size := 1; size <= len(text); size++ {
		var got []string
		r := Records{Take: func(record []byte) error {
			got = append(got, string(record))
			return nil
		}}
		for from := 0; from < len(text); from += size {
			if n, err := r.Write([]byte(text[from:min(from+size, len(text))])); n == 0 || err != nil {
				t.Fatal(n, err)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if want := []string{"one", "", "three\nlines", "rest"}; !slices.Equal(got, want) {
			t.Errorf("in pieces of %d: %q", size, got)
		}
	}
}

// After an invalid record the program may continue, but no further record is read.
func TestRecordsStopAfterError(t *testing.T) {
	bad, asked := errors.New("bad"), 0
	r := Records{End: '\n', Take: func([]byte) error { asked++; return bad }}
	for range 3 {
		if n, err := r.Write([]byte("a\nb\nc")); n != 5 || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := r.Close(); err != bad || asked != 1 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}
