// Package sandbox confines agents with bubblewrap, docker, sandbox-exec or a command of the user.
//
// In each sandbox, an agent may write to its workspace, its TMPDIR and the paths in the settings. It may read all
// files, except the usual places of keys. It has network access, because it calls its model. If the sandbox is not
// available, the agent does not start: there is no weaker fallback.
//
// Git works inside, including commits, but cannot harm the repository. Its settings, hooks, branches and objects are
// read-only. In the common git folder, only the worktree's own files and the branches of the run are writable. New
// objects go to a separate folder, as in git for pushes that are not accepted yet. [Box.Close] compares each object
// with its name and moves it to the repository.
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
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/proc"
)

// Spec configures the sandbox.
type Spec struct {
	Kind    string   // "", none, bwrap, docker, sandbox-exec or custom
	Command []string // with custom, the prefix of the command; else additional arguments
	Image   string   // with docker
	Hide    []string // files that no program inside may read, wherever they are
	Write   []string // writable paths besides the workspace; missing ones are ignored
}

// On reports whether the settings ask for a sandbox.
func (s Spec) On() bool { return s.Kind != "" && s.Kind != "none" }

// Places are the folders that an agent uses.
type Places struct {
	Workspace string
	Temp      string // its TMPDIR
	Home      string
	Root      string // the project, readable except for hidden files; "" for none
}

// Box is a sandbox for one run of an agent. End it with [Box.Close].
type Box struct {
	spec    Spec
	at      Places
	git     Git
	env     []string // of the agent
	objects string   // folder for new objects; "" leaves git unchanged
	name    string   // of the container
}

// ErrUnusable means that the sandbox does not work on this machine.
var ErrUnusable = errors.New("the sandbox cannot be used")

