package room

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/proc"
)

// settingFiles are the files below a user's home that steer the programs that gates run. A room gets them as they were
// before the first agent began. Globs, see [path.Match].
func settingFiles() []string {
	return []string{
		".gitconfig", ".config/git/*", // identity, line endings, URLs of private modules
		".config/go/env", "Library/Application Support/go/env",
		".npmrc", ".yarnrc", ".yarnrc.yml", ".config/pnpm/rc",
		".config/pip/pip.conf", ".pip/pip.conf", ".pydistutils.cfg", ".condarc",
		".config/ruff/*", ".config/black", ".config/flake8", ".config/pycodestyle",
		".gemrc", ".bundle/config", ".config/rubocop/*", ".rubocop.yml",
		".eslintrc*", ".prettierrc*", ".editorconfig",
		".netrc", ".docker/config.json", ".testcontainers.properties",
	}
}

// dataFolders lists the folders below a user's home in which tool chains store programs and downloads. A room has
// links to them, because a copy would need gigabytes.
func dataFolders() []string {
	return []string{
		"go", ".cargo", ".rustup", ".npm", ".pnpm-store", ".local/share/pnpm", ".yarn", ".nvm", ".volta", ".bun", ".deno",
		".fnm", ".pyenv", ".local/lib", ".local/bin", ".local/share/uv", ".local/share/virtualenvs", ".local/share/mise",
		".local/share/rtx", ".asdf", ".cache/uv", ".cache/pip", ".cache/pypoetry", ".gem", ".local/share/gem", ".rbenv",
		".rvm", ".m2", ".gradle", ".sdkman", ".ivy2", ".sbt", ".dotnet", ".nuget", ".swiftpm", ".mix", ".hex",
		".cache/ms-playwright", ".cache/puppeteer", ".cache/Cypress", ".cache/node", "Library/Caches/ms-playwright",
		"Library/Caches/pip",
	}
}

// maxSetting limits the size of a setting file in bytes; a longer one does not affect gates.
const maxSetting = 1 << 20

// home holds the content of the home of each room.
type home struct {
	real  string
	files map[string]setting // by path relative to the home
	links []string           // relative to the home
}

type setting struct {
	text []byte
	mode fs.FileMode
}

// readHome reads the user's present settings.
func readHome(ctx context.Context, repo *git.Repo, environ []string) (home, error) {
	h := home{real: proc.Getenv(environ, "HOME"), files: map[string]setting{
		// With a new home Go would start a second process at each call, which counts.
		".config/go/telemetry/mode": {[]byte("off"), 0o644},
	}}
	if h.real == "" {
		return h, nil
	}
	for _, pattern := range settingFiles() {
		found, _ := fs.Glob(os.DirFS(h.real), pattern)
		for _, rel := range found {
			h.read(rel, filepath.Join(h.real, filepath.FromSlash(rel)))
		}
	}
	if dir := proc.Getenv(environ, "XDG_CONFIG_HOME"); dir != "" {
		for _, name := range []string{"git/config", "git/ignore", "git/attributes", "go/env", "pip/pip.conf"} {
			h.read(filepath.Join(".config", filepath.FromSlash(name)), filepath.Join(dir, filepath.FromSlash(name)))
		}
	}
	if path := proc.Getenv(environ, "GOENV"); path != "" && path != "off" {
		h.read(goEnv, path)
	}
	if path := proc.Getenv(environ, "GIT_CONFIG_GLOBAL"); path != "" {
		h.read(".gitconfig", path)
		delete(h.files, filepath.FromSlash(".config/git/config"))
	}
	if err := h.flatten(ctx, repo); err != nil {
		return h, err
	}
	for _, rel := range dataFolders() {
		if info, err := os.Stat(filepath.Join(h.real, filepath.FromSlash(rel))); err == nil && info.IsDir() {
			h.links = append(h.links, rel)
		}
	}
	return h, nil
}

const goEnv = ".config/go/env"

// read keeps a file if it is a regular one of limited size.
func (h home) read(rel, path string) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxSetting {
		return
	}
	if text, err := os.ReadFile(path); err == nil {
		h.files[filepath.ToSlash(rel)] = setting{text, info.Mode().Perm()}
	}
}

// flatten replaces a git configuration with includes by its effective content, because the included files are outside
// of the room, and their paths are relative to the configuration.
func (h home) flatten(ctx context.Context, repo *git.Repo) error {
	includes := func(name string) bool {
		return strings.Contains(strings.ToLower(string(h.files[name].text)), "[include")
	}
	if !includes(".gitconfig") && !includes(".config/git/config") {
		return nil
	}
	out, err := repo.Run(ctx, "config", "--global", "--includes", "--list", "-z")
	if err != nil {
		return fmt.Errorf("read the user's git configuration: %w", err)
	}
	var b strings.Builder
	for entry := range strings.SplitSeq(out, "\x00") {
		key, text, hasValue := strings.Cut(entry, "\n")
		first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
		if first < 0 || strings.HasPrefix(key, "include") {
			continue
		}
		section := key[:first]
		if last > first {
			section += " " + quoteGit(key[first+1:last])
		}
		b.WriteString("[" + section + "]\n\t" + key[last+1:])
		if hasValue {
			b.WriteString(" = " + quoteGit(text))
		}
		b.WriteByte('\n')
	}
	delete(h.files, ".config/git/config")
	h.files[".gitconfig"] = setting{[]byte(b.String()), 0o644}
	return nil
}

