package git

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// openedBy opens a repository with the author of its settings, not with that of the tests.
func openedBy(t *testing.T, dir string, more ...string) *Repo {
	t.Helper()
	env := slices.DeleteFunc(environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "GIT_AUTHOR_") || strings.HasPrefix(kv, "GIT_COMMITTER_")
	})
	r, err := Open(t.Context(), dir, append(env, more...))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The settings that every run needs take one call of git. Whatever is unusual is left to git, which decides.
func TestSettingsAreReadOnce(t *testing.T) {
	usual := map[string]string{"user.name": "Ada Tester", "user.email": "ada@example.org"}
	for name, tt := range map[string]struct {
		set   map[string]string
		env   []string
		signs bool
		asks  bool // git once more
	}{
		"usual":               {},
		"signs":               {set: map[string]string{"commit.gpgsign": "True"}, signs: true},
		"does not sign":       {set: map[string]string{"commit.gpgsign": "off"}},
		"signs by number":     {set: map[string]string{"commit.gpgsign": "2"}, signs: true, asks: true},
		"no valid bool":       {set: map[string]string{"commit.gpgsign": "maybe"}, asks: true},
		"other author":        {set: map[string]string{"author.name": "Grace"}, asks: true},
		"committer in env":    {env: []string{"GIT_COMMITTER_NAME=Grace"}, asks: true},
		"name without letter": {set: map[string]string{"user.name": "7"}, asks: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := made(t, map[string]string{"a": "1"})
			for _, list := range []map[string]string{usual, tt.set} {
				for key, value := range list {
					run(t, dir, "config", key, value)
				}
			}
			path, calls := counting(t)
			r := openedBy(t, dir, append(tt.env, path)...)
			calls()
			if err := r.Ident(t.Context()); err != nil {
				t.Error(err)
			}
			if got := r.Signs(t.Context()); got != tt.signs {
				t.Errorf("signs: %v, want %v", got, tt.signs)
			}
			if !r.plainFiles(t.Context()) {
				t.Error("new objects are not plain files")
			}
			if c := calls(); len(c) > 1 != tt.asks || !strings.HasPrefix(c[0], "config --list") {
				t.Errorf("asked git: %q", c)
			}
		})
	}
}

// A name and an address that git rejects are an error, although both are set.
func TestIdentOfUnusableName(t *testing.T) {
	dir := made(t, nil)
	run(t, dir, "config", "user.name", "<>")
	run(t, dir, "config", "user.email", "ada@example.org")
	if err := openedBy(t, dir).Ident(t.Context()); err == nil {
		t.Error("no error for a name without characters")
	}
}

// A setting without a value is true for git.
func TestSignsWithoutValue(t *testing.T) {
	dir := made(t, nil)
	f, err := os.OpenFile(filepath.Join(dir, ".git", "config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("[commit]\n\tgpgsign\n"); err != nil {
		t.Fatal(err)
	}
	if !opened(t, dir).Signs(t.Context()) {
		t.Error("commits are not signed")
	}
}
