package feedback

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func tree(files map[string]string) Files {
	return func(_ context.Context, path string) (string, bool, error) {
		text, ok := files[path]
		return text, ok, nil
	}
}

// A line range that the feedback names is used; otherwise the lines with most of its words. Missing files are
// reported and skipped. The result is deterministic, and no model is asked (FIX-10).
func TestLocalise(t *testing.T) {
	shop := tree(map[string]string{
		"shop.go": strings.Repeat("// filler\n", 20) +
			"func Total(prices []int) int {\n\treturn leaveOutLast(prices)\n}\n",
		"cart/a.py":  "x = 1\n",
		"long.go":    strings.Repeat("line\n", 500),
		"binary.bin": "", // read as text here
	})
	for name, tt := range map[string]struct {
		body  string
		files []string
		want  []string // path:start-end
		skip  []string
	}{
		"a range":                       {"see shop.go:21-22.", []string{"cart/a.py"}, []string{"shop.go:21-22"}, nil},
		"a line":                        {"see shop.go:21", nil, []string{"shop.go:21-21"}, nil},
		"a range beyond the end":        {"shop.go:22-99", nil, []string{"shop.go:22-23"}, nil},
		"a range longer than the limit": {"long.go:1-500", nil, []string{"long.go:1-60"}, nil},
		"two ranges":                    {"shop.go:1-2 and cart/a.py:1", nil, []string{"shop.go:1-2", "cart/a.py:1-1"}, nil},
		"lines that there are not":      {"shop.go:99-100", []string{"cart/a.py"}, []string{"cart/a.py:1-1"}, nil},
		"a range of no file": {"gone.go:1-2", []string{"cart/a.py"}, []string{"cart/a.py:1-1"},
			[]string{"gone.go"}},
		"words": {"Total leaves out the last price", []string{"shop.go"}, []string{"shop.go:17-23"},
			nil},
		"no matching word": {"nonsense", []string{"cart/a.py"}, []string{"cart/a.py:1-1"}, nil},
		"missing files": {"Total", []string{"gone.go", "shop.go", "gone.go"}, []string{"shop.go:17-23"},
			[]string{"gone.go"}},
		"paths that lead out": {"../../etc/passwd:1-2", []string{"/etc/passwd", "../x", ".git/config"}, nil,
			[]string{"../../etc/passwd", "/etc/passwd", "../x", ".git/config"}},
		"an address with a port": {"it is at http://localhost:8080", nil, nil, nil},
		"a time of day":          {"at 12:30 it fails", nil, nil, nil},
		"nothing at all":         {"", nil, nil, nil},
	} {
		got, err := Localise(t.Context(), shop, tt.body, tt.files)
		if err != nil {
			t.Fatal(err)
		}
		var at []string
		for _, p := range got.Places {
			at = append(at, strings.TrimSuffix(strings.TrimPrefix(Places{Places: []Place{p}}.String(), "places: "),
				"; not found: "))
		}
		if !reflect.DeepEqual(at, tt.want) || !reflect.DeepEqual(got.Skipped, tt.skip) {
			t.Errorf("%s: %v, not there %v; want %v, %v", name, at, got.Skipped, tt.want, tt.skip)
		}
		if again, _ := Localise(t.Context(), shop, tt.body, tt.files); !reflect.DeepEqual(got, again) {
			t.Errorf("%s: a second call gives another result", name)
		}
	}
	gone := errors.New("gone")
	if _, err := Localise(t.Context(), func(context.Context, string) (string, bool, error) { return "", false, gone },
		"a.go:1", nil); !errors.Is(err, gone) {
		t.Error(err)
	}
}

// For any feedback, each place is inside its file and inside the repository.
func FuzzLocalise(f *testing.F) {
	f.Add("see a.go:1-2, ../b:3 and /etc/passwd:1", "a.go", "one\ntwo\n")
	f.Add("a.go:0-0 a.go:9999999-1", "../a.go", "")
	f.Fuzz(func(t *testing.T, body, name, text string) {
		got, err := Localise(t.Context(), func(_ context.Context, path string) (string, bool, error) {
			if !localPath(path) {
				t.Errorf("%q was read", path)
			}
			return text, true, nil
		}, body, []string{name})
		if err != nil {
			t.Fatal(err)
		}
		lines := len(strings.Split(strings.TrimSuffix(text, "\n"), "\n"))
		for _, p := range got.Places {
			if p.Start < 1 || p.End < p.Start || p.End > lines || !localPath(p.Path) {
				t.Errorf("%+v of %d lines", p, lines)
			}
		}
	})
}
