package recent

import (
	"io"
	"testing"
)

// A value that is used again and again stays in the cache; an unused value is dropped.
func TestUsedValuesStayCached(t *testing.T) {
	m := New[int, string](10, func(string) int { return 1 })
	m.Put(-1, "used")
	m.Put(-2, "unused")
	for i := range 1000 {
		m.Put(i, "new")
		if v, ok := m.Get(-1); !ok || v != "used" {
			t.Fatalf("after %d others it is %q", i+1, v)
		}
		if n := len(m.now) + len(m.before); n > 24 {
			t.Fatalf("it holds %d values", n)
		}
	}
	if _, ok := m.Get(-2); ok {
		t.Error("an unused entry is still there")
	}
	if v, ok := m.Get(999); !ok || v != "new" {
		t.Error("the newest entry is missing")
	}
}

// Load makes a missing value once. It does not keep an error.
func TestLoadKeepsNoErrors(t *testing.T) {
	m := New[string](10, func(int) int { return 1 })
	if _, err := m.Load("x", func() (int, error) { return 7, io.ErrUnexpectedEOF }); err != io.ErrUnexpectedEOF {
		t.Errorf("got %v", err)
	}
	for range 2 {
		asked := 0
		v, err := m.Load("x", func() (int, error) { asked++; return 1, nil })
		if v != 1 || err != nil || asked > 1 || m.Len() != 1 {
			t.Errorf("got %d, %v; asked %d times, holds %d", v, err, asked, m.Len())
		}
	}
}
