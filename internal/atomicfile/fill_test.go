package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// If Fill fails, the old file remains and nothing else is left.
func TestFill(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.jsonl")
	say := func(text string, err error) error {
		return Fill(path, 0o600, func(w io.Writer) error {
			for range 1000 { // more than a buffer
				if _, err := io.WriteString(w, text); err != nil {
					return err
				}
			}
			return err
		})
	}
	if err := say("first ", nil); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil || len(before) != 6000 {
		t.Fatalf("%d bytes, %v", len(before), err)
	}
	broken := errors.New("broken")
	if err := say("second", broken); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(before), string(after)); d != "" {
		t.Error("the old file was changed")
	}
	if d := cmp.Diff([]string{"a.jsonl"}, names(t, dir)); d != "" {
		t.Error(d)
	}
}

// A file that is swept away while Fill writes it is written again from the beginning.
func TestFillRestartsAfterSweep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	times := 0
	err := Fill(path, 0o644, func(w io.Writer) error {
		if times++; times == 1 {
			if err := Sweep(path); err != nil {
				t.Fatal(err)
			}
		}
		_, err := io.WriteString(w, "whole")
		return err
	})
	got, rerr := os.ReadFile(path)
	if err := errors.Join(err, rerr); err != nil || string(got) != "whole" || times != 2 {
		t.Errorf("%q after %d times, %v", got, times, err)
	}
}