func quoteGit(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(s) + `"`
}

// make makes dir the home of a room, and removes its old content.
func (h home) make(dir string) error {
	if err := git.RemoveAll(dir); err != nil {
		return fmt.Errorf("clear the home of a room: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the home of a room: %w", err)
	}
	for _, rel := range h.links {
		to := filepath.Join(dir, filepath.FromSlash(rel))
		err := os.MkdirAll(filepath.Dir(to), 0o700)
		if err == nil {
			err = os.Symlink(filepath.Join(h.real, filepath.FromSlash(rel)), to)
		}
		if err != nil {
			return fmt.Errorf("make the home of a room: %w", err)
		}
	}
	for rel, s := range h.files {
		to := filepath.Join(dir, filepath.FromSlash(rel))
		err := os.MkdirAll(filepath.Dir(to), 0o700)
		if err == nil {
			err = os.WriteFile(to, s.text, s.mode|0o600)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make the home of a room: %w", err)
		}
	}
	return nil
}

// env returns the environment of programs in the room at dir: the user's, with values for the user's home, the
// checkout or a build cache replaced by those of the room.
func (r *Rooms) env(rm *Room) []string {
	own := map[string]string{
		"HOME": rm.home(), "TMPDIR": rm.Temp, "GOCACHE": r.goCache(), "GOENV": "off", "GIT_CEILING_DIRECTORIES": r.Dir,
		"CARGO_TARGET_DIR": filepath.Join(rm.root, "cargo"), "PYTHONDONTWRITEBYTECODE": "1",
	}
	if rm.user != nil {
		if _, ok := rm.user.files[goEnv]; ok {
			own["GOENV"] = filepath.Join(rm.home(), filepath.FromSlash(goEnv))
		}
		if rm.user.real == "" {
			delete(own, "HOME")
		} else {
			own["RUNPLAN_USER_HOME"] = rm.user.real // for set-ups and gates of the configuration that need a file there
		}
	}
	r.mu.Lock()
	if r.recompile {
		own["PYTHONPYCACHEPREFIX"] = filepath.Join(rm.Temp, "pycache")
	}
	r.mu.Unlock()
	drop := []string{"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "GIT_CONFIG_GLOBAL", "TEMP", "TMP", "PWD", "OLDPWD"}
	if !rm.holds("go.work") {
		own["GOWORK"] = "off" // go searches for go.work in all folders above
	}
	if proc.Getenv(r.Environ, "GOENV") == "off" {
		own["GOENV"] = "off"
	}
	if proc.Getenv(r.Environ, "GOWORK") != "" {
		delete(own, "GOWORK") // the user's own choice, from before the run
	}
	if proc.Getenv(r.Environ, "GIT_CONFIG_GLOBAL") != "" {
		own["GIT_CONFIG_GLOBAL"] = filepath.Join(rm.home(), ".gitconfig")
		drop = slices.DeleteFunc(drop, func(n string) bool { return n == "GIT_CONFIG_GLOBAL" })
	}
	out := make([]string, 0, len(r.Environ)+len(own))
	for _, kv := range r.Environ {
		name, text, ok := strings.Cut(kv, "=")
		if _, ours := own[name]; !ok || ours || slices.Contains(drop, name) {
			continue
		}
		if name == "PATH" {
			kv = "PATH=" + r.path(text, rm)
		} else if name == "VIRTUAL_ENV" {
			kv = name + "=" + r.moved(text, rm)
		}
		out = append(out, kv)
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		out = append(out, name+"="+own[name])
	}
	return out
}

// path returns PATH without relative folders, and with folders of the user's checkout replaced by the same folders of
// the room: an agent may have written to the checkout.
func (r *Rooms) path(list string, rm *Room) string {
	var out []string
	for _, dir := range filepath.SplitList(list) {
		if filepath.IsAbs(dir) {
			out = append(out, r.moved(dir, rm))
		}
	}
	return strings.Join(out, string(filepath.ListSeparator))
}

func (r *Rooms) moved(path string, rm *Room) string {
	if rel, err := filepath.Rel(r.Repo.Root, path); err == nil && filepath.IsLocal(rel) {
		return filepath.Join(rm.Dir, rel)
	}
	return path
}

// goCache is the build cache of go in rooms. It is not the user's: an entry of that one may have been forged.
func (r *Rooms) goCache() string {
	return cmp.Or(proc.Getenv(r.Environ, "RUNPLAN_GATE_GOCACHE"), filepath.Join(filepath.Dir(r.Dir), "go-build"))
}
