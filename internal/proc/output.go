package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// ExitError reports a program that ran and did not exit with status 0.
type ExitError struct {
	Args   []string
	Code   int    // -1 if a signal ended it
	Signal string // its name
	Stderr string // the last 64 KiB
}

func (e *ExitError) Error() string {
	how := fmt.Sprintf("exit status %d", e.Code)
	if e.Signal != "" {
		how = "killed by " + e.Signal
	}
	text := strings.Join(e.Args, " ")
	if len(text) > 200 {
		text = text[:200] + "…"
	}
	if msg := strings.TrimSpace(e.Stderr); msg != "" {
		return text + ": " + how + ": " + msg
	}
	return text + ": " + how
}

// Output runs a short trusted program and returns its standard output. It uses only Args, Dir, Env and Stdin of c.
// The program is killed when ctx ends; its background processes are not.
func Output(ctx context.Context, c Cmd) ([]byte, error) {
	out, _, err := Outputs(ctx, c)
	return out, err
}

// Outputs is [Output] for callers that also need the standard error of a successful program. It keeps the last 64 KiB
// of that.
func Outputs(ctx context.Context, c Cmd) (stdout, stderr []byte, err error) {
	if len(c.Args) == 0 {
		return nil, nil, errors.New("run a program: no program given")
	}
	path, err := LookPath(c.Args[0], c.Env)
	if err != nil {
		return nil, nil, fmt.Errorf("run %s: %w", c.Args[0], err)
	}
	var said bytes.Buffer
	complained := &ring{max: defaultKeep}
	x := exec.CommandContext(ctx, path, c.Args[1:]...)
	x.Args[0] = c.Args[0]
	x.Dir, x.Env, x.Stdin = c.Dir, c.Env, c.Stdin
	x.Stdout, x.Stderr = &said, ringWriter{complained}
	// Without a terminal, a git that would prompt fails instead, and only this program handles ^C.
	x.SysProcAttr = detached()
	x.Cancel = func() error { signalGroup(x.Process.Pid, syscall.SIGKILL); return nil }
	x.WaitDelay = time.Second
	err = x.Run()
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return said.Bytes(), complained.bytes(), nil
	case ctx.Err() != nil:
		return said.Bytes(), complained.bytes(), fmt.Errorf("%s: %w", strings.Join(c.Args, " "), context.Cause(ctx))
	case errors.As(err, &exit):
		e := &ExitError{Args: c.Args, Code: exit.ExitCode(), Stderr: string(complained.bytes())}
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			e.Signal = signalName(ws.Signal())
		}
		return said.Bytes(), complained.bytes(), e
	}
	return nil, nil, fmt.Errorf("run %s: %w", c.Args[0], startError(err, c))
}

type ringWriter struct{ *ring }

func (w ringWriter) Write(p []byte) (int, error) {
	w.write(p)
	return len(p), nil
}

// Getenv returns the value of a variable in env, a list of KEY=VALUE; "" means empty or not set. The last entry counts,
// as in [os/exec.Cmd].
func Getenv(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// LookPath finds the program that [Run] starts for name in the environment env: in the PATH of env, not of this
// process, and there only in absolute folders. A name with a slash is returned unchanged. A missing program is an
// [ErrNotFound].
func LookPath(name string, env []string) (string, error) {
	if strings.ContainsRune(name, '/') || name != filepath.Base(name) {
		return name, nil
	}
	if env == nil || runtime.GOOS == "windows" {
		path, err := exec.LookPath(name)
		if err != nil {
			return "", notFound(name)
		}
		return path, nil
	}
	for _, dir := range filepath.SplitList(Getenv(env, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue // "." in PATH would run programs of the workspace
		}
		path := filepath.Join(dir, name)
		if fi, err := os.Stat(path); err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", notFound(name)
}

func notFound(name string) error {
	return fmt.Errorf("%w: install %s, or put its folder into PATH", ErrNotFound, name)
}

// barredError reports that a program exists but is not executable. It matches [ErrNotFound] with a clearer message.
type barredError struct{ file string }

func (e *barredError) Error() string {
	return fmt.Sprintf("%s is not executable; try chmod +x %[1]s", e.file)
}
func (e *barredError) Is(target error) bool { return target == ErrNotFound }

// startError distinguishes a missing program from a missing working directory and other causes.
func startError(err error, c Cmd) error {
	if c.Dir != "" { // the system reports a missing directory as a missing program
		if fi, derr := os.Stat(c.Dir); derr != nil {
			return fmt.Errorf("its working directory cannot be entered: %w", derr)
		} else if !fi.IsDir() {
			return fmt.Errorf("its working directory %s is a file", c.Dir)
		}
	}
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return notFound(c.Args[0])
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: the file does not exist, or the interpreter in its first line is missing", ErrNotFound)
	case errors.Is(err, fs.ErrPermission):
		return &barredError{c.Args[0]}
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%w: it is neither a program nor a script with #! in its first line", err)
	}
	return err
}
