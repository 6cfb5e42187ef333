package condition

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"reflect"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"
)

// Integer is a compiled expression over the fields of E whose value is a whole number.
//
// The operators + - * / compute with whole numbers if both sides are whole: division rounds down, and overflow
// saturates at the largest or smallest int. With a fraction on either side they compute with fractions. The final value
// is rounded down.
type Integer[E any] struct {
	text    string
	program *vm.Program
}

// ParseInteger compiles an expression. The error shows the place.
func ParseInteger[E any](text string) (*Integer[E], error) {
	var options []expr.Option
	for _, o := range []struct {
		sign, name string
		do         func(a, b int) (int, error)
	}{
		// No name in an expression has this form, so only the operators call them.
		{"+", "a+b", func(a, b int) (int, error) { return Add(a, b), nil }},
		{"-", "a-b", func(a, b int) (int, error) { return Add(a, -max(b, -math.MaxInt)), nil }},
		{"*", "a*b", func(a, b int) (int, error) { return Mul(a, b), nil }},
		{"/", "a/b", func(a, b int) (int, error) {
			if b == 0 {
				return 0, errors.New("division by zero")
			}
			return FloorDiv(a, b), nil
		}},
	} {
		do := o.do
		call := func(args ...any) (any, error) { return do(args[0].(int), args[1].(int)) }
		options = append(options, expr.Function(o.name, call, new(func(int, int) int)), expr.Operator(o.sign, o.name))
	}
	program, err := compile[E]("expression", text, options...)
	if err != nil {
		return nil, err
	}
	if t := program.Node().Type(); t == nil || !isNumber(t.Kind()) {
		return nil, fmt.Errorf("expression %q: is a %v, expected a number (1:1)", text, t)
	}
	return &Integer[E]{text, program}, nil
}

func isNumber(k reflect.Kind) bool { return k >= reflect.Int && k <= reflect.Float64 }

// Value evaluates the expression. A division by zero is an error.
func (c *Integer[E]) Value(facts E) (int, error) {
	v, err := expr.Run(c.program, facts)
	if err != nil {
		return 0, fmt.Errorf("expression %q: %w", c.text, err)
	}
	switch n := reflect.ValueOf(v); {
	case n.CanInt():
		return int(n.Int()), nil
	case n.CanUint():
		return int(min(n.Uint(), math.MaxInt)), nil
	case n.CanFloat() && !math.IsNaN(n.Float()) && !math.IsInf(n.Float(), 0):
		return whole(n.Float()), nil
	}
	return 0, fmt.Errorf("expression %q: %v is not a number; check it for a division by zero", c.text, v)
}

// whole rounds down, within the bounds of an int.
func whole(f float64) int {
	switch f = math.Floor(f); {
	case f >= math.MaxInt:
		return math.MaxInt
	case f <= -math.MaxInt:
		return -math.MaxInt
	}
	return int(f)
}

// String returns the text of the expression.
func (c *Integer[E]) String() string { return c.text }

// Add returns a+b, or the largest int or its negative if the sum overflows. The limits are symmetric, so every number
// can be negated.
func Add(a, b int) int {
	switch {
	case b > 0 && a > math.MaxInt-b:
		return math.MaxInt
	case b < 0 && a < -math.MaxInt-b:
		return -math.MaxInt
	}
	return a + b
}

// Mul returns a*b, bounded like [Add].
func Mul(a, b int) int {
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	n := math.MaxInt
	if hi == 0 && lo < math.MaxInt {
		n = int(lo)
	}
	if (a < 0) != (b < 0) {
		return -n
	}
	return n
}

func magnitude(n int) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// FloorDiv returns a/b rounded down. It panics where b is 0, as / does.
func FloorDiv(a, b int) int {
	a, b = max(a, -math.MaxInt), max(b, -math.MaxInt)
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}
