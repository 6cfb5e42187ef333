package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

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
	var out []string
	for _, dir := range []string{b.at.Root, b.git.Common} {
		if dir != "" {
			out = append(out, dir)
		}
	}
	return out
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
