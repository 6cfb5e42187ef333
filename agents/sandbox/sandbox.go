// Package sandbox confines agents with the means of the machine: bubblewrap, docker, sandbox-exec or a command of the
// user's.
//
// Whatever confines it, an agent may write in its workspace and in its TMPDIR, and in what the settings name; it may
// read the machine, but for the places where people keep keys; it keeps the network, since it has to speak to its
// model. Where the sandbox cannot be had the agent is not started: nothing here falls back to less.
//
// Git works inside, commits included, without a way to harm the repository. Its settings, hooks, branches and objects
// are read-only; of the shared folder only what belongs to the worktree may be written, and the branches of the run. New
// objects go to a folder of their own, as git does with a push that is not accepted yet, and are taken over in the end,
// each checked against its name.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/proc"
)

// Spec says how an agent is confined.
type Spec struct {
	Kind    string   // "", none, bwrap, docker, sandbox-exec or custom
	Command []string // with custom what stands before the command; else arguments to add
	Image   string   // with docker
	Hide    []string // files that nobody inside may read, wherever they lie
	Write   []string // what may be written besides the workspace; those that are not there are left out
}

// On reports whether there is a sandbox at all.
func (s Spec) On() bool { return s.Kind != "" && s.Kind != "none" }

// Places are where an agent works.
type Places struct {
	Workspace string
	Temp      string // its TMPDIR
	Home      string
	Root      string // the project, of which it may read what is not hidden; "" none
}

// Box is a sandbox for one call of an agent. [Box.Close] ends it.
type Box struct {
	spec    Spec
	at      Places
	git     Git
	env     []string // of the agent
	objects string   // where new objects go; "" leaves git alone
	name    string   // of the container
}

// ErrUnusable says that the sandbox cannot be had on this machine.
var ErrUnusable = errors.New("the sandbox cannot be used")

// Open makes a sandbox around places, for a program with the environment env, and sees that it can be had and that the
// program is there inside.
func Open(ctx context.Context, s Spec, at Places, program string, env []string) (*Box, error) {
	b := &Box{spec: s, at: at, env: env}
	if !s.On() {
		return b, nil
	}
	for _, p := range []*string{&b.at.Workspace, &b.at.Temp, &b.at.Home, &b.at.Root} {
		if real, err := filepath.EvalSymlinks(*p); err == nil && *p != "" {
			*p = real // mounts are made by real paths
		}
	}
	var err error
	if b.git, err = GitOf(b.at.Workspace); err != nil {
		return nil, err
	}
	if s.Kind == "custom" {
		return b, nil
	}
	if b.git.Common != "" {
		b.objects = filepath.Join(b.at.Temp, "git-objects")
		if err := b.git.prepare(b.objects); err != nil {
			return nil, err
		}
	}
	if s.Kind == "docker" {
		b.name = "runplan-" + strings.ToLower(strings.TrimPrefix(proc.NewTag(), "RUNPLAN_TAG="))
		return b, nil // what a try would cost; docker has a status of its own for what is wrong with it
	}
	return b, b.try(ctx, program)
}

// unseen is the status of a try whose program is not to be found inside.
const unseen = 127

// try starts the sandbox around next to nothing. Some machines have the program, and forbid what it needs; and what lies
// in /tmp is not there inside.
func (b *Box) try(ctx context.Context, program string) error {
	res, err := proc.Run(ctx, proc.Cmd{
		Args: b.Args([]string{"sh", "-c", fmt.Sprintf(`command -v -- "$1" >/dev/null || exit %d`, unseen), "sh", program}), Dir: b.at.Workspace, Env: b.Environ(), Limits: proc.Limits{Total: 20 * time.Second}, Sweep: proc.NewTag(),
	})
	switch {
	case errors.Is(err, proc.ErrNotFound):
		return fmt.Errorf("%w: %w", ErrUnusable, err)
	case err != nil:
		return err
	case res.Ended == proc.Cancelled:
		return res.Cause
	case res.Ended == proc.Exited && res.Exit == unseen:
		return fmt.Errorf("%w: %s: %s is not there inside; install it elsewhere than in /tmp or /run, or name its folder in sandbox_write", ErrUnusable, b.spec.Kind, program)
	case !res.OK():
		return fmt.Errorf("%w: %s: %s", ErrUnusable, b.spec.Kind, strings.TrimSpace(res.Tail))
	}
	return nil
}

