package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// program stands for runplan: it answers what install.sh asks of the binary.
const program = `#!/bin/sh
case $1 in
version) echo "runplan v1.2.3" ;;
esac
`

// built makes a release of [program] for the system of install.sh, without the steps that need the network.
func built(t *testing.T, at target) *release {
	t.Helper()
	t.Chdir(filepath.Join("..", ".."))
	r := &release{
		version: "1.2.3", commit: "c0ffee", date: time.Unix(1_700_000_000, 0).UTC(),
		out: t.TempDir(), work: t.TempDir(), targets: []target{at},
	}
	if err := os.MkdirAll(filepath.Dir(r.binary(at)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.binary(at), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(r.work, "completions"), 0o755); err != nil {
		t.Fatal(err)
	}
	for shell, name := range shells {
		if err := os.WriteFile(filepath.Join(r.work, "completions", name), []byte(shell), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(r.work, "man"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.work, "man", "runplan.1"), []byte(".TH RUNPLAN 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, do := range []func() error{
		func() error { return r.archives(t.Context()) },
		func() error { return r.npm(t.Context()) },
		func() error { return r.manifests(t.Context()) },
		func() error { return r.checksums(t.Context()) },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// here returns the target that install.sh chooses on this machine.
func here(t *testing.T) target {
	t.Helper()
	name := func(args ...string) string {
		out, err := exec.Command("uname", args...).Output()
		if err != nil {
			t.Skip("NOT TESTED: there is no uname")
		}
		return strings.TrimSpace(string(out))
	}
	arch := map[string]string{"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}[name("-m")]
	system := map[string]string{"Linux": "linux", "Darwin": "darwin"}[name("-s")]
	if arch == "" || system == "" {
		t.Skip("NOT TESTED: there is no archive for this system")
	}
	return target{system, arch}
}

// install runs install.sh of a release against its own files.
func install(t *testing.T, r *release, prefix string, args ...string) (string, error) {
	t.Helper()
	served := filepath.Join(t.TempDir(), "latest")
	if err := os.MkdirAll(served, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(r.out, filepath.Join(served, "download")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", append([]string{filepath.Join(r.out, "install.sh")}, args...)...)
	cmd.Env = append(os.Environ(), "PREFIX="+prefix, "RUNPLAN_RELEASES=file://"+filepath.Dir(served))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// files returns the files below dir.
func files(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// install.sh installs what the checksums name, and removes all of it again (REL-02).
func TestInstallAndUninstall(t *testing.T) {
	r, prefix := built(t, here(t)), t.TempDir()
	out, err := install(t, r, prefix)
	if err != nil || !strings.Contains(out, "runplan v1.2.3") {
		t.Fatalf("%v: %s", err, out)
	}
	if n := len(files(t, prefix)); n != 8 {
		t.Errorf("%d files were installed: %q", n, files(t, prefix))
	}
	if out, err := install(t, r, prefix, "--uninstall"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if left := files(t, prefix); len(left) > 0 {
		t.Errorf("left after --uninstall: %q", left)
	}
}

// install.sh installs nothing from an archive that was changed (REL-02).
func TestInstallRefusesAChangedArchive(t *testing.T) {
	at := here(t)
	r, prefix := built(t, at), t.TempDir()
	archive := filepath.Join(r.out, r.name(at)+".tar.gz")
	text, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(archive, append(text, 0), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := install(t, r, prefix); err == nil || !strings.Contains(out, "does not have the checksum") {
		t.Errorf("%v: %s", err, out)
	}
	if left := files(t, prefix); len(left) > 0 {
		t.Errorf("installed: %q", left)
	}
}

// Two builds of the same files have the same bytes (REL-01).
func TestSameBytes(t *testing.T) {
	for _, at := range []target{{"linux", "amd64"}, {"windows", "amd64"}} {
		t.Run(at.os, func(t *testing.T) {
			one := built(t, at)
			t.Chdir("tools/dist")
			two := built(t, at)
			for _, f := range files(t, one.out) {
				a, _ := os.ReadFile(filepath.Join(one.out, f))
				b, err := os.ReadFile(filepath.Join(two.out, f))
				if err != nil || !bytes.Equal(a, b) {
					t.Errorf("%s differs: %v", f, err)
				}
			}
		})
	}
}
