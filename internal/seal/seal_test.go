package seal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func opened(t *testing.T, dir string) *Seal {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The key is created once and only for its user, even if many processes need it at the same time.
func TestKeyIsCreatedOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	sums := make([]string, 20)
	var all sync.WaitGroup
	for i := range sums {
		all.Go(func() {
			if s, err := Open(dir); err == nil {
				sums[i] = s.Sum(Event, "a")
			}
		})
	}
	all.Wait()
	for _, sum := range sums {
		if sum == "" || sum != sums[0] {
			t.Fatalf("processes have different keys: %q", sums)
		}
	}
	info, err := os.Stat(filepath.Join(dir, FileName))
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() != keySize {
		t.Errorf("%v %v", info, err)
	}
	if sums[0] == opened(t, t.TempDir()).Sum(Event, "a") {
		t.Error("two users have the same key")
	}
}

// A key that is damaged, readable by others or not a regular file is refused and left unchanged.
func TestBadKeysAreRefused(t *testing.T) {
	for name, bad := range map[string]func(path string) error{
		"short":   func(p string) error { return os.WriteFile(p, []byte("short"), 0o600) },
		"long":    func(p string) error { return os.WriteFile(p, bytes.Repeat([]byte("x"), 33), 0o600) },
		"open":    func(p string) error { return os.Chmod(p, 0o644) },
		"a link":  func(p string) error { return errors.Join(os.Rename(p, p+"2"), os.Symlink(p+"2", p)) },
		"dangles": func(p string) error { return errors.Join(os.Remove(p), os.Symlink(p+"2", p)) },
		"folder":  func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) },
	} {
		dir := t.TempDir()
		opened(t, dir)
		if err := bad(filepath.Join(dir, FileName)); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); !errors.Is(err, ErrKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A seal is valid for one kind and one list of fields only.
func TestSealCoversKindAndFields(t *testing.T) {
	s := opened(t, t.TempDir())
	sum := s.Sum(Event, "ab", "c")
	if !s.Check(sum, Event, "ab", "c") {
		t.Error("a valid seal is refused")
	}
	for name, ok := range map[string]bool{
		"another kind":   s.Check(sum, Post, "ab", "c"),
		"another place":  s.Check(sum, Event, "a", "bc"),
		"one more":       s.Check(sum, Event, "ab", "c", ""),
		"one less":       s.Check(sum, Event, "ab"),
		"no seal":        s.Check("", Event, "ab", "c"),
		"no key":         (*Seal)(nil).Check("", Event, "ab", "c"),
		"another's key":  opened(t, t.TempDir()).Check(sum, Event, "ab", "c"),
		"a longer seal":  s.Check(sum+"0", Event, "ab", "c"),
		"half of a seal": s.Check(sum[:32], Event, "ab", "c"),
	} {
		if ok {
			t.Errorf("%s is taken for signed", name)
		}
	}
}

// The head of a chain is read back as it was last written, and a changed head is refused.
func TestHead(t *testing.T) {
	dir := t.TempDir()
	s := opened(t, dir)
	if _, ok := s.Head("r"); ok {
		t.Error("a run that was never seen has a head")
	}
	h := s.OpenHead("r")
	h.Set(Chain{100, s.Sum(Event, "100")})
	h.Set(Chain{7, s.Sum(Event, "7")})
	h.Close()
	if c, ok := s.Head("r"); !ok || c.Seq != 7 || c.Sum != s.Sum(Event, "7") {
		t.Errorf("%+v %v", c, ok)
	}
	path := filepath.Join(dir, "heads", "r")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, forged := range map[string][]byte{"another number": bytes.Replace(text, []byte("7"), []byte("6"), 1),
		"nothing": nil, "half": text[:70]} {
		if err := os.WriteFile(path, forged, 0o600); err != nil {
			t.Fatal(err)
		}
		if c, ok := s.Head("r"); ok {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if s.OpenHead("../r") != nil {
		t.Error("a head outside of its folder")
	}
}

func FuzzHead(f *testing.F) {
	f.Add([]byte("7 ab cd"))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		s := opened(t, dir)
		if err := os.MkdirAll(filepath.Join(dir, "heads"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "heads", "r"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if c, ok := s.Head("r"); ok {
			t.Errorf("the invalid head %q was accepted: %+v", data, c)
		}
	})
}
