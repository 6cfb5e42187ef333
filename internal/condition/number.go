package condition

import (
	"fmt"
	"math"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"
)

// Number is a compiled expression over the fields of E with a numeric value, including fractions.
type Number[E any] struct {
	text    string
	program *vm.Program
}

// ParseNumber compiles an expression. The error shows the place.
func ParseNumber[E any](text string) (*Number[E], error) {
	program, err := compile[E]("expression", text, expr.AsFloat64())
	if err != nil {
		return nil, err
	}
	return &Number[E]{text, program}, nil
}

// Value evaluates the expression. A division by zero is an error.
func (c *Number[E]) Value(facts E) (float64, error) {
	v, err := expr.Run(c.program, facts)
	if err != nil {
		return 0, fmt.Errorf("expression %q: %w", c.text, err)
	}
	f, ok := v.(float64)
	if !ok || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, fmt.Errorf("expression %q: %v is not a number; check it for a division by zero", c.text, v)
	}
	return f, nil
}
