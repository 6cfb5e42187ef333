package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	homepage = "https://github.com/runplan/runplan"
	summary  = "carries out markdown implementation plans with coding agents"
	about    = `runplan takes a markdown implementation plan to merged, gated and recorded code.
It drives coding agents in worktrees, runs quality gates, and keeps a journal.`
)

// tool returns the command line of a program of release.mod.
func tool(args ...string) []string {
	return append([]string{"go", "tool", "-modfile=tools/dist/release.mod"}, args...)
}

// epoch returns a time as SOURCE_DATE_EPOCH wants it.
func epoch(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

// content is a file of a package in nfpm's configuration.
type content struct {
	Src      string            `json:"src"`
	Dst      string            `json:"dst"`
	Type     string            `json:"type,omitempty"`
	FileInfo map[string]any    `json:"file_info"`
	Unused   map[string]string `json:"-"`
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
	add := func(from, to string, mode int) {
		all = append(all, content{Src: from, Dst: to, FileInfo: map[string]any{"mode": mode, "mtime": r.date}})
	}
	add(r.binary(t), "/usr/bin/runplan", 0o755)
	for _, i := range rest {
		from, err := filepath.Abs(i.from)
		if err != nil {
			return nil, err
		}
		if to := installed(i.to); strings.HasSuffix(to, ".gz") {
			if from, err = r.compressed(from); err != nil {
				return nil, err
			}
			add(from, to, 0o644)
		} else if to != "" {
			add(from, to, 0o644)
		}
	}
	return json.MarshalIndent(map[string]any{
		"name": "runplan", "arch": t.arch, "platform": "linux", "version": "v" + r.version, "version_schema": "semver",
		"section": "devel", "priority": "optional", "maintainer": "The runplan authors <authors@runplan.dev>",
		"description": summary + "\n" + about, "homepage": homepage, "license": "Apache-2.0", "mtime": r.date,
		"depends": []string{"git"}, "recommends": []string{"bubblewrap"}, "contents": all,
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
	case base == "LICENSE":
		return "/usr/share/doc/runplan/copyright"
	case base == "NOTICE":
		return "/usr/share/doc/runplan/NOTICE"
	case base == "CHANGELOG.md":
		return "/usr/share/doc/runplan/changelog.gz"
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
