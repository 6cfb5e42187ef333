package condition

import (
	"fmt"
	"reflect"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"
)

// Text is a compiled expression over the fields of E whose value is a string.
type Text[E any] struct {
	text    string
	program *vm.Program
}

// ParseText compiles an expression. The error shows the place.
func ParseText[E any](text string) (*Text[E], error) {
	program, err := compile[E]("expression", text, expr.AsKind(reflect.String))
	if err != nil {
		return nil, err
	}
	return &Text[E]{text, program}, nil
}

// Value evaluates the expression.
func (c *Text[E]) Value(facts E) (string, error) {
	v, err := expr.Run(c.program, facts)
	if err != nil {
		return "", fmt.Errorf("expression %q: %w", c.text, err)
	}
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("expression %q: its value is %v, expected a string", c.text, v)
	}
	return s, nil
}
