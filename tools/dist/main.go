// Program dist builds a release: for each system the binary, an archive and, for Linux, deb, rpm and apk packages; the
// npm packages, the Homebrew formula and the Scoop manifest; a bill of materials; and the checksums of all of it.
//
// Two builds of one commit have the same bytes, also from another folder: paths are trimmed, and every date is the date
// of the commit. Nothing is uploaded.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// release is what all parts of one release share.
type release struct {
	version string    // without the v, such as 0.2.0
	commit  string    // full hash
	date    time.Time // of the commit, UTC
	out     string    // folder of the results, absolute
	work    string    // folder of what is needed in between, absolute
	targets []target
	base    string // tar file with the base system of the image; "" for no image
	astGrep string // program for the image; "" for none
}

// target is a system that a binary is built for, in the names of GOOS and GOARCH.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

// program is the file name of the binary.
func (t target) program() string {
	if t.os == "windows" {
		return "runplan.exe"
	}
	return "runplan"
}

const allTargets = "linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64"

var semver = regexp.MustCompile(`^v?(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)$`)

func run(ctx context.Context) error {
	version := flag.String("version", "", "semantic `version` of the release, such as v0.2.0")
	out := flag.String("out", "dist", "`folder` of the results; it is replaced")
	targets := flag.String("targets", allTargets, "systems to build for, as GOOS/GOARCH, separated by spaces")
	base := flag.String("image-base", "",
		"tar `file` with the base system of the OCI image, see tools/dist/image/base.sh; no image without it")
	astGrep := flag.String("image-ast-grep", "", "`program` ast-grep for the OCI image")
	flag.Parse()
	m := semver.FindStringSubmatch(*version)
	if m == nil {
		return fmt.Errorf("-version %q: must be a semantic version such as v0.2.0", *version)
	}
	r, err := newRelease(ctx, m[1], *out, strings.Fields(*targets))
	if err != nil {
		return err
	}
	defer os.RemoveAll(r.work)
	r.base, r.astGrep = *base, *astGrep
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"binaries", r.binaries},
		{"manuals and completions", r.manuals},
		{"archives", r.archives},
		{"packages", r.packages},
		{"npm", r.npm},
		{"bill of materials", r.materials},
		{"manifests", r.manifests},
		{"image", r.image},
		{"checksums", r.checksums},
		{"signature", r.signature},
	} {
		start := time.Now()
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Fprintf(os.Stderr, "%-24s %5.1f s\n", step.name, time.Since(start).Seconds())
	}
	return r.table(os.Stdout)
}

// newRelease reads the commit, and replaces the folder of the results.
func newRelease(ctx context.Context, version, out string, targets []string) (*release, error) {
	r := &release{version: version}
	for _, t := range targets {
		system, arch, ok := strings.Cut(t, "/")
		if !ok {
			return nil, fmt.Errorf("-targets: %q must be GOOS/GOARCH", t)
		}
		r.targets = append(r.targets, target{system, arch})
	}
	if len(r.targets) == 0 {
		return nil, errors.New("-targets: name at least one system")
	}
	head, err := output(ctx, "git", "log", "-1", "--format=%H %cI")
	if err != nil {
		return nil, err
	}
	commit, date, _ := strings.Cut(strings.TrimSpace(head), " ")
	if r.commit = commit; commit == "" {
		return nil, errors.New("git log: there is no commit")
	}
	if r.date, err = time.Parse(time.RFC3339, date); err != nil {
		return nil, err
	}
	r.date = r.date.UTC()
	if r.out, err = filepath.Abs(out); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(r.out); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return nil, err
	}
	r.work, err = os.MkdirTemp("", "runplan-dist-")
	return r, err
}

// binary returns the path of a target's binary.
func (r *release) binary(t target) string {
	return filepath.Join(r.work, t.os+"-"+t.arch, t.program())
}

// trainer returns the path of a target's program that has the training commands.
func (r *release) trainer(t target) string {
	return filepath.Join(r.work, t.os+"-"+t.arch, strings.Replace(t.program(), "runplan", "runplan-training", 1))
}

// binaries builds for each target the program, and the one that has the training commands too.
func (r *release) binaries(ctx context.Context) error {
	for _, t := range r.targets {
		err := errors.Join(r.build(ctx, t, r.binary(t), "slim,grpcnotrace", "./cmd/runplan"),
			r.build(ctx, t, r.trainer(t), "grpcnotrace", "./cmd/runplan"))
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		if t.os == runtime.GOOS && t.arch == runtime.GOARCH {
			if err := r.namesItself(ctx, r.binary(t)); err != nil {
				return err
			}
		}
	}
	return nil
}

// namesItself checks that a program prints the version, commit and day that the linker was told to put into it.
func (r *release) namesItself(ctx context.Context, program string) error {
	out, err := exec.CommandContext(ctx, program, "--version").Output()
	want := fmt.Sprintf("runplan v%s (%.12s, %s)\n", r.version, r.commit, r.date.Format(time.DateOnly))
	if err == nil && string(out) != want {
		err = fmt.Errorf("it prints %q, want %q", out, want)
	}
	if err != nil {
		return fmt.Errorf("%s --version: %w", program, err)
	}
	return nil
}

// build builds the program for a target: static, without symbols, with version, commit and date in it.
func (r *release) build(ctx context.Context, t target, to, tags, pkg string) error {
	const cli = "github.com/runplan/runplan/internal/cli."
	flags := fmt.Sprintf(
		"-s -w -buildid= -X %[1]sreleaseVersion=v%[2]s -X %[1]sreleaseCommit=%[3]s -X %[1]sReleaseDate=%[4]s",
		cli, r.version, r.commit, r.date.Format(time.RFC3339))
	return command(ctx, []string{"CGO_ENABLED=0", "GOOS=" + t.os, "GOARCH=" + t.arch}, "go", "build", "-trimpath",
		"-buildvcs=false", "-ldflags", flags,
		// without inlining it is a tenth smaller, but plans are parsed at half the speed
		"-gcflags=all=-l", "-gcflags=std=", "-gcflags=github.com/yuin/goldmark/...=",
		"-gcflags=github.com/runplan/runplan/planparse/...=", "-tags", tags, "-o", to, pkg)
}

// command runs a program with more environment variables. Its output goes to standard error.
func command(ctx context.Context, env []string, args ...string) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), env...), os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(args[:min(3, len(args))], " "), err)
	}
	return nil
}

// output runs a program and returns what it prints.
func output(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(args[:min(3, len(args))], " "), err)
	}
	return string(text), nil
}
