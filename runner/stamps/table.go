package stamps

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
)

// kind says how a place is compared.
type kind int

const (
	plain   kind = iota // a file: its content is kept, and restored when it changes
	told                // a file that people edit and that starts no gate: a change is reported and stays
	listing             // a folder: a new one is moved aside, a change of its entries is reported
	folder              // a folder of programs, such as hooks: each file in it is compared
	program             // a program on PATH: a new one that hides no other is reported and stays
)

// place is one line of the table: the path of a tool's settings, and their effect.
type place struct {
	tool   string
	steers string
	kind   kind
	// paths are globs. They begin with "~" or with a variable of the environment; a variable that is not set has the
	// value of [defaults], and without one the path is ignored.
	paths []string
}

// defaults are the values of variables that are not set.
func defaults() map[string]string {
	return map[string]string{
		"XDG_CONFIG_HOME":  "~/.config",
		"CARGO_HOME":       "~/.cargo",
		"RUSTUP_HOME":      "~/.rustup",
		"GRADLE_USER_HOME": "~/.gradle",
		"BUNDLE_USER_HOME": "~/.bundle",
		"PYTHONUSERBASE":   "~/.local",
		"PYENV_ROOT":       "~/.pyenv",
		"NVM_DIR":          "~/.nvm",
		"RBENV_ROOT":       "~/.rbenv",
	}
}

