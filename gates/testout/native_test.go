package testout

import "testing"

// An example that is only compiled did not run, so it cannot take the place of one that ran.
func TestCargoCompiledExamples(t *testing.T) {
	r := Cargo([]string{
		"   Doc-tests calc",
		"test src/lib.rs - add (line 5) - compile ... ok",
		"test src/lib.rs - mul (line 9) ... ok",
		"test src/lib.rs - div (line 13) - compile fail ... ok",
		"test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s",
	})
	want := []Case{
		{Name: "src/lib.rs - add (line 5)", Group: "calc", Status: Skipped},
		{Name: "src/lib.rs - mul (line 9)", Group: "calc", Status: Passed},
		{Name: "src/lib.rs - div (line 13) - compile fail", Group: "calc", Status: Passed},
	}
	if len(r.Cases) != len(want) {
		t.Fatalf("%v", r.Cases)
	}
	for i, c := range r.Cases {
		if c != want[i] {
			t.Errorf("%+v, want %+v", c, want[i])
		}
	}
}
