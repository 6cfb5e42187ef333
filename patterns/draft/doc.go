// Package draft turns lessons into ast-grep rules. A template gives the candidates, and ast-grep decides: a rule is
// kept only if it finds the bad example of the lesson and does not find the good one. The log says for each lesson
// which rule it became, or why none.
package draft
