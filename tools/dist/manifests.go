package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"
)

var (
	//go:embed formula.rb.tmpl
	formulaText string
	//go:embed install.sh
	installScript string
	//go:embed npm.js
	npmLauncher string
)

// compressed writes a copy of a file as gzip without name and date, and returns its path.
func (r *release) compressed(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := z.Write(text); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	to := filepath.Join(r.work, "gz", filepath.Base(path)+".gz")
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return "", err
	}
	return to, os.WriteFile(to, b.Bytes(), 0o644)
}

// sum returns the SHA-256 of a file of the results, as hexadecimal digits.
func (r *release) sum(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(r.out, name))
	if err != nil {
		return "", err
	}
	s := sha256.Sum256(text)
	return hex.EncodeToString(s[:]), nil
}

// checksums writes SHA256SUMS over all results, in the form that sha256sum reads.
func (r *release) checksums(context.Context) error {
	files, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, f := range files {
		if f.IsDir() {
			continue
		}
		s, err := r.sum(f.Name())
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s  %s\n", s, f.Name())
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(b.String()), 0o644)
}

// materials writes the bill of materials in the form of CycloneDX: each module that the binary links.
func (r *release) materials(ctx context.Context) error {
	return command(ctx, []string{"CGO_ENABLED=0", "GOFLAGS=-mod=mod"},
		tool("cyclonedx-gomod", "bin", "-json", "-noserial", "-notimestamp",
			"-output", filepath.Join(r.out, "runplan_"+r.version+".cdx.json"), "-version", "v"+r.version,
			r.binary(r.targets[0]))...)
}

// manifests writes install.sh, the Homebrew formula and the Scoop manifest, with the checksums of the archives.
func (r *release) manifests(context.Context) error {
	if err := os.WriteFile(filepath.Join(r.out, "install.sh"), []byte(installScript), 0o755); err != nil {
		return err
	}
	if err := r.formula(); err != nil {
		return err
	}
	return r.scoop()
}

// url returns the address of a file of the release.
func (r *release) url(name string) string {
	return homepage + "/releases/download/v" + r.version + "/" + name
}

// formula writes the Homebrew formula for the targets that Homebrew serves.
func (r *release) formula() error {
	type archive struct{ URL, Sum string }
	have := map[string]archive{}
	for _, t := range r.targets {
		if t.os == "windows" {
			continue
		}
		name := r.name(t) + ".tar.gz"
		sum, err := r.sum(name)
		if err != nil {
			return err
		}
		have[t.os+"_"+t.arch] = archive{r.url(name), sum}
	}
	tmpl, err := template.New("formula").Option("missingkey=error").Parse(formulaText)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := tmpl.Execute(&b,
		map[string]any{"Version": r.version, "Homepage": homepage, "Summary": summary, "Archives": have}); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "runplan.rb"), b.Bytes(), 0o644)
}

// scoop writes the manifest of Windows' Scoop, where Windows is among the targets.
func (r *release) scoop() error {
	have := map[string]any{}
	for _, t := range r.targets {
		bits := map[string]string{"amd64": "64bit", "arm64": "arm64"}[t.arch]
		if t.os != "windows" || bits == "" {
			continue
		}
		name := r.name(t) + ".zip"
		sum, err := r.sum(name)
		if err != nil {
			return err
		}
		have[bits] = map[string]string{"url": r.url(name), "hash": sum, "extract_dir": r.name(t)}
	}
	if len(have) == 0 {
		return nil
	}
	return writeJSON(filepath.Join(r.out, "runplan.json"), map[string]any{
		"version": r.version, "description": summary, "homepage": homepage, "license": "Apache-2.0",
		"depends": "git", "architecture": have, "bin": "runplan.exe",
	})
}

// npm writes one package for each target with its binary, and the package runplan that starts the right one.
func (r *release) npm(context.Context) error {
	system := map[string]string{"windows": "win32"}
	cpu := map[string]string{"amd64": "x64"}
	or := func(m map[string]string, k string) string {
		if v := m[k]; v != "" {
			return v
		}
		return k
	}
	common := func(name string) map[string]any {
		return map[string]any{
			"name": name, "version": r.version, "description": summary, "license": "Apache-2.0", "homepage": homepage,
			"repository": map[string]string{"type": "git", "url": "git+" + homepage + ".git"},
		}
	}
	optional := map[string]string{}
	for _, t := range r.targets {
		name := "@runplan/" + or(system, t.os) + "-" + or(cpu, t.arch)
		optional[name] = r.version
		p := common(name)
		p["os"], p["cpu"], p["files"] = []string{or(system, t.os)}, []string{or(cpu, t.arch)}, []string{"bin"}
		if err := r.npmPackage(p, item{r.binary(t), "bin/" + t.program(), 0o755}); err != nil {
			return err
		}
	}
	launcher := filepath.Join(r.work, "npm.js")
	if err := os.WriteFile(launcher, []byte(npmLauncher), 0o755); err != nil {
		return err
	}
	p := common("runplan")
	p["bin"], p["optionalDependencies"], p["engines"] = map[string]string{"runplan": "bin/runplan.js"}, optional,
		map[string]string{"node": ">=18"}
	return r.npmPackage(p, item{launcher, "bin/runplan.js", 0o755}, item{"README.md", "README.md", 0o644})
}

// npmPackage writes a package as npm pack would name and lay it out.
func (r *release) npmPackage(p map[string]any, items ...item) error {
	file := filepath.Join(r.work, "package.json")
	if err := writeJSON(file, p); err != nil {
		return err
	}
	name := strings.NewReplacer("@", "", "/", "-").Replace(p["name"].(string)) + "-" + r.version + ".tgz"
	items = append(slices.Clone(items), item{file, "package.json", 0o644}, item{"LICENSE", "LICENSE", 0o644},
		item{"NOTICE", "NOTICE", 0o644})
	return tarGz(filepath.Join(r.out, name), "package/", r.date.Truncate(time.Second), items)
}

// writeJSON writes v with two spaces of indent.
func writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
