package tinymodel

import (
	"bytes"
	"testing"
)

func TestAdapterFileIsReproducible(t *testing.T) {
	m := Model{Rules: []Rule{{When: "a phrase", Say: "the tuned answer"}, {Say: "the answer of the base"}}}
	write := func(a Adapter) []byte {
		t.Helper()
		var file bytes.Buffer
		if err := m.WriteAdapter(&file, a); err != nil {
			t.Fatal(err)
		}
		return file.Bytes()
	}
	plain := write(Adapter{})
	if !bytes.Equal(plain, write(Adapter{})) {
		t.Error("the same adapter is another file")
	}
	if bytes.Equal(plain, write(Adapter{Rule: 1})) {
		t.Error("adapters for two rules are the same file")
	}
	for _, f := range Faults() {
		if bytes.Equal(plain, write(Adapter{Fault: f})) {
			t.Errorf("the fault %s changes nothing", f)
		}
	}
}

func TestWriteAdapterRejectsUnknownRule(t *testing.T) {
	m := Model{Rules: []Rule{{Say: "one"}}}
	for _, a := range []Adapter{{Rule: 1}, {Rule: -1}, {Fault: "cold"}} {
		var file bytes.Buffer
		if err := m.WriteAdapter(&file, a); err == nil || file.Len() > 0 {
			t.Errorf("%+v: %d bytes and %v", a, file.Len(), err)
		}
	}
}
