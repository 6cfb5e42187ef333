package ternary

import "testing"

func TestIf(t *testing.T) {
	if got := []int{If(true, 1, 2), If(false, 1, 2)}; got[0] != 1 || got[1] != 2 {
		t.Errorf("got %v, want [1 2]", got)
	}
}