// Unusable reads the end of a call: an error where it was the sandbox that could not be had, and not the agent that
// failed.
func (b *Box) Unusable(res proc.Result) error {
	if b.spec.Kind == "docker" && res.Ended == proc.Exited && res.Exit == 125 {
		last := strings.TrimSpace(res.Tail)
		return fmt.Errorf("%w: docker: %s", ErrUnusable, last[strings.LastIndexByte(last, '\n')+1:])
	}
	return nil
}

// Environ is the environment for the command that Args returns.
func (b *Box) Environ() []string {
	if b.objects == "" {
		return b.env
	}
	// What tidies objects up would fail here, and take its time.
	return git.NoUpkeep(append(slices.Clip(b.env),
		"GIT_OBJECT_DIRECTORY="+b.objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+filepath.Join(b.git.Common, "objects"),
	))
}

// Args is the command line that runs args in the sandbox.
func (b *Box) Args(args []string) []string {
	switch b.spec.Kind {
	case "bwrap":
		return slices.Concat(b.bubblewrap(), b.filled(), []string{"--"}, args)
	case "docker":
		return slices.Concat(b.docker(), b.filled(), []string{b.spec.Image}, args)
	case "sandbox-exec":
		return slices.Concat([]string{"sandbox-exec", "-p", b.profile()}, b.filled(), args)
	case "custom":
		return slices.Concat(b.filled(), args)
	}
	return args
}

// filled are the user's arguments with their slots filled in.
func (b *Box) filled() []string {
	fill := strings.NewReplacer("{workspace}", b.at.Workspace, "{tmp}", b.at.Temp, "{home}", b.at.Home, "{git}", b.git.Common)
	out := slices.Clone(b.spec.Command)
	for i := range out {
		out[i] = fill.Replace(out[i])
	}
	return out
}

// Close takes over what git made inside, and ends what may still run.
func (b *Box) Close(ctx context.Context) error {
	var errs []error
	if b.name != "" {
		// Who ends the client does not end the container. One that is gone already is no error.
		_, err := proc.Output(ctx, proc.Cmd{Args: []string{"docker", "rm", "--force", b.name}, Env: b.env})
		var exit *proc.ExitError
		if err != nil && !(errors.As(err, &exit) && strings.Contains(exit.Stderr, "No such container")) {
			errs = append(errs, fmt.Errorf("end the container %s: %w", b.name, err))
		}
	}
	if b.objects != "" {
		if err := b.git.collect(ctx, b.objects, b.env); err != nil {
			errs = append(errs, fmt.Errorf("take over what git made in the sandbox: %w", err))
		}
		if err := os.RemoveAll(b.objects); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// writable lists what the agent may write, and is there. What lies below the workspace needs no line of its own.
func (b *Box) writable() []string {
	out := []string{b.at.Workspace, b.at.Temp}
	out = append(out, b.git.writable()...)
	for _, path := range b.spec.Write {
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			path = filepath.Join(b.at.Home, rest)
		}
		if real, err := filepath.EvalSymlinks(path); err == nil && path != "" {
			out = append(out, real)
		}
	}
	var once []string
	for _, path := range out {
		if path != "" && !slices.Contains(once, path) {
			once = append(once, path)
		}
	}
	return once
}

// hidden lists where people keep keys, as far as it is there and is not to be written.
func (b *Box) hidden() (dirs, files []string) {
	for _, name := range strings.Fields(`.ssh .gnupg .aws .azure .kube .docker .config/gh .config/gcloud .config/hub .password-store .local/share/keyrings
		.netrc .git-credentials .config/git/credentials .pypirc .npmrc .cargo/credentials.toml .cargo/credentials .terraform.d .vault-token`) {
		path := filepath.Join(b.at.Home, name)
		info, err := os.Stat(path)
		if err != nil || b.at.Home == "" || slices.ContainsFunc(b.writable(), func(w string) bool { return w == path || strings.HasPrefix(w, path+"/") }) {
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		if info.IsDir() {
			dirs = append(dirs, path)
		} else {
			files = append(files, path)
		}
	}
	return dirs, files
}

// masked lists the files of [Spec.Hide] that are there. They are hidden last, so that no folder that may be written shows
// them again.
func (b *Box) masked() []string {
	var out []string
	for _, path := range b.spec.Hide {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			if info, err := os.Stat(real); err == nil && info.Mode().IsRegular() {
				out = append(out, real)
			}
		}
	}
	return out
}
