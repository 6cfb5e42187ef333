package main

import (
	"testing"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/gatetest"
	"github.com/runplan/runplan/gates/plugin/plugintest"
)

// Each archive in testdata contains a tree and the expected report of the gate.
func TestArchives(t *testing.T) {
	plugintest.Run(t, "testdata", func() gates.Gate { return &todo{} })
}

func TestWholeTree(t *testing.T) {
	c := plugintest.Case{Unknown: true,
		Files: map[string]string{"a/b.py": "x = 1  # TODO: later\n", "c.bin": "# TODO\x00"}}
	plugintest.Want(t, plugintest.Look(t, &todo{}, c), gates.Fail, "a/b.py:1:10: error todo-owner: this TODO has no owner")
}

func TestConformance(t *testing.T) {
	gatetest.Run(t, func(t *testing.T) (gates.Gate, gates.Subject) {
		dir := plugintest.Tree(t, map[string]string{"a.go": "package a // TODO\n"})
		return plugintest.Gate(t, &todo{}, nil), gates.Subject{Dir: dir}
	})
}
