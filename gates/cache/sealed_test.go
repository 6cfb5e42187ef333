package cache

import (
	"bytes"
	"os"
	"testing"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/seal"
)

// An answer that another program wrote, or that belongs to another key, is not used.
func TestStoreRejectsEditedAnswers(t *testing.T) {
	key, err := seal.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := Store{Dir: t.TempDir(), Seal: key}
	if err := s.Put("k", gates.Report{Gate: "g", Status: gates.Fail}); err != nil {
		t.Fatal(err)
	}
	if r, ok := s.Get("k"); !ok || r.Status != gates.Fail {
		t.Fatalf("%+v %v", r, ok)
	}
	text, err := os.ReadFile(s.file("k"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		key  string
		text []byte
	}{
		"edited":       {"k", bytes.Replace(text, []byte(`"fail"`), []byte(`"pass"`), 1)},
		"another's":    {"other", text},
		"without seal": {"k", []byte(`{"version":2,"report":{"gate":"g","status":"pass"}}`)},
	} {
		if err := os.WriteFile(s.file(c.key), c.text, 0o600); err != nil {
			t.Fatal(err)
		}
		if r, ok := s.Get(c.key); ok {
			t.Errorf("%s: %+v is used", name, r)
		}
	}
}
