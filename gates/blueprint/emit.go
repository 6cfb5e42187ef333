package blueprint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
)

// YAML formats the blueprint in a fixed form: all keys in their order, no comments. [Parse] reads it back as the same
// blueprint.
func (b *Blueprint) YAML() string {
	var out strings.Builder
	emitStruct(&out, reflect.ValueOf(*b), "", 0, nil)
	return out.String()
}

// emitStruct writes the keys of a struct. lead begins the first line, such as "- " in a list.
func emitStruct(w *strings.Builder, v reflect.Value, lead string, depth int, first []string) {
	pad := strings.Repeat("  ", depth)
	open := func() string {
		s := pad
		if lead != "" {
			s, lead = lead, ""
		}
		return s
	}
	for _, line := range first {
		w.WriteString(open() + line + "\n")
	}
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("yaml")
		if name == "" {
			continue
		}
		f := v.Field(i)
		if need := v.Type().Field(i).Tag.Get("need") != ""; !need && f.IsZero() || !need && f.Kind() == reflect.Slice &&
			f.Len() == 0 {
			continue
		}
		emit(w, f, open()+name+":", depth)
	}
}

// emit writes a value after its key.
func emit(w *strings.Builder, v reflect.Value, head string, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		emit(w, v.Elem(), head, depth)
	case reflect.Struct:
		var inner strings.Builder
		emitStruct(&inner, v, "", depth+1, nil)
		if inner.Len() == 0 {
			w.WriteString(head + " {}\n")
			return
		}
		w.WriteString(head + "\n" + inner.String())
	case reflect.Slice:
		if v.Len() == 0 {
			w.WriteString(head + " []\n")
			return
		}
		w.WriteString(head + "\n")
		pad := strings.Repeat("  ", depth+1)
		for i := range v.Len() {
			item := v.Index(i)
			switch {
			case item.Type() == reflect.TypeFor[Interface]():
				in := item.Interface().(Interface)
				emitStruct(w, in.variant(), pad+"- ", depth+2, []string{"type: " + string(in.Type)})
			case item.Kind() == reflect.Struct:
				emitStruct(w, item, pad+"- ", depth+2, nil)
			default:
				w.WriteString(pad + "- " + scalarText(item) + "\n")
			}
		}
	default:
		w.WriteString(head + " " + scalarText(v) + "\n")
	}
}

// variant returns the one pointer of an interface that is set.
func (i Interface) variant() reflect.Value {
	v := reflect.ValueOf(i)
	for f := range v.NumField() {
		if p := v.Field(f); p.Kind() == reflect.Pointer && !p.IsNil() {
			return p.Elem()
		}
	}
	return reflect.ValueOf(struct{}{})
}

var bareWord = lazyre.New(`^[A-Za-z][A-Za-z0-9 _./()'-]*[A-Za-z0-9_/)]$|^[A-Za-z]$|^/[A-Za-z0-9_./-]*$`)

func scalarText(v reflect.Value) string {
	if v.Kind() != reflect.String {
		return fmt.Sprint(v.Interface())
	}
	return yamlText(v.String())
}

// yamlText writes text so that it is read back as the same text, and as text.
func yamlText(s string) string {
	special := []string{"true", "false", "yes", "no", "on", "off", "null", "y", "n", "nan", "inf"}
	if bareWord.MatchString(s) && !slices.Contains(special, strings.ToLower(s)) {
		return s
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // text can always be encoded
	return strings.TrimRight(b.String(), "\n")
}
