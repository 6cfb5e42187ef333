package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	homepage   = "https://github.com/runplan/runplan"
	maintainer = "The runplan authors <runplan@users.noreply.github.com>"
	summary    = "carries out markdown implementation plans with coding agents"
	about      = `runplan takes a markdown implementation plan to merged, gated and recorded
code. It drives coding agents in worktrees, runs quality gates, and keeps a
journal.`

	// debianCopyright follows https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/.
	debianCopyright = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: runplan
Source: ` + homepage + `

Files: *
Copyright: 2026 The runplan authors
License: Apache-2.0
 On Debian systems the full text of the Apache License 2.0 is in
 /usr/share/common-licenses/Apache-2.0. /usr/share/doc/runplan/NOTICE lists
 the licenses of the modules that the program is linked with.
`
	// A static binary is meant: it needs no library of the system, so that one package serves every release. nfpm writes
	// the license, which rpm and apk need, into each kind of package. The package is not uploaded to Debian.
	lintianOverrides = "runplan: statically-linked-binary [usr/bin/runplan]\nrunplan: unknown-field License\n" +
		"runplan: initial-upload-closes-no-bugs *\n"
)

// tool returns the command line of a program of release.mod.
func tool(args ...string) []string {
	return append([]string{"go", "tool", "-modfile=tools/dist/release.mod"}, args...)
}

// epoch returns a time as SOURCE_DATE_EPOCH wants it.
func epoch(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

// content is a file of a package in nfpm's configuration.
type content struct {
	Src      string         `json:"src"`
	Dst      string         `json:"dst"`
	Type     string         `json:"type,omitempty"`
	Packager string         `json:"packager,omitempty"` // the only kind of package that gets it; empty for all
	FileInfo map[string]any `json:"file_info"`
}

// packages builds deb, rpm and apk for each Linux target.
func (r *release) packages(ctx context.Context) error {
	for _, t := range r.targets {
		if t.os != "linux" {
			continue
		}
		config, err := r.nfpm(t)
		if err != nil {
			return err
		}
		file := filepath.Join(r.work, "nfpm-"+t.arch+".json") // JSON is YAML
		if err := os.WriteFile(file, config, 0o644); err != nil {
			return err
		}
		for _, kind := range []string{"deb", "rpm", "apk"} {
			to := filepath.Join(r.out, r.name(t)+"."+kind)
			args := tool("nfpm", "package", "--config", file, "--packager", kind, "--target", to)
			if err := command(ctx, []string{"SOURCE_DATE_EPOCH=" + epoch(r.date)}, args...); err != nil {
				return err
			}
		}
	}
	return nil
}

// nfpm returns the configuration of a target's packages: where each file goes, and what is needed.
func (r *release) nfpm(t target) ([]byte, error) {
	rest, err := r.items()
	if err != nil {
		return nil, err
	}
	var all []content
	typed := func(as, from, to string, mode int, only ...string) {
		for _, kind := range append(only, "")[:max(1, len(only))] {
			all = append(all, content{from, to, as, kind, map[string]any{"mode": mode, "mtime": r.date}})
		}
	}
	add := func(from, to string, mode int, only ...string) { typed("", from, to, mode, only...) }
	// rpm marks documents, so that an installation can leave them out; the other packagers skip what has this type.
	document := func(from, to string) {
		add(from, to, 0o644, "deb", "apk")
		typed("doc", from, to, 0o644, "rpm")
	}
	add(r.binary(t), "/usr/bin/runplan", 0o755)
	for _, i := range rest {
		from, err := filepath.Abs(i.from)
		if err != nil {
			return nil, err
		}
		switch to := installed(i.to); {
		case to == "":
		case strings.HasSuffix(to, ".gz"):
			if from, err = r.compressed(from); err != nil {
				return nil, err
			}
			document(from, to)
		case strings.HasPrefix(to, "/usr/share/doc/"):
			document(from, to)
		default:
			add(from, to, 0o644)
		}
	}
	license, err := filepath.Abs("LICENSE")
	if err != nil {
		return nil, err
	}
	add(license, "/usr/share/licenses/runplan/LICENSE", 0o644, "apk")
	typed("license", license, "/usr/share/licenses/runplan/LICENSE", 0o644, "rpm")
	for to, text := range map[string]string{
		"/usr/share/doc/runplan/copyright": debianCopyright, "/usr/share/lintian/overrides/runplan": lintianOverrides,
	} {
		from := filepath.Join(r.work, "deb-"+filepath.Base(to))
		if err := os.WriteFile(from, []byte(text), 0o644); err != nil {
			return nil, err
		}
		add(from, to, 0o644, "deb")
	}
	// The packages have a separate release number, like those of a distribution.
	const number = "1"
	changes := filepath.Join(r.work, "changes.json")
	if err := writeJSON(changes, []any{map[string]any{
		"semver": r.version + "-" + number, "date": r.date, "packager": maintainer,
		"changes": []any{map[string]string{"note": "See " + homepage + "/releases"}},
		"deb":     map[string]any{"urgency": "medium", "distributions": []string{"unstable"}},
	}}); err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b content) int {
		return cmp.Or(cmp.Compare(a.Dst, b.Dst), cmp.Compare(a.Packager, b.Packager))
	})
	return json.MarshalIndent(map[string]any{
		"name": "runplan", "arch": t.arch, "platform": "linux", "version": "v" + r.version, "version_schema": "semver",
		"section": "devel", "priority": "optional", "maintainer": maintainer, "changelog": changes,
		"release":     number,
		"description": summary + "\n" + about, "homepage": homepage, "license": "Apache-2.0", "mtime": r.date,
		"depends": []string{"git"}, "recommends": []string{"bubblewrap"}, "contents": all,
		// Without a name here the rpm names the machine that it was built on.
		"rpm": map[string]string{"buildhost": "localhost", "group": "Development/Tools",
			"summary": strings.ToUpper(summary[:1]) + summary[1:]},
	}, "", "  ")
}

// installed returns where a file of the archive goes in a package, "" for nowhere.
func installed(name string) string {
	switch dir, base := filepath.Split(name); {
	case dir == "man/":
		return "/usr/share/man/man1/" + base + ".gz"
	case base == shells["bash"]:
		return "/usr/share/bash-completion/completions/runplan"
	case base == shells["zsh"]:
		return "/usr/share/zsh/vendor-completions/_runplan"
	case base == shells["fish"]:
		return "/usr/share/fish/vendor_completions.d/runplan.fish"
	case base == "NOTICE":
		return "/usr/share/doc/runplan/NOTICE"
	}
	return ""
}

// table prints what was built, with sizes.
func (r *release) table(to *os.File) error {
	files, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	for _, f := range files {
		if info, err := f.Info(); err == nil && !f.IsDir() {
			fmt.Fprintf(to, "%8.1f MB  %s\n", float64(info.Size())/1e6, f.Name())
		}
	}
	for _, t := range r.targets {
		if info, err := os.Stat(r.binary(t)); err == nil {
			fmt.Fprintf(to, "%8.1f MB  binary %s\n", float64(info.Size())/1e6, t)
		}
	}
	return nil
}