// Open makes a sandbox around places, for a program with the environment env. It checks that the sandbox works and
// that the program exists inside. It does not check docker and custom sandboxes.
func Open(ctx context.Context, s Spec, at Places, program string, env []string) (*Box, error) {
	b := &Box{spec: s, at: at, env: env}
	if !s.On() {
		return b, nil
	}
	for _, p := range []*string{&b.at.Workspace, &b.at.Temp, &b.at.Home, &b.at.Root} {
		if real, err := filepath.EvalSymlinks(*p); err == nil && *p != "" {
			*p = real // mounts need real paths
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
		return b, nil // a try would be slow; docker reports its own faults with a separate exit status
	}
	return b, b.try(ctx, program)
}

// unseen is the exit status of a try that does not find the program inside.
const unseen = 127

// try starts the sandbox with a minimal command. Some machines have the sandbox program but forbid what it needs.
// Programs in /tmp do not exist inside.
func (b *Box) try(ctx context.Context, program string) error {
	res, err := proc.Run(ctx, proc.Cmd{
		Args: b.Args([]string{"sh", "-c", fmt.Sprintf(`command -v -- "$1" >/dev/null || exit %d`, unseen), "sh", program}),
		Dir:  b.at.Workspace, Env: b.Environ(), Limits: proc.Limits{Total: 20 * time.Second}, Sweep: proc.NewTag(),
	})
	switch {
	case errors.Is(err, proc.ErrNotFound):
		return fmt.Errorf("%w: %w", ErrUnusable, err)
	case err != nil:
		return err
	case res.Ended == proc.Cancelled:
		return res.Cause
	case res.Ended == proc.Exited && res.Exit == unseen:
		return fmt.Errorf(
			"%w: %s: %s does not exist in the sandbox; install it outside /tmp and /run, or name its folder in sandbox_write",
			ErrUnusable, b.spec.Kind, program)
	case !res.OK():
		return fmt.Errorf("%w: %s: %s", ErrUnusable, b.spec.Kind, strings.TrimSpace(res.Tail))
	}
	return nil
}

// Unusable returns an error if a run ended because the sandbox failed, not the agent.
func (b *Box) Unusable(res proc.Result) error {
	if b.spec.Kind == "docker" && res.Ended == proc.Exited && res.Exit == 125 {
		last := strings.TrimSpace(res.Tail)
		return fmt.Errorf("%w: docker: %s", ErrUnusable, last[strings.LastIndexByte(last, '\n')+1:])
	}
	return nil
}

// Environ returns the environment for the command that Args returns.
func (b *Box) Environ() []string {
	if b.objects == "" {
		return b.env
	}
	// git's maintenance would fail here and take time.
	return git.NoUpkeep(append(slices.Clip(b.env),
		"GIT_OBJECT_DIRECTORY="+b.objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+filepath.Join(b.git.Common, "objects"),
	))
}

// Args returns the command line that runs args in the sandbox.
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

// filled returns the user's arguments with their placeholders replaced.
func (b *Box) filled() []string {
	fill := strings.NewReplacer("{workspace}", b.at.Workspace, "{tmp}", b.at.Temp, "{home}", b.at.Home, "{git}",
		b.git.Common)
	return lists.Map(b.spec.Command, fill.Replace)
}

// Close moves the new git objects to the repository and ends the container.
func (b *Box) Close(ctx context.Context) error {
	var errs []error
	if b.name != "" {
		// The end of the client does not end the container. A missing container is not an error.
		_, err := proc.Output(ctx, proc.Cmd{Args: []string{"docker", "rm", "--force", b.name}, Env: b.env})
		var exit *proc.ExitError
		if err != nil && !(errors.As(err, &exit) && strings.Contains(exit.Stderr, "No such container")) {
			errs = append(errs, fmt.Errorf("end the container %s: %w", b.name, err))
		}
	}
	if b.objects != "" {
		if err := b.git.collect(ctx, b.objects, b.env); err != nil {
			errs = append(errs, fmt.Errorf("copy git objects from the sandbox: %w", err))
		}
		if err := os.RemoveAll(b.objects); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// writable lists the existing paths that the agent may write, without duplicates.
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

// hidden lists the existing places where people keep keys, except those in a writable path.
func (b *Box) hidden() (dirs, files []string) {
	for _, name := range strings.Fields(`.ssh .gnupg .aws .azure .kube .docker .config/gh .config/gcloud .config/hub .password-store .local/share/keyrings
		.netrc .git-credentials .config/git/credentials .pypirc .npmrc .cargo/credentials.toml .cargo/credentials .terraform.d .vault-token`) {
		path := filepath.Join(b.at.Home, name)
		info, err := os.Stat(path)
		if err != nil || b.at.Home == "" ||
			slices.ContainsFunc(b.writable(), func(w string) bool { return w == path || strings.HasPrefix(w, path+"/") }) {
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

// masked lists the existing files of [Spec.Hide]. They are hidden last, so that no writable folder reveals them.
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

// bubblewrap returns the command line before the user's own arguments.
func (b *Box) bubblewrap() []string {
	args := []string{
		"bwrap", "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
		"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
	}
	// These folders contain sockets of powerful programs: docker, the desktop, key agents.
	for _, dir := range []string{"/tmp", "/var/tmp", "/run"} {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() {
			args = append(args, "--tmpfs", dir)
		}
	}
	if real, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil && strings.HasPrefix(real, "/run/") {
		args = append(args, "--ro-bind", real, real)
	}
	if b.at.Home != "" {
		args = append(args, "--ro-bind", b.at.Home, b.at.Home) // it may be inside one of these folders
	}
	dirs, files := b.hidden()
	for _, dir := range dirs {
		args = append(args, "--tmpfs", dir)
	}
	for _, file := range files {
		args = append(args, "--ro-bind", os.DevNull, file)
	}
	for _, dir := range b.readable() {
		args = append(args, "--ro-bind", dir, dir)
	}
	for _, path := range b.writable() {
		args = append(args, "--bind", path, path)
	}
	for _, file := range b.masked() {
		args = append(args, "--ro-bind", os.DevNull, file)
	}
	return append(args, "--unsetenv", "SSH_AUTH_SOCK", "--chdir", b.at.Workspace)
}

// readable lists the folders that must be visible even inside /tmp.
func (b *Box) readable() []string {
	return lists.Filter([]string{b.at.Root, b.git.Common}, func(dir string) bool { return dir != "" })
}

// docker returns the command line before the user's own arguments and the image. The program comes from the image;
// from this machine, only the project is visible.
func (b *Box) docker() []string {
	args := []string{
		"docker", "run", "--rm", "--interactive", "--init", "--name", b.name, "--cap-drop", "ALL", "--security-opt",
		"no-new-privileges",
		"--user", fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()), "--workdir", b.at.Workspace,
	}
	if b.at.Home != "" {
		args = append(args, "--tmpfs", b.at.Home+":mode=0777")
	}
	for _, dir := range b.readable() {
		args = append(args, "--mount", mount(dir, ",readonly"))
	}
	for _, path := range b.writable() {
		args = append(args, "--mount", mount(path, ""))
	}
	for _, file := range b.masked() {
		if slices.ContainsFunc(append(b.readable(), b.writable()...),
			func(dir string) bool { return strings.HasPrefix(file, dir+"/") }) {
			args = append(args, "--mount", "type=bind,source="+os.DevNull+",target="+file+",readonly")
		}
	}
	for _, kv := range b.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if name != "PATH" && name != "SSH_AUTH_SOCK" && name != "SHELL" {
			args = append(args, "--env", name) // the value stays out of the process list
		}
	}
	return args
}

// mount returns docker's bind mount option, which has CSV syntax.
func mount(path, how string) string {
	field := func(key string) string {
		text := key + "=" + path
		if strings.ContainsAny(text, `",`) {
			text = `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
		}
		return text
	}
	return "type=bind," + field("source") + "," + field("target") + how
}

// profile returns the profile for sandbox-exec of macOS: reading and network are allowed, writing is limited. The
// last matching rule applies.
func (b *Box) profile() string {
	var p strings.Builder
	p.WriteString("(version 1)\n(allow default)\n(deny file-write*)\n")
	dirs, files := b.hidden()
	for _, path := range append(dirs, files...) {
		fmt.Fprintf(&p, "(deny file-read* (subpath %s))\n", quoted(path))
	}
	p.WriteString("(allow file-write* (subpath \"/dev\"))\n")
	for _, path := range b.writable() {
		fmt.Fprintf(&p, "(allow file-read* file-write* (subpath %s))\n", quoted(path))
	}
	for _, path := range b.masked() {
		fmt.Fprintf(&p, "(deny file-read* file-write* (literal %s))\n", quoted(path))
	}
	return p.String()
}

func quoted(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
}
