package main

import (
	"context"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

// image builds the OCI image for the architecture of this machine, where a base system is given.
func (r *release) image(ctx context.Context) error {
	at := target{"linux", runtime.GOARCH}
	if r.base == "" || !slices.Contains(r.targets, at) {
		return nil
	}
	args := []string{
		"go", "run", "-modfile=tools/dist/release.mod", "tools/dist/image/main.go", "-base", r.base, "-runplan", r.binary(at),
		"-arch", at.arch, "-version", r.version, "-commit", r.commit, "-date", r.date.Format(time.RFC3339),
		"-out", filepath.Join(r.out, r.name(at)+".oci.tar"),
	}
	if r.astGrep != "" {
		args = append(args, "-ast-grep", r.astGrep)
	}
	return command(ctx, nil, args...)
}
