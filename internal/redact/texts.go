package redact

import "slices"

// Texts applies hide to each string of a JSON value, at any depth, and returns the value. Values under a name in keep
// stay unchanged.
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
