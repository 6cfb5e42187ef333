package proc

import (
	"os"
	"os/exec"
	"testing"
)

// A file is open while any process has it open, for reading or for writing.
func TestOpened(t *testing.T) {
	for name, how := range map[string]string{
		"for writing": `exec 9>"$1"`,
		"for reading": `>"$1"; exec 9<"$1"`,
	} {
		path, let := holding(t, how)
		if open, known := Opened(path); !open || !known {
			t.Errorf("%s: open %v, known %v", name, open, known)
		}
		let()
		if open, known := Opened(path); open || !known {
			t.Errorf("%s, afterwards: open %v, known %v", name, open, known)
		}
	}
	if _, known := Opened(t.TempDir() + "/none"); known {
		t.Error("a missing file")
	}
}

// A caller in a container finds out that a process outside of it has a file open.
func TestOpenedOutsideContainer(t *testing.T) {
	if path := os.Getenv("RUNPLAN_TEST_OPENED"); path != "" { // this is the one in the container
		if open, known := Opened(path); !open || !known {
			t.Errorf("open %v, known %v", open, known)
		}
		return
	}
	inside := []string{"--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc"}
	if out, err := exec.Command("unshare", append(inside, "true")...).CombinedOutput(); err != nil {
		t.Skipf("no container can be made here: %v %s", err, out)
	}
	path, let := holding(t, `exec 9>"$1"`)
	defer let()
	x := exec.Command("unshare", append(inside, os.Args[0], "-test.run=^TestOpenedOutsideContainer$")...)
	x.Env = append(os.Environ(), "RUNPLAN_TEST_OPENED="+path)
	if out, err := x.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// holding starts another process that keeps a file open until let is called.
func holding(t *testing.T, how string) (path string, let func()) {
	t.Helper()
	path = t.TempDir() + "/lock"
	x := exec.Command("bash", "-c", how+`; echo ready; read -r`, "bash", path)
	in, err := x.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := x.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	return path, func() {
		in.Close()
		_ = x.Wait()
	}
}

// If another kernel may have a file open, the answer of Opened is unknown.
func TestOpenedByOtherKernelIsUnknown(t *testing.T) {
	if _, known := Opened("/proc/self/status"); known {
		t.Error("a file of /proc is known")
	}
}
