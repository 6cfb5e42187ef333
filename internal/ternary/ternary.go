// Package ternary has the conditional expression that Go lacks.
package ternary

// If returns a if cond is true, else b. Both are evaluated.
func If[T any](cond bool, a, b T) T {
	if cond {
		return a
	}
	return b
}
