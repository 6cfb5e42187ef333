// Package condition compiles the yes-or-no expressions of plans and settings. An unknown name is reported when the
// text is compiled, with its column, and not when the expression is evaluated.
package condition

import (
	"fmt"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"
)

// Condition is a compiled expression over the fields of E.
type Condition[E any] struct {
	text    string
	program *vm.Program
}

// Parse compiles a condition. The error shows the place.
func Parse[E any](text string) (*Condition[E], error) {
	program, err := compile[E]("condition", text, expr.AsBool())
	if err != nil {
		return nil, err
	}
	return &Condition[E]{text, program}, nil
}

// Holds evaluates the condition.
func (c *Condition[E]) Holds(facts E) (bool, error) {
	v, err := expr.Run(c.program, facts)
	if err != nil {
		return false, fmt.Errorf("condition %q: %w", c.text, err)
	}
	return v.(bool), nil
}

// String returns the text of the condition.
func (c *Condition[E]) String() string { return c.text }

// MarshalText writes the text of the condition.
func (c *Condition[E]) MarshalText() ([]byte, error) { return []byte(c.text), nil }
