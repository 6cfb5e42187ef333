package local

import (
	"os"
	"path/filepath"
	"testing"
)

// Consecutive runs use the same folder for their rooms, so that Go finds packages that it compiled for an earlier run.
// Simultaneous runs use different ones. What a killed run or another program left there is removed.
func TestRoomsTakeFirstFreeFolder(t *testing.T) {
	b := newBench(t)
	home, elsewhere := t.TempDir(), t.TempDir()
	open := func() *Rooms {
		t.Helper()
		r, err := NewRooms(t.Context(), home, b.Repo, b.Layout, Setup{none: true}, os.Environ(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	done := func(r *Rooms) {
		t.Helper()
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	one, two := open(), open()
	first, second := one.Dir, two.Dir
	if first == second {
		t.Errorf("two open pools share %s", first)
	}
	done(one)
	if err := os.Symlink(elsewhere, first); err != nil {
		t.Fatal(err)
	}
	one = open()
	if info, err := os.Lstat(first); one.Dir != first || err != nil || !info.IsDir() {
		t.Errorf("%s, not %s; %v", one.Dir, first, err)
	}
	one.lock.Release() // as if it was killed
	if err := os.WriteFile(filepath.Join(first, "stale"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	again := open()
	if _, err := os.Lstat(filepath.Join(first, "stale")); again.Dir != first || err == nil {
		t.Errorf("%s, not %s, or a file of the killed run is there", again.Dir, first)
	}
	done(again)
	done(two)
	if left, _ := os.ReadDir(filepath.Dir(filepath.Dir(second))); len(left) > 0 {
		t.Errorf("it leaves %v", left)
	}
}

// What a killed run left of its rooms is removed, and the build cache of the next gates stays.
func TestBuildCacheIsNoLeftoverRoom(t *testing.T) {
	b := newBench(t)
	home := t.TempDir()
	of := roomsOf(home, b.Repo, b.Layout)
	for _, dir := range []string{"1", "go-build"} {
		if err := os.MkdirAll(filepath.Join(of, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if left := RoomLeftovers(home, b.Repo, b.Layout); len(left) != 1 || left[0].Name != filepath.Join(of, "1") {
		t.Errorf("leftovers: %+v", left)
	}
	if err := sweepRooms(t.Context(), home, b.Repo, b.Layout); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(of, "1")); err == nil {
		t.Error("the rooms are still there")
	}
	if _, err := os.Stat(filepath.Join(of, "go-build")); err != nil {
		t.Error(err)
	}
}
