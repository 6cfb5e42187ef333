package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// bubblewrap is the command line up to the user's own arguments.
func (b *Box) bubblewrap() []string {
	args := []string{
		"bwrap", "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
		"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
	}
	// Sockets lie here with which programs outside do what they are told: those of docker, of the desktop, of agents
	// that hold keys.
	for _, dir := range []string{"/tmp", "/var/tmp", "/run"} {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() {
			args = append(args, "--tmpfs", dir)
		}
	}
	if real, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil && strings.HasPrefix(real, "/run/") {
		args = append(args, "--ro-bind", real, real)
	}
	if b.at.Home != "" {
		args = append(args, "--ro-bind", b.at.Home, b.at.Home) // in case it lies in one of these
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

// readable lists what has to be seen wherever it lies, in /tmp too.
func (b *Box) readable() []string {
	var out []string
	for _, dir := range []string{b.at.Root, b.git.Common} {
		if dir != "" {
			out = append(out, dir)
		}
	}
	return out
}

// docker is the command line up to the user's own arguments and the image. The program comes from the image: of this
// machine there is nothing inside but the project.
func (b *Box) docker() []string {
	args := []string{
		"docker", "run", "--rm", "--interactive", "--init", "--name", b.name, "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
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
		if slices.ContainsFunc(append(b.readable(), b.writable()...), func(dir string) bool { return strings.HasPrefix(file, dir+"/") }) {
			args = append(args, "--mount", "type=bind,source="+os.DevNull+",target="+file+",readonly")
		}
	}
	for _, kv := range b.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if name != "PATH" && name != "SSH_AUTH_SOCK" && name != "SHELL" {
			args = append(args, "--env", name) // the value stays out of the list of processes
		}
	}
	return args
}

// mount is a bind mount in docker's words, which are those of a CSV file.
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

// profile is what sandbox-exec of macOS is told: reading and the network as ever, writing where it is allowed. In a
// profile the last rule that fits counts.
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
