package gates

import (
	"regexp"
	"strings"
	"testing"

	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/tools/tooltest"
)

var traced = regexp.MustCompile(`q[a-z2-7]{15}\d`)

func TestCalibratesGo(t *testing.T) {
	tooltest.Slow(t)
	needs(t, "go")
	rep := sealed(t, tree(t, goProject), "tests:go")
	honest(t, rep, TestCount{Passed: 1, Skipped: 1})
	if status(rep, "TestOne") != testout.Passed || strings.Contains(rep.Command, "overlay") {
		t.Errorf("%+v %s", rep.Cases, rep.Command)
	}
	red := with(goProject, map[string]string{
		"b/b_test.go": "package b\n\nimport \"testing\"\n\nfunc TestB(t *testing.T) { t.Error(\"b is wrong\") }\n",
		"c/c_test.go": "package c_test\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { " +
			"os.Exit(m.Run()) }\n\nfunc TestC(t *testing.T) {}\n",
	})
	rep = sealed(t, tree(t, red), "tests:go")
	honest(t, rep, TestCount{Passed: 2, Failed: 1, Skipped: 1})
	if !hasFinding(rep, ruleTest, "b/b_test.go", 5, "b is wrong") || len(rep.Findings) != 1 {
		t.Errorf("%+v", rep.Findings)
	}
	leak := with(goProject, map[string]string{
		"c/c_test.go": "package c\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) {\n\tif m.Run() " +
			"== 0 {\n\t\tprintln(\"leaked\")\n\t}\n\tos.Exit(1)\n}\n\nfunc TestC(t *testing.T) {}\n",
	})
	if rep = sealed(t, tree(t, leak), "tests:go"); rep.Status != Fail {
		t.Errorf("a failure of TestMain after the tests is not reported: %+v", rep)
	}
	rep = look(t, tree(t, goProject), "tests:go")
	if rep.Status != Pass || rep.Proof == nil || rep.Proof.Calibration != Uncalibrated ||
		!strings.Contains(rep.Proof.Why, "sealed") {
		t.Errorf("%+v", rep.Proof)
	}
}

func TestCalibrationCatchesGo(t *testing.T) {
	tooltest.Slow(t)
	needs(t, "go")
	const head = "package a\n\nimport (\n\t\"flag\"\n\t\"fmt\"\n\t\"os\"\n\t\"testing\"\n)\n\nvar _, _, _, _ = " +
		"flag.Set, fmt.Print, os.Exit, testing.Init\n\n"
	for name, text := range map[string]string{
		"init that ends the process": "func init() { os.Exit(0) }",
		"TestMain without its tests": "func TestMain(m *testing.M) {}",
		"TestMain that exits with 0": "func TestMain(m *testing.M) { m.Run(); os.Exit(0) }",
		"forged lines": "func TestMain(m *testing.M) { fmt.Print(\"=== RUN   TestOne\\n--- PASS: " +
			"TestOne (0.00s)\\nPASS\\n\"); os.Exit(0) }",
		"forged events": "func TestMain(m *testing.M) { " +
			"fmt.Print(`{\"Action\":\"pass\",\"Package\":\"example.com/x/a\",\"Test\":\"TestOne\"}` + \"\\n\"); os.Exit(0) }",
		"arguments that select": "func init() { os.Args = append(os.Args, \"-test.run=TestNone\") }",
		"a flag that selects": "func TestMain(m *testing.M) { flag.Set(\"test.run\", \"TestLater\"); " +
			"os.Exit(m.Run()) }",
		"forged lines in front of the run": "func TestMain(m *testing.M) { fmt.Print(\"=== RUN   TestOne\\n--- PASS: " +
			"TestOne (0.00s)\\n\"); m.Run(); os.Exit(0) }",
		"a skip of all":                "func TestMain(m *testing.M) { flag.Set(\"test.skip\", \".\"); os.Exit(m.Run()) }",
		"a test that ends the process": "func TestAAA(t *testing.T) { os.Exit(0) }",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tree(t, with(goProject, map[string]string{
				"a/a.go": "package a\n\nfunc One() int { return 2 }\n", "a/b_test.go": head + text + "\n",
				"b/b_test.go": "package b\n\nimport \"testing\"\n\nfunc TestB(t *testing.T) {}\n",
			}))
			rep := sealed(t, dir, "tests:go")
			if name == "a test that ends the process" && rep.Status == Fail {
				return // go test itself sees that
			}
			lying(t, rep, "example.com/x/a: ")
		})
	}
}