// userPlaces are the settings of a user that tools read wherever they run. One line a tool.
func userPlaces() []place {
	return []place{
		{"git", "the hooks, filters and programs that git runs", plain,
			[]string{"$GIT_CONFIG_GLOBAL", "~/.gitconfig", "$XDG_CONFIG_HOME/git/config", "$XDG_CONFIG_HOME/git/attributes",
				"$XDG_CONFIG_HOME/git/ignore"}},
		{"go", "the flags of go build and go test", plain, []string{"$GOENV", "$OS_CONFIG/go/env", "$GOROOT/go.env"}},
		{"golangci-lint", "which linters run", plain,
			[]string{"~/.golangci.yml", "~/.golangci.yaml", "~/.golangci.toml", "~/.golangci.json"}},
		{"npm", "the shell and the options of scripts", plain, []string{"~/.npmrc", "$NPM_CONFIG_PREFIX/etc/npmrc"}},
		{"yarn", "plugins and the options of scripts", plain, []string{"~/.yarnrc", "~/.yarnrc.yml", "~/.yarn/plugins/*"}},
		{"pnpm", "the shell and the options of scripts", plain,
			[]string{"$XDG_CONFIG_HOME/pnpm/rc", "~/Library/Preferences/pnpm/rc"}},
		{"bun", "files that are loaded before tests", plain, []string{"~/.bunfig.toml", "$XDG_CONFIG_HOME/.bunfig.toml"}},
		{"node", "modules that node finds everywhere", listing, []string{"~/.node_modules", "~/.node_libraries"}},
		{"eslint", "which rules apply", plain,
			[]string{"~/.eslintrc", "~/.eslintrc.js", "~/.eslintrc.cjs", "~/.eslintrc.json", "~/.eslintrc.yml",
				"~/.eslintrc.yaml", "~/.eslintignore"}},
		{"python", "code that Python runs when it starts", plain, []string{
			"$PYTHONUSERBASE/lib/python*/site-packages/*.pth", "$PYTHONUSERBASE/lib/python*/site-packages/*customize.py",
			"~/Library/Python/*/lib/python/site-packages/*.pth", "~/Library/Python/*/lib/python/site-packages/*customize.py"}},
		{"python", "packages and plugins that Python finds everywhere", listing,
			[]string{"$PYTHONUSERBASE/lib/python*/site-packages", "~/Library/Python/*/lib/python/site-packages"}},
		{"pip", "where packages come from", plain,
			[]string{"$XDG_CONFIG_HOME/pip/*", "~/.pip/*", "~/.pydistutils.cfg", "~/Library/Application Support/pip/*"}},
		{"uv, poetry", "where packages come from", plain,
			[]string{"$XDG_CONFIG_HOME/uv/*.toml", "$XDG_CONFIG_HOME/pypoetry/*.toml"}},
		{"flake8, pycodestyle, pylint", "which rules apply", plain,
			[]string{"$XDG_CONFIG_HOME/flake8", "~/.flake8", "$XDG_CONFIG_HOME/pycodestyle", "~/.pycodestyle", "~/.pylintrc",
				"$XDG_CONFIG_HOME/pylintrc"}},
		{"mypy", "which errors are reported", plain, []string{"$XDG_CONFIG_HOME/mypy/config", "~/.mypy.ini"}},
		{"ruff", "which rules apply", plain, []string{"$XDG_CONFIG_HOME/ruff/*.toml", "$XDG_CONFIG_HOME/ruff/.ruff.toml"}},
		{"black, isort", "how code is formatted", plain, []string{"$XDG_CONFIG_HOME/black", "~/.black", "~/.isort.cfg"}},
		{"cargo", "the compiler, its wrapper and flags", plain,
			[]string{"$CARGO_HOME/config", "$CARGO_HOME/config.toml", "$RUSTUP_HOME/settings.toml"}},
		{"rustfmt", "how code is formatted", plain,
			[]string{"$XDG_CONFIG_HOME/rustfmt/*", "~/.rustfmt.toml", "~/rustfmt.toml"}},
		{"bundler, gem", "which gems are loaded and from where", plain,
			[]string{"$BUNDLE_USER_HOME/config", "~/.gemrc", "$XDG_CONFIG_HOME/gem/gemrc"}},
		{"rspec", "the options of test runs", plain, []string{"~/.rspec", "$XDG_CONFIG_HOME/rspec/options"}},
		{"rubocop", "which rules apply", plain, []string{"~/.rubocop.yml", "$XDG_CONFIG_HOME/rubocop/config.yml"}},
		{"maven", "repositories, profiles and options", plain,
			[]string{"~/.m2/settings*.xml", "~/.m2/toolchains.xml", "~/.m2/extensions.xml", "~/.mavenrc"}},
		{"gradle", "scripts that run before each build", plain,
			[]string{"$GRADLE_USER_HOME/gradle.properties", "$GRADLE_USER_HOME/init.gradle*", "$GRADLE_USER_HOME/init.d/*"}},
		{"dotnet, composer", "where packages come from", plain,
			[]string{"~/.nuget/NuGet/*.Config", "$XDG_CONFIG_HOME/NuGet/*.Config", "~/.composer/*.json",
				"$XDG_CONFIG_HOME/composer/*.json"}},
		{"shellcheck", "which rules apply", plain, []string{"~/.shellcheckrc", "$XDG_CONFIG_HOME/shellcheckrc"}},
		{"perl, R", "code and options of test runs", plain,
			[]string{"~/.proverc", "~/.perlcriticrc", "~/.Rprofile", "~/.Renviron"}},
		{"version managers", "which version of a tool runs", plain,
			[]string{"~/.tool-versions", "~/.asdfrc", "$XDG_CONFIG_HOME/mise/*.toml", "$PYENV_ROOT/version",
				"$RBENV_ROOT/version", "$NVM_DIR/alias/default"}},
		{"curl, wget", "where downloads come from", plain, []string{"~/.curlrc", "$XDG_CONFIG_HOME/.curlrc", "~/.wgetrc"}},
		{"zsh", "startup files of every zsh", plain, []string{"~/.zshenv"}},
		{"shells", "startup files of your shells", told, []string{
			"~/.bashrc", "~/.bash_profile", "~/.bash_login", "~/.bash_aliases", "~/.profile", "~/.zshrc", "~/.zprofile",
			"~/.zlogin",
			"$XDG_CONFIG_HOME/fish/config.fish", "$XDG_CONFIG_HOME/environment.d/*.conf", "~/.pam_environment"}},
		{"ssh", "who may log in, and the programs that ssh runs", told,
			[]string{"~/.ssh/config", "~/.ssh/rc", "~/.ssh/authorized_keys", "~/.ssh/environment"}},
	}
}

