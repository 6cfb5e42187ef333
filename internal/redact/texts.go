package redact

import "slices"

// Texts puts each text of a JSON value through hide, however deep it stands, and returns the value. What stands under one
// of the names of keep stays as it is.
func Texts(v any, hide func(string) string, keep ...string) any {
	switch v := v.(type) {
	case string:
		return hide(v)
	case []any:
		for i := range v {
			v[i] = Texts(v[i], hide, keep...)
		}
	case map[string]any:
		for name, x := range v {
			if !slices.Contains(keep, name) {
				v[name] = Texts(x, hide, keep...)
			}
		}
	}
	return v
}
