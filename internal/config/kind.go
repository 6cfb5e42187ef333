package config

import (
	"encoding"
	"fmt"
	"reflect"

	"github.com/pelletier/go-toml/v2"
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
		if t.Elem().Kind() == reflect.String {
			return "a list of texts in [ ]"
		}
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
	return described(v)
}

func described(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("the text %q", v)
	case bool, int64, float64:
		return fmt.Sprint(v)
	case []any:
		for _, e := range v {
			if _, ok := e.(string); !ok {
				return "a list that has " + described(e)
			}
		}
		return "a list"
	case map[string]any:
		return "a table"
	}
	return "another value"
}
