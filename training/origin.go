package training

import (
	"net/url"
	"path/filepath"
	"strings"

	"github.com/runplan/runplan/internal/redact"
)

// RepoName is how examples call a repository: host and path of its remote, without credentials and the ways to reach it, or
// the name of the folder at root where the remote is a place on a disk or none. One repository has one name, however it was
// cloned, and never a path of this machine.
func RepoName(remote, root string) string {
	name := strings.TrimSpace(remote)
	if u, err := url.Parse(name); err == nil && u.Host != "" {
		name = u.Hostname() + "/" + strings.TrimPrefix(u.Path, "/")
	} else if host, path, ok := strings.Cut(name, ":"); ok && scpLike(host, path) {
		name = host[strings.LastIndexByte(host, '@')+1:] + "/" + strings.TrimPrefix(path, "/")
	} else {
		name = ""
	}
	name = strings.TrimSuffix(strings.Trim(name, "/"), ".git")
	if host, path, ok := strings.Cut(name, "/"); !ok || host == "" || path == "" {
		name = filepath.Base(filepath.Clean(root))
	} else {
		name = strings.ToLower(host) + "/" + path
	}
	return strings.Join(strings.Fields(redact.Clean(name)), "_")
}

// scpLike tells git's short form user@host:path from C:\path and from what is no address.
func scpLike(host, path string) bool {
	return len(host) > 1 && path != "" && !strings.ContainsAny(host, `/\ `) && !strings.HasPrefix(path, `\`) && !strings.HasPrefix(path, "//")
}
