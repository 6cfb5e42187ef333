package promise

import (
	"path"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/planparse"
)

// aside returns why a command of the plan is not run as a check; "" if it is.
func aside(c planparse.Command) string {
	if c.Expected == "FAIL" && !exitStatus.MatchString(c.Said) {
		return "the plan expects it to fail at first, and no later step states its final result"
	}
	if placeholderIn.MatchString(c.Run) {
		return "it contains a placeholder"
	}
	f, err := parse(c.Run)
	if err != nil {
		return "a shell cannot parse it: " + strings.TrimPrefix(err.Error(), ":")
	}
	calls := callsOf(f)
	if len(calls) == 0 {
		return "it contains no command"
	}
	for _, call := range calls {
		if why := asideOf(call); why != "" {
			return why
		}
	}
	if backgrounds(f) {
		return "it leaves a process running in the background"
	}
	if !slices.ContainsFunc(calls, func(call []string) bool {
		return !writes(call) && call[0] != "cd" && call[0] != "source" && call[0] != "." && call[0] != "export"
	}) {
		return "it changes files and checks nothing: the change contains its result"
	}
	return ""
}

var placeholderIn = lazyre.New(`<[A-Za-z][\w -]*>(?:\s|$|/)|\bYOUR_|\bpath/to/|(?:^|\s)\.\.\.(?:\s|$)|…|\{\{`)

// callsOf lists the simple commands of a script, each with its known words; an expanded word is "".
func callsOf(f *syntax.File) [][]string {
	var out [][]string
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl:
			return false
		case *syntax.CallExpr:
			var call []string
			for _, w := range n.Args {
				text, plain := literal(w)
				if !plain {
					text = glob(w)
				}
				call = append(call, text)
			}
			for len(call) > 1 && slices.Contains([]string{"sudo", "env", "time", "command", "exec", "nohup", "nice"}, call[0]) {
				call = call[1:]
				for len(call) > 1 && (strings.HasPrefix(call[0], "-") || strings.Contains(call[0], "=")) {
					call = call[1:]
				}
			}
			if len(call) > 2 && call[0] == "timeout" { // a timeout ends it: timeout 30 make serve
				return true
			}
			if len(call) > 0 {
				call[0] = path.Base(call[0])
				out = append(out, call)
			}
		}
		return true
	})
	return out
}

// glob returns the text of a word without its unknown parts.
func glob(w *syntax.Word) string {
	var b strings.Builder
	for _, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok {
			b.WriteString(lit.Value)
		}
	}
	return b.String()
}

func backgrounds(f *syntax.File) bool {
	found, waits := false, false
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			found = found || n.Background || n.Coprocess
		case *syntax.CallExpr:
			if len(n.Args) > 0 {
				if name, _ := literal(n.Args[0]); name == "wait" || name == "kill" || name == "pkill" {
					waits = true
				}
			}
		}
		return true
	})
	return found && !waits
}

const (
	serves   = "it starts a server, which does not end by itself"
	watches  = "it watches files and does not end by itself"
	interact = "it waits for a person at a terminal"
	outward  = "it changes or queries a system outside of the tree"
	ofGit    = "runplan runs git itself"
	noCheck  = "it is not a command"
)

// asides maps calls that are not run to the reason: a program and its first argument, "" for none and "*" for any.
var asides = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for _, row := range []struct{ programs, first, why string }{
		{`uvicorn gunicorn hypercorn daphne http-server live-server json-server streamlit air browser-sync webpack-dev-server
			redis-server mongod postgres mysqld jupyter jupyter-lab jupyter-notebook gradio puma unicorn php-fpm storybook
			start-storybook celery sidekiq foreman honcho supervisord ngrok`, "*", serves},
		{`vim vi nvim nano emacs code less more man top htop read select tmux screen fzf gdb lldb pdb ipython sudo su passwd
			login tig lazygit whiptail dialog`, "*", interact},
		{`gh glab hub docker podman docker-compose kubectl helm terraform pulumi ansible ansible-playbook vagrant systemctl
			service launchctl aws gcloud az flyctl fly heroku vercel netlify ssh scp rsync sftp psql mysql mongosh redis-cli
			curl wget http dig nslookup ping nginx crontab claude codex gemini twine open xdg-open start say osascript kill
			pkill killall reboot shutdown`, "*", outward},
		{"node irb ghci lua bash zsh sh python python3", "", interact},
		{"vite parcel", "", serves},
		{webTools, "dev start serve preview develop", serves},
		{webTools, "deploy publish", outward},
		{appTools, "server s runserver serve run phx.server up", serves},
		{appTools, "console c shell", interact},
		{"cargo", "watch", watches},
		{"cargo", "publish login install", outward},
	} {
		for _, program := range strings.Fields(row.programs) {
			for _, first := range strings.Split(row.first, " ") {
				out[program+" "+first] = row.why
			}
		}
	}
	return out
})

