// Package gatev1 has the messages of gate plugins, version 1, generated from gates/plugin/gatev1/gate.proto.
package gatev1
