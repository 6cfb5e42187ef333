package app

import (
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// Each command is in the file that has its name, so that a reader finds it.
func TestEachCommandHasFile(t *testing.T) {
	shared := map[string]string{"ask": "say", "note": "say", "critical": "say"} // one function makes all three
	for _, g := range commandGroups() {
		for _, c := range g.commands {
			f := runtime.FuncForPC(reflect.ValueOf(c.make).Pointer())
			file, _ := f.FileLine(f.Entry())
			want := strings.ReplaceAll(c.name, "-", "")
			if other, ok := shared[c.name]; ok {
				want = other
			}
			got := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".go"), "_slim") // built with the tag slim
			if got != want {
				t.Errorf("the command %s is in %s.go; move it to %s.go", c.name, got, want)
			}
		}
	}
}
