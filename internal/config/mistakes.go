package config

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hbollon/go-edlib"
	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// takes describes the values of a key in the words of a user; "" if the key is unknown.
func takes(t reflect.Type, key []string) string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && len(key) > 0 {
		t = t.Elem()
	}
	if len(key) > 0 {
		switch t.Kind() {
		case reflect.Map:
			return takes(t.Elem(), key[1:])
		case reflect.Struct:
			for i := range t.NumField() {
				if t.Field(i).Tag.Get("toml") == key[0] {
					return takes(t.Field(i).Type, key[1:])
				}
			}
		}
		return ""
	}
	switch {
	case t == reflect.TypeFor[Duration]():
		return `a duration such as "90s" or "30m"`
	case t == reflect.TypeFor[TimeShare]():
		return `a duration such as "1m" or a percentage such as "25%"`
	case reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return "a text in quotes"
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text in quotes"
	case reflect.Slice:
		return "a list in [ ]"
	case reflect.Map, reflect.Struct:
		return "a table of keys"
	}
	return ""
}

// given describes the value that a file sets.
func given(data []byte, key []string) string {
	var v any
	if toml.Unmarshal(data, &v) != nil {
		return "another value"
	}
	for _, name := range key {
		table, ok := v.(map[string]any)
		if !ok {
			return "another value"
		}
		v = table[name]
	}
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("the text %q", v)
	case bool, int64, float64:
		return fmt.Sprint(v)
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	}
	return "another value"
}

// Nearest returns the known key closest to a mistyped one, or "" if none is close. A * in a known key matches the
// word at that place in the mistyped key.
func Nearest(key string, known []string) string {
	best, bestAt := "", len(key)/3+2
	words := strings.Split(key, ".")
	if known := other(words); known != "" {
		return known
	}
	for _, k := range known {
		parts := strings.Split(k, ".")
		for i := range parts {
			if parts[i] == "*" && i < len(words) {
				parts[i] = words[i]
			}
		}
		candidate := strings.Join(parts, ".")
		d := edlib.LevenshteinDistance(key, candidate)
		// The same word in another section counts as close.
		if parts[len(parts)-1] == words[len(words)-1] {
			d = min(d, 1)
		}
		if d < bestAt {
			best, bestAt = candidate, d
		}
	}
	return best
}

// Similar returns the known word that a mistyped one resembles, or "".
func Similar(word string, known []string) string {
	best, bestAt := "", min(3, len(word)/2+1)
	for _, k := range known {
		if d := edlib.LevenshteinDistance(word, k); d < bestAt {
			best, bestAt = k, d
		}
	}
	return best
}

// other returns the key for a word that is used elsewhere for the same: the command of a gate is its key run, the
// program of an agent its key command.
func other(words []string) string {
	section, last := strings.Join(words[:len(words)-1], "."), words[len(words)-1]
	commands := []string{"command", "cmd", "run", "exec", "script", "shell"}
	switch {
	case section == "gates.command" && slices.Contains(commands, last):
		return "gates.command.run"
	case len(words) == 3 && words[0] == "agents" && slices.Contains(commands, last):
		return section + ".command"
	}
	return ""
}

// came records that keys came from a file with that text, and their lines.
func (l *Loaded) came(file string, text []byte, keys map[string]any) {
	for k := range keys {
		l.Sources[k] = file
	}
	if l.lines == nil {
		l.lines = map[string]map[string]int{}
	}
	l.lines[file] = linesOf(text)
}

// where returns [Loaded.Source] with the line of the key, or of its table, for error messages.
func (l *Loaded) where(key string) string {
	source := l.Source(key)
	for at := len(key); at > 0; at = strings.LastIndexByte(key[:at], '.') {
		if n := l.lines[source][key[:at]]; n > 0 {
			return fmt.Sprintf("%s:%d", source, n)
		}
	}
	return source
}

// linesOf returns the line of each key and each table in a file, by dotted key. It omits arrays of tables, whose
// tables have the same name.
func linesOf(text []byte) map[string]int {
	lines := map[string]int{}
	var p unstable.Parser
	p.Reset(text)
	table := ""
	for p.NextExpression() {
		e := p.Expression()
		var names []string
		line := 0
		for it := e.Key(); it.Next(); {
			names = append(names, string(it.Node().Data))
			line = p.Shape(it.Node().Raw).Start.Line
		}
		key := strings.Join(names, ".")
		switch e.Kind {
		case unstable.Table:
			table = key + "."
		case unstable.ArrayTable:
			table = "[]." // a name that is not a key
			continue
		case unstable.KeyValue:
			key = table + key
		}
		lines[key] = line
	}
	return lines
}
