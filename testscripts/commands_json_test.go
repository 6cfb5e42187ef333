package testscripts

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// allCommands returns the commands of this package's scripts.
func allCommands() map[string]func(*testscript.TestScript, bool, []string) {
	all := commands()
	maps.Copy(all, jsonCommands())
	maps.Copy(all, ollamaCommands())
	maps.Copy(all, rowsCommands())
	maps.Copy(all, adapterCommands())
	maps.Copy(all, lineCommands())
	maps.Copy(all, httpCommands())
	maps.Copy(all, listenCommands())
	return all
}

// jsonCommands returns the commands that check JSON output.
func jsonCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		// json FILE|stdout: check that it is one JSON value, without control codes.
		"json": cmdJSON,
		// value FILE|stdout PATH [WANT]: check that the value at PATH ("runs.0.batches", "gates.tests:go.status") is
		// WANT: a JSON value, or the name of a type: string, number, array, object. "array:3" also checks the length.
		"value": cmdValue,
	}
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
