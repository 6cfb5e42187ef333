package training

import (
	"strings"
	"testing"
)

// The name of a file can be a secret too.
func TestSealHidesPaths(t *testing.T) {
	e := Example{Origin: Origin{Files: []File{{Path: "keys/SECRET.txt"}}}}
	got, _ := Guard{Redact: func(s string) string { return strings.ReplaceAll(s, "SECRET", "hidden") }}.Seal(e)
	if p := got.Origin.Files[0].Path; p != "keys/hidden.txt" || e.Origin.Files[0].Path != "keys/SECRET.txt" {
		t.Errorf("%q, the example has %q", p, e.Origin.Files[0].Path)
	}
}