// upwardNames lists files that tools search in every folder above their working directory. Each tool has one line.
func upwardNames() []place {
	return []place{
		{"go", "modules, versions and linters", plain,
			[]string{"go.work", "go.work.sum", "go.mod", ".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json",
				"staticcheck.conf"}},
		{"node", "packages that apply to all folders below", listing, []string{"node_modules"}},
		{"node", "scripts, modules and test settings", plain, []string{
			"package.json", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnp.cjs", ".pnp.loader.mjs", "pnpm-workspace.yaml",
			"bunfig.toml", "deno.json", "deno.jsonc",
			"tsconfig.json", "jsconfig.json", ".babelrc", ".babelrc.js", ".babelrc.cjs", ".babelrc.json", "babel.config.js",
			"babel.config.cjs", "babel.config.mjs", "babel.config.json",
			".mocharc.js", ".mocharc.cjs", ".mocharc.json", ".mocharc.jsonc", ".mocharc.yml", ".mocharc.yaml", ".swcrc",
			".browserslistrc", "postcss.config.js", "postcss.config.cjs"}},
		{"node linters", "which rules apply", plain, []string{
			".eslintrc", ".eslintrc.js", ".eslintrc.cjs", ".eslintrc.json", ".eslintrc.yml", ".eslintrc.yaml",
			"eslint.config.js", "eslint.config.mjs", "eslint.config.cjs",
			"eslint.config.ts", "eslint.config.mts", "eslint.config.cts", ".prettierrc", ".prettierrc.json", ".prettierrc.js",
			".prettierrc.yaml", "prettier.config.js", "biome.json", "biome.jsonc", ".biome.json", ".biome.jsonc"}},
		{"python", "plugins and options of tests and linters", plain, []string{
			"pytest.ini", ".pytest.ini", "pytest.toml", "conftest.py", "tox.ini", "setup.cfg", "setup.py", "pyproject.toml",
			".coveragerc", "ruff.toml", ".ruff.toml", ".flake8", "mypy.ini", ".mypy.ini",
			".pylintrc", "pylintrc", "pylintrc.toml", ".pylintrc.toml", "pyrightconfig.json", ".isort.cfg", ".style.yapf"}},
		{"rust", "the workspace, the compiler and its flags", plain, []string{
			"Cargo.toml", ".cargo/config", ".cargo/config.toml", "rustfmt.toml", ".rustfmt.toml", "clippy.toml", ".clippy.toml",
			"rust-toolchain", "rust-toolchain.toml"}},
		{"ruby", "gems, tasks and options", plain,
			[]string{"Gemfile", "gems.rb", ".bundle/config", "Rakefile", "rakefile", "Rakefile.rb", ".rubocop.yml", ".rspec"}},
		{"java", "options and plugins of the build", plain,
			[]string{".mvn/jvm.config", ".mvn/maven.config", ".mvn/extensions.xml", "settings.gradle", "settings.gradle.kts",
				"gradle.properties"}},
		{"dotnet, php", "options of the build", plain,
			[]string{"Directory.Build.props", "Directory.Build.targets", "Directory.Packages.props", "global.json",
				"NuGet.Config", "phpunit.xml", "composer.json"}},
		{"version managers", "which version of a tool runs", plain,
			[]string{".tool-versions", "mise.toml", ".mise.toml", ".python-version", ".ruby-version", ".node-version", ".nvmrc",
				".sdkmanrc"}},
		{"editors and linters", "which rules apply", plain,
			[]string{".editorconfig", ".shellcheckrc", ".clang-format", ".clang-tidy", ".yamllint", "sgconfig.yml",
				".markdownlint.json", "justfile", "Taskfile.yml"}},
	}
}

// programs lists the names of programs that gates use from PATH. Other files in those folders are not compared,
// because agents install tools there.
func programs() []string {
	return []string{
		"go", "gofmt", "python", "python3", "pytest", "node", "npm", "npx", "yarn", "pnpm", "bun", "deno", "cargo", "rustc",
		"ruby", "bundle", "rspec", "rake",
		"java", "javac", "mvn", "gradle", "php", "phpunit", "dotnet", "make", "cmake", "bash", "sh", "bats", "git",
	}
}

// Upward returns the names of the files that tools search in every folder above their working directory.
func Upward() (names []string) {
	for _, p := range upwardNames() {
		if p.kind == plain { // a folder of packages changes whenever its user installs one
			names = append(names, p.paths...)
		}
	}
	return names
}

type setting struct{ section, sub, key, value string }

var (
	sectionLine = lazyre.New(`^\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\](.*)$`)
	keyLine     = lazyre.New(`^([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?$`)
)

