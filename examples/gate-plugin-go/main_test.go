package main

import (
	"testing"

	"github.com/runplan/runplan/sdk/gate"
	"github.com/runplan/runplan/sdk/gate/gatetest"
)

func newGate() gate.Gate { return &todo{} }

// Each archive in testdata contains a tree and the expected report of the gate.
func TestArchives(t *testing.T) {
	gatetest.Run(t, "testdata", newGate)
}

func TestWholeTree(t *testing.T) {
	c := gatetest.Case{Unknown: true,
		Files: map[string]string{"a/b.py": "x = 1  # TODO: later\n", "c.bin": "# TODO\x00"}}
	gatetest.Want(t, gatetest.Look(t, newGate(), c), gate.Fail, "a/b.py:1:10: error todo-owner: this TODO has no owner")
}

func TestConformance(t *testing.T) {
	gatetest.Conform(t, gatetest.Case{Files: map[string]string{"a.go": "package a // TODO\n"}}, newGate)
}
