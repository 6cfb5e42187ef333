package gates

import (
	"testing"

	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/tools/tooltest"
)

func TestCalibratesCargo(t *testing.T) {
	tooltest.Slow(t)
	needs(t, "cargo")
	files := map[string]string{
		"Cargo.toml": "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
		"src/lib.rs": "pub fn add(a: i32, b: i32) -> i32 { a + b }\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn " +
			"adds() { assert_eq!(super::add(1, 2), 3); }\n\n    #[test]\n    #[ignore]\n    fn later() {}\n}\n",
	}
	rep := sealed(t, tree(t, files), "tests:rust")
	honest(t, rep, TestCount{Passed: 1, Skipped: 1})
	if status(rep, "tests::adds") != testout.Passed {
		t.Errorf("%+v", rep.Cases)
	}
	files["src/lib.rs"] = "pub fn add(a: i32, b: i32) -> i32 { a - b }\n\n#[test]\nfn adds() { assert_eq!(add(1, 2), " +
		"3); }\n"
	honest(t, sealed(t, tree(t, files), "tests:rust"), TestCount{Failed: 1})
}

func TestShellAndMakeAreUncalibrated(t *testing.T) {
	shell := tree(t, map[string]string{"tests/test-a.sh": "echo 'ok 1 - one'; echo 1..1\n"})
	made := tree(t, map[string]string{"Makefile": "test:\n\t@echo '2 passed, 0 failed'\n"})
	for name, dir := range map[string]string{"tests:shell": shell, "tests:make": made} {
		rep := sealed(t, dir, name)
		if rep.Status != Pass || rep.Proof == nil || rep.Proof.Calibration != Uncalibrated || rep.Proof.Why == "" {
			t.Errorf("%s: %s %+v", name, rep.Status, rep.Proof)
		}
	}
	gate := Builtin(t.TempDir(), Settings{Commands: []CommandGate{{Name: "tests", Shell: "echo 1 passed, 0 failed"}}})
	rep, err := find(t, gate, "tests").Check(t.Context(), Subject{Dir: t.TempDir(), Sealed: true})
	if err != nil || rep.Proof == nil || rep.Proof.Calibration != Uncalibrated {
		t.Errorf("%v %+v", err, rep.Proof)
	}
}
