package store

import (
	"context"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"
	"time"
)

// hostile is a text that would change an SQL statement, in any kind of quotes.
const hostile = "x'\" OR 1=1); DROP TABLE files; -- `[*?"

// Text from outside never becomes part of SQL, whether it is a file name, a pattern, a kind, a stage, a direction or
// an order (DB-11). No method of a store that gets such text breaks its SQL; each refusal is about the value.
func TestTextIsNeverSQL(t *testing.T) {
	dir := t.TempDir()
	path, _ := filled(t)
	curated, err := OpenCurated(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer curated.Close()
	training, log, raw := trained(t)
	journal := opened(t, raw)
	inbox, err := OpenInbox(t.Context(), filepath.Join(dir, "inbox.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer inbox.Close()
	audit, _ := auditAt(t)
	tx, err := curated.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, s := range []any{tx, curated, journal, log, training, openFeedback(t), inbox, audit,
		session(t, filepath.Join(dir, "sessions"), "r/1")} {
		v := reflect.ValueOf(s)
		for i := range v.NumMethod() {
			name := v.Type().Elem().Name() + "." + v.Type().Method(i).Name
			// the result of Begin is tested separately, and Save takes a file name
			if n := v.Type().Method(i).Name; n == "Close" || n == "Begin" || n == "Save" {
				continue
			}
			args, ok := arguments(t, v.Method(i).Type())
			if !ok {
				continue
			}
			tried++
			for _, out := range v.Method(i).Call(args) {
				if err := firstError(out); err != nil && spoilt.MatchString(err.Error()) {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		if c, ok := s.(*CuratedTx); ok {
			c.Rollback()
		}
	}
	if tried < 80 {
		t.Errorf("only %d ways into the stores were tried", tried)
	}
	var files int
	if err := curated.db.QueryRow("SELECT count(*) FROM files").Scan(&files); err != nil || files != 2 {
		t.Errorf("%d files are left: %v", files, err)
	}
}

// spoilt matches the errors that SQLite reports for SQL broken by injected text.
var spoilt = regexp.MustCompile(`syntax error|unrecognized token|incomplete input|no such (?:column|table|function)|You can only execute one statement`)

// arguments returns hostile values for all parameters that take text; it returns false if a parameter is a function
// or an interface.
func arguments(t *testing.T, method reflect.Type) ([]reflect.Value, bool) {
	var out []reflect.Value
	for i := range method.NumIn() {
		in := method.In(i)
		if in == reflect.TypeFor[context.Context]() {
			out = append(out, reflect.ValueOf(t.Context()))
			continue
		}
		v := reflect.New(in).Elem()
		if !fill(v) {
			return nil, false
		}
		if method.IsVariadic() && i == method.NumIn()-1 {
			v = v.Index(0)
		}
		out = append(out, v)
	}
	return out, true
}

func fill(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		v.SetString(hostile)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		return v.Type().Elem().Kind() == reflect.Uint8 || fill(v.Index(0))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return fill(v.Elem())
	case reflect.Interface:
		if v.NumMethod() > 0 {
			return false
		}
		v.Set(reflect.ValueOf(hostile))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1, 0)))
			return true
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() && !fill(v.Field(i)) {
				return false
			}
		}
	case reflect.Map, reflect.Uint8, reflect.Array:
	default:
		return false
	}
	return true
}

// firstError returns the error in a result, or the first error of a sequence.
func firstError(out reflect.Value) error {
	if err, ok := out.Interface().(error); ok {
		return err
	}
	if out.Kind() == reflect.Func && out.Type().CanSeq2() {
		for _, last := range out.Seq2() {
			if err, ok := last.Interface().(error); ok {
				return err
			}
		}
	}
	return nil
}
