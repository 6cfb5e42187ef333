package main

import (
	"archive/zip"
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

// program replaces runplan: it answers the command that install.sh runs.
const program = `#!/bin/sh
case $1 in
version) echo "runplan v1.2.3" ;;
esac
`

// built makes a release of [program] for some targets, without the steps that need the network.
func built(t *testing.T, targets ...target) *release {
	t.Helper()
	t.Chdir(filepath.Join("..", ".."))
	r := &release{
		version: "1.2.3", commit: "c0ffee", date: time.Unix(1_700_000_000, 0).UTC(),
		out: t.TempDir(), work: t.TempDir(), targets: targets,
	}
	for _, at := range targets {
		if err := os.MkdirAll(filepath.Dir(r.binary(at)), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, binary := range []string{r.binary(at), r.trainer(at)} {
			if err := os.WriteFile(binary, []byte(program+"# "+at.String()+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
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
		func() error { return r.signature(t.Context()) },
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

// install runs the install.sh of a release against the files of that release.
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

// install.sh installs the archive that the checksums name, and --uninstall removes all of it again (REL-02).
func TestInstallAndUninstall(t *testing.T) {
	r, prefix := built(t, here(t)), filepath.Join(t.TempDir(), "new", "prefix")
	for range 2 { // the second time over the first
		out, err := install(t, r, prefix)
		if err != nil || !strings.Contains(out, "runplan v1.2.3") {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if n := len(files(t, prefix)); n != 8 {
		t.Errorf("%d files were installed: %q", n, files(t, prefix))
	}
	if out, err := install(t, r, prefix, "--uninstall"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := os.Stat(prefix); !os.IsNotExist(err) {
		t.Errorf("left after --uninstall: %q", files(t, prefix))
	}
}

// install.sh installs nothing from an archive that was changed (REL-02).
func TestInstallRefusesChangedArchive(t *testing.T) {
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
func TestBuildIsReproducible(t *testing.T) {
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

// everywhere returns all targets of a release.
func everywhere() (all []target) {
	for _, t := range strings.Fields(allTargets) {
		system, arch, _ := strings.Cut(t, "/")
		all = append(all, target{system, arch})
	}
	return all
}

// The Scoop manifest names the Windows archives with their checksums, and a program that each archive contains
// (REL-06).
func TestScoopManifest(t *testing.T) {
	r := built(t, everywhere()...)
	text, err := os.ReadFile(filepath.Join(r.out, "runplan.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Version, Bin string
		Architecture map[string]struct {
			URL, Hash string
			Dir       string `json:"extract_dir"`
		}
	}
	if err := json.Unmarshal(text, &m); err != nil || m.Version != "1.2.3" || len(m.Architecture) != 2 {
		t.Fatalf("%v: %s", err, text)
	}
	for bits, arch := range map[string]string{"64bit": "amd64", "arm64": "arm64"} {
		a := m.Architecture[bits]
		name, ok := strings.CutPrefix(a.URL, homepage+"/releases/download/v1.2.3/")
		if sum, err := r.sum(name); !ok || err != nil || sum != a.Hash || !strings.Contains(name, "windows_"+arch) {
			t.Errorf("%s: %+v, and the checksum is %s (%v)", bits, a, sum, err)
		}
		z, err := zip.OpenReader(filepath.Join(r.out, name))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(z.File, func(f *zip.File) bool { return f.Name == a.Dir+"/"+m.Bin }) {
			t.Errorf("%s has no %s/%s", name, a.Dir, m.Bin)
		}
		z.Close()
	}
}

// The Homebrew formula names each archive of macOS and Linux with its checksum, and installs only files that the
// archive contains (REL-06).
func TestHomebrewFormula(t *testing.T) {
	r := built(t, everywhere()...)
	text, err := os.ReadFile(filepath.Join(r.out, "runplan.rb"))
	if err != nil {
		t.Fatal(err)
	}
	archives := regexp.MustCompile(`(?s)on_(macos|linux) do|on_(arm|intel) do\s+url "(\S+)"\s+sha256 "(\w+)"\s+end`)
	system, named := "", map[string]bool{}
	for _, m := range archives.FindAllStringSubmatch(string(text), -1) {
		if m[1] != "" {
			system = map[string]string{"macos": "darwin", "linux": "linux"}[m[1]]
			continue
		}
		at := target{system, map[string]string{"arm": "arm64", "intel": "amd64"}[m[2]]}
		name := r.name(at) + ".tar.gz"
		if sum, err := r.sum(name); err != nil || sum != m[4] || m[3] != r.url(name) {
			t.Errorf("%s: %q, and the checksum is %s (%v)", at, m[3:], sum, err)
		}
		named[name] = true
	}
	if len(named) != 4 {
		t.Errorf("the formula names %v\n%s", named, text)
	}
	install := regexp.MustCompile(`(?s)def install\n(.*?)\n  end`).FindStringSubmatch(string(text))
	if install == nil {
		t.Fatalf("nothing is installed:\n%s", text)
	}
	dir := t.TempDir()
	out, err := exec.Command("tar", "-xzf", filepath.Join(r.out, r.name(target{"darwin", "arm64"})+".tar.gz"), "-C", dir,
		"--strip-components", "1").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, m := range regexp.MustCompile(`install (?:Dir\[)?"([^"]+)"`).FindAllStringSubmatch(install[1], -1) {
		if found, err := filepath.Glob(filepath.Join(dir, m[1])); err != nil || len(found) == 0 {
			t.Errorf("the archive has no %s (%v)", m[1], err)
		}
	}
}

// The rpm marks documents and licences as such; deb and apk contain the same files without marks (REL-06).
func TestPackagesMarkDocuments(t *testing.T) {
	r := built(t, target{"linux", "amd64"})
	text, err := r.nfpm(target{"linux", "amd64"})
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Contents []content
		RPM      struct{ BuildHost string }
	}
	if err := json.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	if config.RPM.BuildHost == "" {
		t.Error("the rpm would name the machine that it was built on")
	}
	has := map[string]string{}
	for _, c := range config.Contents {
		for _, kind := range []string{"deb", "rpm", "apk"} {
			if c.Packager == "" || c.Packager == kind {
				has[kind+" "+c.Dst] += "[" + c.Type + "]"
			}
		}
	}
	for file, want := range map[string]string{
		"rpm /usr/share/man/man1/runplan.1.gz": "[doc]", "rpm /usr/share/doc/runplan/NOTICE": "[doc]",
		"rpm /usr/share/licenses/runplan/LICENSE": "[license]", "rpm /usr/bin/runplan": "[]",
		"deb /usr/share/man/man1/runplan.1.gz": "[]", "deb /usr/share/doc/runplan/NOTICE": "[]",
		"apk /usr/share/man/man1/runplan.1.gz": "[]", "apk /usr/share/licenses/runplan/LICENSE": "[]",
	} {
		if has[file] != want {
			t.Errorf("%s is %q, want %q", file, has[file], want)
		}
	}
}

// install.sh verifies the signature of the checksums if it has the public key (REL-04).
func TestInstallVerifiesSignature(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("NOT TESTED: there is no openssl")
	}
	keys := t.TempDir()
	pair := func(name string) (private, public string) {
		pub, key, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		b, err := x509.MarshalPKIXPublicKey(pub)
		if err != nil {
			t.Fatal(err)
		}
		public = filepath.Join(keys, name)
		if err := os.WriteFile(public, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: b}), 0o644); err != nil {
			t.Fatal(err)
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: a})), public
	}
	private, ours := pair("ours.pem")
	_, others := pair("others.pem")
	t.Setenv(signingKey, private)
	r := built(t, here(t))

	t.Setenv("RUNPLAN_PUBLIC_KEY", ours)
	if out, err := install(t, r, t.TempDir()); err != nil {
		t.Errorf("signed by this key: %v: %s", err, out)
	}
	t.Setenv("RUNPLAN_PUBLIC_KEY", others)
	prefix := t.TempDir()
	if out, err := install(t, r, prefix); err == nil || !strings.Contains(out, "does not verify") {
		t.Errorf("signed by another key: %v: %s", err, out)
	}
	t.Setenv("RUNPLAN_PUBLIC_KEY", ours)
	if err := os.Remove(filepath.Join(r.out, "SHA256SUMS.sig")); err != nil {
		t.Fatal(err)
	}
	if out, err := install(t, r, prefix); err == nil {
		t.Errorf("not signed: %s", out)
	}
	if left := files(t, prefix); len(left) > 0 {
		t.Errorf("installed: %q", left)
	}
}

// The dev container feature installs the program that the release's install.sh verifies (CI-02).
func TestDevContainerFeature(t *testing.T) {
	r, prefix := built(t, here(t)), t.TempDir()
	served := filepath.Join(t.TempDir(), "download")
	if err := os.MkdirAll(served, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(r.out, filepath.Join(served, "v1.2.3")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "tools/ci/feature/install.sh")
	cmd.Env = append(os.Environ(), "VERSION=1.2.3", "PREFIX="+prefix, "RUNPLAN_RELEASES=file://"+filepath.Dir(served))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "runplan v1.2.3") {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(prefix, "bin", "runplan")); err != nil {
		t.Error(err)
	}
}

// action.yml uses only inputs that it declares and files that exist (CI-01).
func TestActionUsesDeclaredInputs(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	text, err := os.ReadFile("action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var action struct {
		Inputs map[string]struct{ Description string }
		Runs   struct {
			Using string
			Steps []struct{ Shell, Run, Uses string }
		}
	}
	if err := yaml.Unmarshal(text, &action); err != nil {
		t.Fatal(err)
	}
	if action.Runs.Using != "composite" || len(action.Runs.Steps) != 3 {
		t.Errorf("%+v", action.Runs)
	}
	for _, m := range regexp.MustCompile(`inputs\.([a-z-]+)`).FindAllStringSubmatch(string(text), -1) {
		if action.Inputs[m[1]].Description == "" {
			t.Errorf("the input %s is not declared", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`GITHUB_ACTION_PATH/([a-z/.]+)`).FindAllStringSubmatch(string(text), -1) {
		if _, err := os.Stat(m[1]); err != nil {
			t.Error(err)
		}
	}
}
