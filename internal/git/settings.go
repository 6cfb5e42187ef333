package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// settings returns git's configuration: the last value of each key. The value "" also stands for a key without a value.
// It is read once, so it is only for what is decided before programs run that may change it.
func (r *Repo) settings(ctx context.Context) (map[string]string, error) {
	r.objects.settingsOnce.Do(func() {
		out, err := r.Run(ctx, "config", "--list", "-z")
		if err != nil {
			r.objects.settingsErr = fmt.Errorf("read the git configuration of %s: %w", r.Root, err)
			return
		}
		r.objects.settings = map[string]string{}
		for entry := range strings.SplitSeq(out, "\x00") {
			key, value, _ := strings.Cut(entry, "\n")
			r.objects.settings[key] = value
		}
	})
	return r.objects.settings, r.objects.settingsErr
}

// Signs reports whether the configuration has git sign commits.
func (r *Repo) Signs(ctx context.Context) bool {
	const key = "commit.gpgsign"
	is, err := r.settings(ctx)
	if err == nil {
		value, given := is[key]
		switch strings.ToLower(value) {
		case "true", "yes", "on", "1":
			return true
		case "false", "no", "off", "0":
			return false
		}
		if !given {
			return false
		}
	}
	out, err := r.Run(ctx, "config", "--type=bool", "--get", key)
	return err == nil && out == "true"
}

// Ident checks that git knows a committer and an author.
func (r *Repo) Ident(ctx context.Context) error {
	if r.knowsUser(ctx) {
		return nil
	}
	_, err := r.Run(ctx, "var", "GIT_COMMITTER_IDENT")
	if err == nil {
		_, err = r.Run(ctx, "var", "GIT_AUTHOR_IDENT")
	}
	if err != nil {
		return fmt.Errorf("git has no committer: %s", lastLine(err))
	}
	return nil
}

// knowsUser reports whether it is certain that git takes committer and author from user.name and user.email: no variable
// and no other setting overrides them, and git does not remove all of their characters.
func (r *Repo) knowsUser(ctx context.Context) bool {
	is, err := r.settings(ctx)
	if err != nil {
		return false
	}
	for _, kv := range r.env {
		if strings.HasPrefix(kv, "GIT_AUTHOR_") || strings.HasPrefix(kv, "GIT_COMMITTER_") {
			return false
		}
	}
	for key := range is {
		if strings.HasPrefix(key, "author.") || strings.HasPrefix(key, "committer.") {
			return false
		}
	}
	letter := func(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
	return strings.ContainsFunc(is["user.name"], letter) && strings.ContainsFunc(is["user.email"], letter)
}

// OwnHooks returns the options for a call of git in a workspace that let it run the hooks of the user's checkout.
// A relative core.hooksPath means another folder in each worktree: that of husky is missing in a new one, and an agent
// may have written it.
func (r *Repo) OwnHooks(ctx context.Context) []string {
	is, err := r.settings(ctx)
	at := is["core.hookspath"]
	if err != nil || at == "" || at[0] == '~' || filepath.IsAbs(at) {
		return nil
	}
	return []string{"-c", "core.hooksPath=" + filepath.Join(r.Root, filepath.FromSlash(at))}
}

// Hook returns the path of a hook of the user's checkout, "" if there is none.
func (r *Repo) Hook(ctx context.Context, name string) string {
	at, err := r.Run(ctx, "rev-parse", "--git-path", "hooks/"+name)
	if err != nil {
		return ""
	}
	if !filepath.IsAbs(at) {
		at = filepath.Join(r.Root, at)
	}
	if info, err := os.Stat(at); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return ""
	}
	return at
}
