package training

import (
	"net/url"
	"path/filepath"
	"strings"

	"github.com/runplan/runplan/internal/redact"
)

// RepoName returns the name of a repository in examples: host and path of its remote, without scheme and credentials.
// If the remote is local or missing, it returns the folder name of root. All clones of a repository have the same
// name, and it is never a local path.
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

// scpLike reports whether an address has git's short form user@host:path, unlike C:\path.
func scpLike(host, path string) bool {
	return len(host) > 1 && path != "" && !strings.ContainsAny(host, `/\ `) && !strings.HasPrefix(path, `\`) &&
		!strings.HasPrefix(path, "//")
}
