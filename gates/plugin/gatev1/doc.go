// Package gatev1 is the protocol of gate plugins, version 1, as Go code generated from gate.proto. Authors of gates in
// Go do not need it: they use the module in sdk.
package gatev1

//go:generate go -C ../../../tools/gatev1 run .
