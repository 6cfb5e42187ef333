package condition

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"github.com/runplan/runplan/internal/lazyre"
)

// Names lists the names that an expression over E may use, in the order of its fields. Nested names have a prefix:
// "batch.number".
func Names[E any]() []string { return names("", reflect.TypeFor[E]()) }

func names(lead string, t reflect.Type) []string {
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, ok := f.Tag.Lookup("expr")
		switch {
		case !ok || name == "-":
		case f.Type.Kind() == reflect.Struct:
			out = append(out, names(lead+name+".", f.Type)...)
		case f.Type.Kind() == reflect.Map:
			out = append(out, lead+name+".NAME")
		default:
			out = append(out, lead+name)
		}
	}
	return out
}

// compile compiles an expression over E. what is its name in errors.
func compile[E any](what, text string, options ...expr.Option) (*vm.Program, error) {
	var facts E
	program, err := expr.Compile(text, append([]expr.Option{expr.Env(facts)}, options...)...)
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w", what, text, explained(err, Names[E]()))
	}
	return program, nil
}

var (
	unknown   = lazyre.New(`^unknown name |^type \S+ has no field `)
	wrongType = lazyre.New(`^expected (\w+), but got (.+)$`)
)

// explained adds the permitted names and the expected type to an error.
func explained(err error, names []string) error {
	var e *file.Error
	if !errors.As(err, &e) {
		if m := wrongType.FindStringSubmatch(err.Error()); m != nil {
			return fmt.Errorf("gives %s, but must give %s", kindOf(m[2]), kindOf(m[1]))
		}
		return err
	}
	text := e.Error()
	if m := wrongType.FindStringSubmatch(e.Message); m != nil {
		return errors.New(strings.Replace(text, e.Message, fmt.Sprintf("gives %s, but must give %s", kindOf(m[2]), kindOf(m[1])),
			1))
	}
	if !unknown.MatchString(e.Message) {
		return err
	}
	first, place, shown := strings.Cut(text, "\n")
	first += "; names are " + strings.Join(names, ", ")
	if shown {
		first += "\n" + place
	}
	return errors.New(first)
}

// kindOf names a Go type in words for people.
func kindOf(name string) string {
	switch {
	case name == "string":
		return "text"
	case name == "unknown", name == "nil":
		return "no value"
	case name == "bool":
		return "yes or no"
	case strings.HasPrefix(name, "int"), strings.HasPrefix(name, "uint"), strings.HasPrefix(name, "float"):
		return "a number"
	case strings.HasPrefix(name, "[]"):
		return "a list"
	case strings.HasPrefix(name, "map"), strings.Contains(name, "."):
		return "several values"
	}
	return name
}