const (
	webTools = "vite next nuxt astro gatsby webpack remix ng vue-cli-service expo wrangler parcel"
	appTools = "rails django-admin manage.py flask hugo jekyll mkdocs artisan mix caddy ollama"
)

// asideOf returns why a call is not run.
func asideOf(call []string) string {
	name, args := call[0], call[1:]
	has := func(words ...string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return slices.Contains(words, a) })
	}
	first := ""
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			first = a
			break
		}
	}
	help := has("--help", "-h", "--version", "-V", "version", "help")
	if name == "" {
		return "its program is known only when it runs"
	}
	if strings.HasPrefix(name, "-") || !programName.MatchString(name) {
		return noCheck
	}
	if help {
		return ""
	}
	if (has("--watch", "--watchAll", "--watch-all", "-w", "watch") && slices.Contains(watchers, name)) ||
		slices.Contains([]string{"watch", "entr", "nodemon", "watchexec", "inotifywait"}, name) {
		if !has("--watch=false", "--no-watch") {
			return watches
		}
	}
	if name == "tail" && (has("-f", "-F", "--follow") || slices.ContainsFunc(args, func(a string) bool {
		return len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.ContainsAny(a, "fF")
	})) {
		return watches
	}
	if why := asides()[name+" *"]; why != "" {
		return why
	}
	if why := asides()[name+" "+first]; why != "" && (first != "" || len(args) == 0 || why == serves) {
		return why
	}
	switch name {
	case "npm", "pnpm", "yarn", "bun", "deno":
		script := first
		if script == "run" || script == "run-script" || script == "task" {
			script = after(args, first)
		}
		switch base, _, _ := strings.Cut(script, ":"); {
		case script == "dev" || script == "start" || script == "serve" || script == "preview" || base == "dev" ||
			base == "start" || base == "serve" || script == "storybook":
			return serves
		case base == "watch" || strings.HasSuffix(script, ":watch"):
			return watches
		case script == "publish" || script == "login" || script == "adduser" || base == "deploy":
			return outward
		case script == "init" || script == "create":
			return interact
		}
	case "npx", "bunx", "pnpx":
		return asideOf(append([]string{path.Base(first)}, rest(args, first)...))
	case "vitest":
		if first == "" && !has("--run", "run") || first == "watch" || first == "dev" {
			return "" // in CI, which the gates' variables indicate, it runs once
		}
	case "python", "python3":
		if m := after(args, "-m"); m != "" &&
			slices.Contains([]string{"http.server", "flask", "uvicorn", "gunicorn", "streamlit", "jupyter", "SimpleHTTPServer"},
				m) {
			return serves
		}
		if has("runserver") {
			return serves
		}
		if after(args, "-m") == "pip" {
			return outsideInstall(args)
		}
	case "pip", "pip3", "uv", "poetry", "pipx", "gem", "brew", "apt", "apt-get", "dnf", "yum", "pacman", "apk", "choco",
		"winget", "cargo-install", "conda", "mamba":
		return outsideInstall(args)
	case "git":
		return asideOfGit(args)
	case "make", "just", "task", "rake", "mage", "invoke", "fab":
		for _, target := range args {
			base := strings.FieldsFunc(target, func(r rune) bool { return r == '-' || r == '_' || r == ':' || r == '.' })
			switch {
			case len(base) == 0:
			case slices.Contains([]string{"serve", "server", "dev", "start", "up"}, base[0]) || target == "run":
				return serves
			case base[0] == "watch":
				return watches
			case slices.Contains([]string{"deploy", "redeploy", "publish", "release", "push", "restart", "stop", "down",
				"install"}, base[0]):
				return outward
			}
		}
	case "cargo":
		if first == "run" && slices.Contains(args, "--") {
			return ""
		}
	case "go":
		if first == "get" || first == "install" {
			return "" // of the module; see writes
		}
	}
	if name != "cd" && slices.ContainsFunc(args,
		func(a string) bool { return strings.HasPrefix(a, "~/") || strings.HasPrefix(a, "$HOME/") }) {
		return "it uses files in a home folder, outside of the tree"
	}
	if name != "cd" && slices.ContainsFunc(args, absolute) {
		return "it uses files outside of the tree"
	}
	if len(args) > 0 && (first == "serve" || first == "server" || first == "daemon" || first == "runserver") {
		return serves
	}
	return ""
}

var programName = lazyre.New(`^[\w.+@\[\]:-]+$`)

// absolute reports whether an argument is a file that belongs to the machine of the plan's author.
func absolute(arg string) bool {
	folders := []string{"/home/", "/Users/", "/root/", "/data/", "/etc/", "/opt/", "/var/", "/srv/", "/mnt/"}
	return slices.ContainsFunc(folders, func(p string) bool { return strings.HasPrefix(arg, p) })
}

