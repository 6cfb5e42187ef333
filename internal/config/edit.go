package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/runplan/runplan/internal/lazyre"
)

var (
	tableLine = lazyre.New(`^\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?$`)
	arrayLine = lazyre.New(`^\s*\[\[`)
	keyLine   = lazyre.New(`^\s*([A-Za-z0-9_.-]+)\s*=\s*(.*?)(\s+#[^"']*)?$`)
)

// ErrByHand reports that a file has a key in a form that [Edit] does not change.
var ErrByHand = errors.New("the key is written over several lines or in an inline table; edit the file by hand")

// Edit sets a key in the text of a configuration file, or removes it if value is nil. It keeps comments and the order
// of other keys. value is text as a user gives it: a string needs no quotes, and a list is written as in TOML.
func Edit(text []byte, key string, value *string) ([]byte, error) {
	literal := ""
	if value != nil {
		var err error
		if literal, err = literalOf(key, *value); err != nil {
			return nil, err
		}
	}
	lines := strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n")
	lines = edited(lines, key, literal, value == nil)
	if lines[len(lines)-1] != "" {
		lines = append(lines, "") // the file ends with a line feed
	}
	out := []byte(strings.Join(lines, "\n"))
	if err := onlyChanged(text, out, key, literal); err != nil {
		return nil, err
	}
	return out, nil
}

// literalOf writes a value as TOML, by the type of its key.
func literalOf(key, value string) (string, error) {
	c := Default()
	v, ok := flatten(reflect.ValueOf(&c).Elem())[key]
	switch {
	case !known(key):
		return "", unknown("setting", key)
	case ok:
		if err := set(v, value); err != nil {
			return "", fmt.Errorf("%s = %q: %w", key, value, err)
		}
		if k := v.Kind(); k == reflect.Bool || k == reflect.Int || k == reflect.Float64 {
			return value, nil
		}
	case strings.HasPrefix(value, "[") || strings.HasPrefix(value, "{"):
		return value, nil // the check of the whole file reports the error
	}
	return strconv.Quote(value), nil
}

// known reports whether a key is a setting, or a value of one that is a table.
func known(key string) bool {
	return slices.ContainsFunc(Describe(), func(k Key) bool { return k.named(key) })
}

// named reports whether a key is k, in which NAME stands for any name, or a value of the table k.
func (k Key) named(key string) bool {
	want, have := strings.Split(k.Key, "."), strings.Split(key, ".")
	if k.table {
		want = append(want, "NAME")
	}
	if len(want) != len(have) || strings.Contains(k.Key, "[") {
		return false
	}
	for i := range want {
		if want[i] != have[i] && want[i] != "NAME" {
			return false
		}
	}
	return true
}

// edited returns the lines with the key set or removed.
func edited(lines []string, key, literal string, remove bool) []string {
	dot := strings.LastIndexByte(key, '.')
	table, name := key[:max(dot, 0)], key[dot+1:]
	current, head := "", -1
	for i, line := range lines {
		if m := tableLine.FindStringSubmatch(line); m != nil {
			if current = m[1]; current == table {
				head = i
			}
			continue
		}
		if arrayLine.MatchString(line) {
			current = "[[]]"
			continue
		}
		m := keyLine.FindStringSubmatch(line)
		if m == nil || !(current == table && m[1] == name || current == "" && m[1] == key) {
			continue
		}
		if remove {
			return slices.Delete(lines, i, i+1)
		}
		lines[i] = m[1] + " = " + literal + m[3]
		return lines
	}
	switch line := name + " = " + literal; {
	case remove:
		return lines
	case head >= 0:
		return slices.Insert(lines, head+1, line)
	case len(strings.TrimSpace(strings.Join(lines, ""))) == 0:
		return []string{"[" + table + "]", line, ""}
	default:
		for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
			lines = lines[:len(lines)-1]
		}
		return append(lines, "", "["+table+"]", line, "")
	}
}

// onlyChanged checks that the new text differs from the old one only in this key.
func onlyChanged(before, after []byte, key, literal string) error {
	was, invalid := keysIn("", before)
	is, err := keysIn("", after)
	if err != nil && invalid != nil {
		return fmt.Errorf("the file is not valid: %w", toml.Unmarshal(before, &was))
	} else if err != nil {
		return ErrByHand
	}
	if _, had := was[key]; literal == "" && !had && !known(key) {
		return unknown("setting", key)
	}
	_, there := is[key]
	if there != (literal != "") {
		return ErrByHand
	}
	delete(was, key)
	delete(is, key)
	for k := range was {
		if v, ok := is[k]; !ok && !strings.HasPrefix(key, k+".") || ok && !reflect.DeepEqual(v, was[k]) {
			return ErrByHand
		}
	}
	return nil
}
