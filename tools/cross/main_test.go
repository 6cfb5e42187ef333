package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An error in code for one system, or in a test of it, fails for this system and for no other.
func TestErrorsOfOneSystem(t *testing.T) {
	const only = "package m\n\nimport \"os\"\n\n"
	tests := map[string]struct{ path, text, want string }{
		"valid code":       {"a_windows.go", only + "var args = os.Args\n", ""},
		"a missing name":   {"a_windows.go", only + "var args = os.Arguments\n", "undefined: os.Arguments"},
		"a body":           {"a_windows.go", only + "func f() int { return os.Args }\n", "cannot use os.Args"},
		"a test":           {"a_windows_test.go", only + "var args = os.Arguments\n", "undefined: os.Arguments"},
		"a syntax error":   {"a_windows.go", only + "func {\n", "expected"},
		"another build":    {"a.go", "//go:build windows\n\n" + only + "var n int = os.Args\n", "cannot use os.Args"},
		"a missing import": {"a_windows.go", "package m\n\nimport _ \"no/such\"\n", "no/such"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for path, text := range map[string]string{"go.mod": "module m\n\ngo 1.24\n", "m.go": "package m\n", tt.path: tt.text} {
				if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var said strings.Builder
			_, err := check(dir, "windows/amd64", said.WriteString)
			if (err != nil) != (tt.want != "") || !strings.Contains(said.String(), tt.want) {
				t.Errorf("error %v; reported %q, want %q", err, said.String(), tt.want)
			}
			if n, err := check(dir, "linux/arm64", said.WriteString); err != nil || n == 0 {
				t.Errorf("the other system: %d packages, error %v", n, err)
			}
		})
	}
}
