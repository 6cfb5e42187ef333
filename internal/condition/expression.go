package condition

import (
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"
)

// Expression is a compiled expression over the fields of E with a value of type V.
type Expression[E, V any] struct {
	text    string
	program *vm.Program
	value   func(result any) (V, error)
}

// parse compiles an expression. The error shows the place. value converts its result.
func parse[E, V any](text string, value func(any) (V, error), options ...expr.Option) (*Expression[E, V], error) {
	program, err := compile[E]("expression", text, options...)
	if err != nil {
		return nil, err
	}
	return &Expression[E, V]{text, program, value}, nil
}

// ParseNumber compiles an expression with a numeric value, including fractions.
func ParseNumber[E any](text string) (*Expression[E, float64], error) {
	return parse[E](text, func(v any) (float64, error) {
		if f, ok := v.(float64); ok && !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f, nil
		}
		return 0, notNumber(v)
	}, expr.AsFloat64())
}

func notNumber(v any) error {
	return fmt.Errorf("%v is not a number; check it for a division by zero", v)
}

// ParseText compiles an expression whose value is a string.
func ParseText[E any](text string) (*Expression[E, string], error) {
	return parse[E](text, func(v any) (string, error) {
		if s, ok := v.(string); ok {
			return s, nil
		}
		return "", fmt.Errorf("its value is %v, expected a string", v)
	}, expr.AsKind(reflect.String))
}

// Value evaluates the expression. A division by zero is an error.
func (e *Expression[E, V]) Value(facts E) (value V, err error) {
	v, err := expr.Run(e.program, facts)
	if err == nil {
		value, err = e.value(v)
	}
	if err != nil {
		err = fmt.Errorf("expression %q: %w", e.text, err)
	}
	return value, err
}

// String returns the text of the expression.
func (e *Expression[E, V]) String() string { return e.text }

// ParseInteger compiles an expression whose value is a whole number.
//
// The operators + - * / compute with whole numbers if both sides are whole: division rounds down, and overflow
// saturates at the largest or smallest int. With a fraction on either side they compute with fractions. The final value
// is rounded down.
func ParseInteger[E any](text string) (*Expression[E, int], error) {
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
		call := func(args ...any) (any, error) { return o.do(args[0].(int), args[1].(int)) }
		options = append(options, expr.Function(o.name, call, new(func(int, int) int)), expr.Operator(o.sign, o.name))
	}
	e, err := parse[E](text, wholeNumber, options...)
	if err != nil {
		return nil, err
	}
	if t := e.program.Node().Type(); t == nil || t.Kind() < reflect.Int || t.Kind() > reflect.Float64 {
		return nil, fmt.Errorf("expression %q: is a %v, expected a number (1:1)", text, t)
	}
	return e, nil
}

// wholeNumber rounds a number down, within the bounds of an int.
func wholeNumber(v any) (int, error) {
	switch n := reflect.ValueOf(v); {
	case n.CanInt():
		return int(n.Int()), nil
	case n.CanUint():
		return int(min(n.Uint(), math.MaxInt)), nil
	case n.CanFloat() && !math.IsNaN(n.Float()) && !math.IsInf(n.Float(), 0):
		f := math.Floor(n.Float())
		switch {
		case f >= math.MaxInt:
			return math.MaxInt, nil
		case f <= -math.MaxInt:
			return -math.MaxInt, nil
		}
		return int(f), nil
	}
	return 0, notNumber(v)
}
