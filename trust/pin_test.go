package trust

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestDigestDependsOnAllExecutables(t *testing.T) {
	base := []Executable{{"gate a", "true"}, {"gate b", "false"}}
	for name, other := range map[string][]Executable{
		"another command": {{"gate a", "true "}, {"gate b", "false"}},
		"another name":    {{"gate A", "true"}, {"gate b", "false"}},
		"another order":   {{"gate b", "false"}, {"gate a", "true"}},
		"one less":        {{"gate a", "true"}},
		"text moved over": {{"gate at", "rue"}, {"gate b", "false"}},
		"nothing":         nil,
	} {
		if Digest(base) == Digest(other) {
			t.Errorf("%s: the digest does not change", name)
		}
	}
}

func TestNamesRequiresTwelveDigits(t *testing.T) {
	d := Digest([]Executable{{"gate", "true"}})
	for given, want := range map[string]bool{d: true, d[:12]: true, strings.ToUpper(d[:20]): true, d[:11]: false,
		"": false, d + "0": false, "all": false} {
		if Names(given, d) != want {
			t.Errorf("Names(%q) = %v", given, !want)
		}
	}
}

func TestTrustIsPerRepositoryAndConfiguration(t *testing.T) {
	p := Pins{filepath.Join(t.TempDir(), "home", "trusted.json")}
	if now, before, err := p.Trusted("/r", "d1"); now || before || err != nil {
		t.Fatalf("nothing was trusted yet: %v %v %v", now, before, err)
	}
	if err := p.Trust("/r", "d1", time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		root, digest string
		now, before  bool
	}{{"/r", "d1", true, true}, {"/r", "d2", false, true}, {"/other", "d1", false, false}} {
		if now, before, err := p.Trusted(c.root, c.digest); now != c.now || before != c.before || err != nil {
			t.Errorf("%s %s: %v %v %v", c.root, c.digest, now, before, err)
		}
	}
}

func TestDamagedPinsStayUnchanged(t *testing.T) {
	p := Pins{filepath.Join(t.TempDir(), "trusted.json")}
	if err := os.WriteFile(p.Path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Trusted("/r", "d"); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v", err)
	}
	if err := p.Trust("/r", "d", time.Now()); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v", err)
	}
	if data, _ := os.ReadFile(p.Path); string(data) != "{" {
		t.Errorf("the file was changed to %q", data)
	}
}
