package scripttest

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"
)

func cmdJSONLines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: jsonlines FILE")
	}
	text := ts.ReadFile(args[0])
	if text == "" || !strings.HasSuffix(text, "\n") {
		ts.Fatalf("%s is empty, or its last line is cut off", args[0])
	}
	n := 0
	for line := range strings.Lines(text) {
		n++
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			ts.Fatalf("%s:%d: %v: %.200q", args[0], n, err, line)
		}
		if at := control(strings.TrimSuffix(line, "\n")); at >= 0 {
			ts.Fatalf("%s:%d: control code at byte %d: %q", args[0], n, at, line)
		}
		eachString(object, func(s string) {
			if at := control(s); at >= 0 {
				ts.Fatalf("%s:%d: control code inside of a string: %q", args[0], n, s)
			}
		})
	}
}

func eachString(v any, do func(string)) {
	switch v := v.(type) {
	case string:
		do(v)
	case []any:
		for _, e := range v {
			eachString(e, do)
		}
	case map[string]any:
		for k, e := range v {
			do(k)
			eachString(e, do)
		}
	}
}

func cmdClean(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: clean FILE")
	}
	text := ts.ReadFile(args[0])
	if at := control(text); at >= 0 {
		ts.Fatalf("%s: control code at byte %d: %q", args[0], at, text[max(0, at-40):min(len(text), at+40)])
	}
}

// control returns the position of the first control code other than a line feed or tab, or -1. Bidirectional control
// characters and invalid UTF-8 count too.
func control(text string) int {
	for i, r := range text {
		_, width := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '\n' || r == '\t':
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == utf8.RuneError && width == 1:
			return i
		}
	}
	return -1
}

func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: json FILE")
	}
	text := ts.ReadFile(args[0])
	v, err := oneJSON(text)
	ts.Check(err)
	if at := control(text); at >= 0 {
		ts.Fatalf("%s: control code at byte %d", args[0], at)
	}
	eachString(v, func(s string) {
		if at := control(s); at >= 0 {
			ts.Fatalf("%s: control code inside of a string: %q", args[0], s)
		}
	})
}

func oneJSON(text string) (v any, err error) {
	dec := json.NewDecoder(strings.NewReader(text))
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("more than one JSON value")
	}
	return v, nil
}

func cmdValue(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || len(args) > 3 || neg && len(args) > 2 {
		ts.Fatalf("usage: value FILE PATH [WANT], or ! value FILE PATH")
	}
	v, err := oneJSON(ts.ReadFile(args[0]))
	ts.Check(err)
	got, ok := at(v, args[1])
	text, _ := json.Marshal(got)
	switch {
	case neg && ok:
		ts.Fatalf("%s: there is %s", args[1], text)
	case neg:
	case !ok:
		ts.Fatalf("%s: there is no such value", args[1])
	case len(args) == 3 && !is(got, args[2]):
		ts.Fatalf("%s is %s, not %s", args[1], text, args[2])
	}
}

func at(v any, path string) (any, bool) {
	for _, name := range strings.Split(path, ".") {
		switch c := v.(type) {
		case map[string]any:
			var ok bool
			if v, ok = c[name]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil { // the report of a gate
				i = slices.IndexFunc(c, func(e any) bool {
					m, ok := e.(map[string]any)
					return ok && m["gate"] == name
				})
			}
			if i < 0 || i >= len(c) {
				return nil, false
			}
			v = c[i]
		default:
			return nil, false
		}
	}
	return v, true
}

func is(v any, want string) bool {
	kind, length, sized := strings.Cut(want, ":")
	switch kind {
	case "string":
		s, ok := v.(string)
		return ok && s != ""
	case "number":
		_, ok := v.(float64)
		return ok
	case "object":
		_, ok := v.(map[string]any)
		return ok
	case "array":
		a, ok := v.([]any)
		return ok && (!sized || strconv.Itoa(len(a)) == length)
	}
	w, err := oneJSON(want)
	return err == nil && reflect.DeepEqual(v, w)
}
