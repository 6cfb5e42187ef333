// Package mutant makes small wrong versions of code: a condition is negated, a call is removed, an error is ignored, a
// part of a change is reverted. It makes them for Go from the syntax tree, and for Python, JavaScript and TypeScript
// with ast-grep. It runs nothing; package mutants runs the tests on each of them.
package mutant