// outsideInstall returns why a command must not run if it installs programs on the machine; "" if it runs a program
// of the project.
func outsideInstall(args []string) string {
	for _, a := range args {
		switch a {
		case "install", "add", "upgrade", "uninstall", "remove", "update":
			return "it installs something, which belongs into the set-up of workspaces"
		case "run", "sync", "check", "list", "show", "freeze":
			return ""
		}
	}
	return ""
}

func asideOfGit(args []string) string {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-C" || a == "-c" || a == "--git-dir" || a == "--work-tree":
			i++
		case strings.HasPrefix(a, "-"):
		default:
			switch a {
			case "grep", "ls-files", "show", "cat-file", "check-ignore", "check-attr", "rev-parse", "ls-tree":
				return ""
			}
			return ofGit
		}
	}
	return ofGit
}

// after returns the argument after word.
func after(args []string, word string) string {
	if i := slices.Index(args, word); i >= 0 && i+1 < len(args) {
		return args[i+1]
	}
	return ""
}

func rest(args []string, word string) []string {
	if i := slices.Index(args, word); i >= 0 {
		return args[i+1:]
	}
	return nil
}

var (
	watchers = []string{"npm", "pnpm", "yarn", "bun", "npx", "bunx", "jest", "vitest", "mocha", "tsc", "webpack", "rollup",
		"cargo", "pytest", "ptw", "deno", "node", "tsx", "sass", "esbuild", "go", "make", "just", "swift", "dotnet", "gradle",
		"nx", "turbo", "ava", "karma"}
)

// writes reports whether a call only changes files and checks nothing.
func writes(call []string) bool {
	name, args := call[0], call[1:]
	switch name {
	case "mkdir", "rm", "rmdir", "mv", "cp", "touch", "ln", "chmod", "chown", "tar", "unzip", "zip", "patch", "install",
		"tee", "truncate":
		return true
	case "sed", "perl":
		return slices.ContainsFunc(args,
			func(a string) bool { return strings.HasPrefix(a, "-i") || strings.HasPrefix(a, "-pi") })
	case "npm", "pnpm", "yarn", "bun":
		return len(args) > 0 &&
			slices.Contains([]string{"install", "i", "add", "remove", "uninstall", "ci", "update", "upgrade", "link"}, args[0])
	case "go":
		return len(args) > 0 && slices.Contains([]string{"get", "install", "generate"}, args[0]) || len(args) > 1 &&
			args[0] == "mod" && args[1] != "verify"
	case "gofmt", "goimports", "prettier", "black", "isort":
		return slices.Contains(args, "-w") || slices.Contains(args, "--write")
	case "make":
		return len(args) > 0 && slices.Contains([]string{"fmt", "format", "generate"}, args[0])
	}
	return false
}

// checks reports whether a command is a test runner, a compiler or a linter. Such a command must pass even if the plan
// does not say so.
func checks(run string) bool {
	f, err := parse(run)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(callsOf(f), func(call []string) bool {
		for len(call) > 1 &&
			slices.Contains([]string{"npx", "bunx", "pnpx", "uv", "poetry", "bundle", "pipenv", "exec", "run"}, call[0]) {
			call = call[1:]
		}
		args := strings.Join(call[1:], " ")
		switch name := call[0]; name {
		case "pytest", "py.test", "tox", "nox", "jest", "vitest", "mocha", "ava", "bats", "shellcheck", "ruff", "flake8",
			"mypy", "pyright", "eslint", "tsc", "vue-tsc", "golangci-lint", "staticcheck", "rspec",
			"phpunit", "ctest", "clippy", "rubocop":
			return true
		case "go":
			return strings.HasPrefix(args, "test") || strings.HasPrefix(args, "build") || strings.HasPrefix(args, "vet")
		case "cargo", "swift", "dotnet", "mvn", "gradle", "gradlew", "zig", "dart", "flutter", "mix", "sbt", "bazel", "deno":
			return strings.Contains(args, "test") || strings.Contains(args, "build") || strings.Contains(args, "check") ||
				strings.Contains(args, "clippy") || strings.Contains(args, "verify")
		case "npm", "pnpm", "yarn", "bun", "make", "just", "rake", "task":
			return strings.Contains(args, "test") || strings.Contains(args, "lint") || strings.Contains(args, "build") ||
				strings.Contains(args, "check") || strings.Contains(args, "typecheck") || strings.Contains(args, "ci")
		case "python", "python3":
			return strings.HasPrefix(args, "-m pytest") || strings.HasPrefix(args, "-m unittest") ||
				strings.HasPrefix(args, "-m mypy") || strings.HasPrefix(args, "-m ruff") || strings.HasPrefix(args, "-m py_compile")
		case "node":
			return strings.HasPrefix(args, "--test") || strings.HasPrefix(args, "--check") || strings.HasPrefix(args, "-c ")
		case "bash", "sh":
			return strings.Contains(args, "test") || strings.HasPrefix(args, "-n ")
		}
		return false
	})
}