// powerful lists settings that make git run programs, use other files, or fetch from elsewhere.
var powerful = lazyre.New(`hook|fsmonitor|sshcommand|askpass|pager|editor|textconv|clean|smudge|process|helper|command|cmd|program|alias|insteadof|external|driver|worktree|include|` +
	`filter|proxy|pack|vcs|protocol|attributesfile|excludesfile|update|browser|man\.|template|extensions|tool|bare`)

// Weigh assesses a change of git's configuration. left means that the change may stay, because it only concerns
// branches, new remotes or submodules. Users make such changes all the time, and so does runplan when it checks out
// submodules. mild means that the change does not make git run programs.
func Weigh(before, after string) (left, mild bool) {
	was, ok := settings(before)
	is, readable := settings(after)
	if !ok || !readable {
		return false, false
	}
	known := func(s setting) bool {
		return slices.ContainsFunc(was, func(o setting) bool { return o.section == s.section && o.sub == s.sub })
	}
	everyday := func(s setting) bool {
		switch s.section {
		case "branch":
			return s.sub != "" && slices.Contains([]string{"remote", "merge", "rebase", "description"}, s.key)
		case "remote":
			return s.sub != "" && !known(s) && (s.key == "url" || s.key == "fetch")
		case "submodule":
			return s.sub != "" && !known(s) && (s.key == "url" || s.key == "active")
		}
		return false
	}
	rest := func(all []setting) []setting { return slices.DeleteFunc(slices.Clone(all), everyday) }
	a, b := rest(was), rest(is)
	if slices.Equal(a, b) {
		return true, true
	}
	strong := func(of, other []setting) bool {
		return slices.ContainsFunc(of, func(s setting) bool {
			return !slices.Contains(other, s) && powerful.MatchString(s.section+"."+s.key)
		})
	}
	return false, !strong(b, a) && !strong(a, b)
}

// settings reads a configuration. What it cannot read for certain it does not read at all.
func settings(text string) (out []setting, ok bool) {
	var section, sub string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasSuffix(line, `\`) {
			return nil, false // it continues in the next line
		}
		if m := sectionLine.FindStringSubmatch(line); m != nil {
			section, sub = strings.ToLower(m[1]), m[2]
			line = strings.TrimSpace(m[3])
		}
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		m := keyLine.FindStringSubmatch(line)
		if m == nil {
			return nil, false
		}
		out = append(out, setting{section, sub, strings.ToLower(m[1]), m[2]})
	}
	return out, true
}

// gitPlace is the table's line for files that a configuration of git names.
func gitPlace() place {
	return place{tool: "git", steers: "the hooks, filters and programs that git runs"}
}

// maxIncludes limits how deep included configurations are followed, as in git.
const maxIncludes = 10

// follow returns the files and the folders of hooks that a configuration of git and its includes name.
func (w *Watch) follow(path string, depth int) (files, hooks []string) {
	if depth > maxIncludes {
		return nil, nil
	}
	file, _ := Read(path)
	lines, _ := settings(file.Data)
	for _, s := range lines {
		to := w.target(path, strings.Trim(s.value, `"`))
		if to == "" {
			continue
		}
		switch s.section + "." + s.key {
		case "include.path", "includeif.path":
			f, h := w.follow(to, depth+1)
			files, hooks = append(append(files, to), f...), append(hooks, h...)
		case "core.attributesfile", "core.excludesfile":
			files = append(files, to)
		case "core.hookspath":
			hooks = append(hooks, to)
		}
	}
	return files, hooks
}

// hooksIn visits the files in a folder of hooks.
func hooksIn(dir string, visit func(path string, p place)) {
	n := 0
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if n++; n > maxFolder {
			return fs.SkipAll
		}
		if err == nil && !d.IsDir() {
			visit(path, gitPlace())
		}
		return nil // what cannot be read cannot be run
	})
}

// target returns the absolute path in a value of a configuration, "" for none.
func (w *Watch) target(config, value string) string {
	switch rest, inHome := strings.CutPrefix(value, "~/"); {
	case value == "":
		return ""
	case inHome:
		return under(w.base("~"), rest)
	case filepath.IsAbs(value):
		return filepath.Clean(value)
	}
	return filepath.Join(filepath.Dir(config), filepath.FromSlash(value))
}
