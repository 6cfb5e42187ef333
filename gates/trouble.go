package gates

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
)

// ErrHindered is wrapped by an error of a gate if the cause is outside of the code: a missing program or package, no
// network, no permission.
var ErrHindered = errors.New("the tools are not ready")

// hindrance is a sign of a problem with tools. The first group of the expression is the missing thing.
type hindrance struct {
	sign *lazyre.Regexp
	what string // with %s for the first group
	fix  string
}

// hindrances lists the messages of shells, package managers and build tools that could not work. A line counts only
// if no test failed by name and no file of the tree failed to compile.
var hindrances = []hindrance{
	{lazyre.New(`(?m)(?:^|: )(?:ModuleNotFoundError: )?No module named '?(pytest|unittest2|nose2?|tox|nox|pip|setuptools|coverage|hatch|poetry|uv|hypothesis)'?$`),
		"the Python module %s is missing", "install it into the project's environment: pip install %s"},
	{lazyre.New(`(?m)Could not find (?:gem )?'?([\w.-]+)(?:[-( ][^'\n]*)?'? in (?:any of|locally installed|rubygems|cached|the local)|bundler: command not found: (\S+)|^Bundler::GemNotFound: (.*)$`),
		"the gem %s is missing", "run bundle install"},
	{lazyre.New(`cannot load such file -- (minitest|rspec|rake|bundler|test/unit|test-unit)\b|can't find gem ([\w-]+)`),
		"the Ruby library %s is missing", "install it: gem install %s, or run bundle install"},
	{noComponent, "a part of the tool chain is missing", "install it: rustup component add clippy rustfmt"},
	{lazyre.New(`(?m)^(?:g?make)(?:\[\d+\])?: ([\w./+-]+): No such file or directory$`),
		"make found no program %s", "install %s, or put its folder into PATH"},
	{lazyre.New(`(?m)^(?:(?:\S*/)?(?:sh|bash|dash|zsh|ksh|ash|fish|make(?:\[\d+\])?)|\S+: line \d+|(?:\S*/)?(?:sh|dash|ash): \d+|\S+\.sh: \d+): (?:line \d+: |\d+: )?['‘"]?([\w./+-]+)['’"]?: (?:command not found|not found|inaccessible or not found)$|` +
		`(?m)^\S*(?:zsh|fish)\S*: (?:command not found: |Unknown command:? )([\w./+-]+)$|(?m)^(?:\S*/)?env: ['‘"]?([\w./+-]+)['’"]?: No such file or directory$|` +
		`exec: "([^"]+)": executable file not found|(?m)^'?([\w./+-]+)'? is not recognized as (?:an internal or external command|the name of a cmdlet)|spawn (\S+) ENOENT`),
		"the program %s is not installed", "install %s, or put its folder into PATH"},
	{lazyre.New(`(?m)^(?:\S*(?:sh|bash|dash|zsh|make(?:\[\d+\])?|[\w./-]+\.sh|env)): (?:line )?(?:\d+: )?([\w./+-]+): Permission denied$`),
		"%s is not executable", "chmod +x %s"},
	{lazyre.New(`(?m)(?:EACCES|EPERM): (?:permission denied|operation not permitted),? ?(.{0,160})$|^(?:mkdir|touch|cp|mv|rm|cat|ln|install): (.{0,160}): Permission denied$`),
		"permission denied: %s", "let the user of runplan read and write it"},
	{lazyre.New(`(?m)(Plugin \S+ or one of its dependencies could not be resolved|Could not (?:resolve dependencies for project|transfer artifact|find artifact) \S+|Non-resolvable (?:parent POM|import POM) for \S+|Unresolveable build extension: \S+ \S+|Cannot access \S+ \(\S+\) in offline mode)`),
		"Maven could not get a plugin or a package: %s",
		"run mvn -B dependency:go-offline with a network, or add it to [workspace] setup"},
	{lazyre.New(`(?m)(Could not resolve all (?:files|dependencies|artifacts|task dependencies) for \S+ ?\S+|Plugin \[id: [^\]]+\] was not found in any of the following sources|Could not (?:GET|HEAD) '[^']+'|No cached version (?:of|listing for) \S+ available for offline mode)`),
		"Gradle could not get a plugin or a package: %s",
		"run the build once with a network, or add it to [workspace] setup"},
	{lazyre.New(`(?m)Exception in thread "main" java\.(?:net|io|util)\.[\w.]*(?:UnknownHost|Connect|FileNotFound|Socket)\w*|Downloading https?://services\.gradle\.org/\S+\n+(?:Exception|.*timed out)`),
		"the Gradle wrapper could not get its distribution",
		"run ./gradlew --version with a network, or add it to [workspace] setup"},
	{lazyre.New(`(?m)^(?:error: |Caused by:\n\s+|\s+)(failed to (?:get|download|fetch|query|load source for dependency|update) .{0,120}|unable to update registry .{0,80}|attempting to make an HTTP request, but --offline was specified|can't checkout from .{0,80}offline mode|toolchain '[^']+' is not installed|rustup could not choose a version .{0,80})`),
		"cargo could not get a package: %s", "run cargo fetch with a network, or add it to [workspace] setup"},
	{goOffline, "go could not get a module or a tool chain: %s",
		"run go mod download with a network, or add it to [workspace] setup"},
	{lazyre.New(`(?m)(go\.(?:mod|work) (?:file )?requires go >= \S+ \(running go \S+[^)]*\)|module requires Go \S+)`),
		"the installed go is too old: %s", "install a newer one: https://go.dev/dl"},
	{lazyre.New(`(?m)(npm (?:ERR!|error) code (?:ENOTFOUND|ETIMEDOUT|ECONNREFUSED|ECONNRESET|EAI_AGAIN|ENETUNREACH|ENOTCACHED|E401|E403|E404|E5\d\d)|ERR_PNPM_(?:META_FETCH_FAIL|NO_OFFLINE_\w+|FETCH_\d+|OUTDATED_LOCKFILE|NO_LOCKFILE|REQUEST)[^\n]{0,80}|RequestError: [^\n]{0,80}|getaddrinfo (?:EAI_AGAIN|ENOTFOUND) [^\n]{0,60}registry[^\n]{0,60})`),
		"the packages could not be fetched: %s", "install them with a network, or add it to [workspace] setup"},
	{lazyre.New(`(?m)Local package\.json exists, but node_modules missing|Couldn't find the node_modules state file|doesn't seem to be present in your lockfile; run "?yarn install|The lockfile would have been (?:created|modified) by this install|ERR_PNPM_RECURSIVE_EXEC_FIRST_FAIL\s+Command "\S+" not found|Command "\S+" not found, did you mean|could not determine executable to run`),
		"the packages of the project are not installed",
		"install them: npm ci, pnpm install, yarn install or bun install; or add it to [workspace] setup"},
	{lazyre.New(`(?m)(A compatible \.NET SDK was not found|NETSDK1045[^\n]{0,160}|You must install or update \.NET to run this application|It was not possible to find any compatible framework version)`),
		"the .NET SDK does not match the project: %s",
		"install the required version: https://dotnet.microsoft.com/download"},
	{lazyre.New(`(?m)(NU1301: [^\n]{0,160}|NU110[0-3]: [^\n]{0,160}|Unable to load the service index for source \S+)`),
		"the packages could not be fetched: %s", "run dotnet restore with a network, or add it to [workspace] setup"},
	{lazyre.New(`(?m)(error: (?:failed to clone repository|Failed to clone repository|failed to (?:fetch|download)|unable to (?:access|load))[^\n]{0,120}|error: could not find source files? for target\(s\) from dependencies)`),
		"swift could not get a package: %s",
		"run swift package resolve with a network, or add it to [workspace] setup"},
	{noNetwork, "no network: %s", "give the gate network access, or fetch its packages in [workspace] setup"},
	{lazyre.New(`(?m)JAVA_HOME (?:environment variable )?is (?:not (?:set|defined)|set to an invalid)|Unable to locate a Java Runtime|no 'java' command could be found`),
		"Java is not installed", "install a JDK, and set JAVA_HOME"},
	{lazyre.New(`(?m)No space left on device`),
		"the disk is full", "free some space: runplan gc"},
}

var (
	goOffline = lazyre.New(`(?m)((?:dial tcp|lookup)[^\n]{0,60}(?:proxy\.golang\.org|sum\.golang\.org|goproxy)[^\n]{0,80}|module lookup disabled by GOPROXY=off|go: download go\S+[^\n]{0,80}(?:toolchain not available|not found)|Get "https?://[^"]+": (?:dial tcp|proxyconnect)[^\n]{0,80}|reading https?://\S+: (?:401|403|407|429|5\d\d) [^\n]{0,80})`)
	noNetwork = lazyre.New(`(?m)((?:Could not resolve host|Temporary failure in name resolution|Name or service not known|Network is unreachable|No route to host|Failed to establish a new connection|getaddrinfo (?:EAI_AGAIN|ENOTFOUND))[^\n]{0,100})`)
)

// hindered reports whether a program failed for reasons outside of the code. Such an error stops a batch as a failure
// does, but is not blamed on the code.
func (w *Look) hindered(out ran, failures []testout.Failure) error {
	if out.ok() || slices.ContainsFunc(failures, func(f testout.Failure) bool { return w.ofCode(f) }) {
		return nil
	}
	text := out.text
	if out.shown != "" {
		text += "\n" + out.shown
	}
	for _, h := range hindrances {
		m := h.sign.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		what := ""
		for _, g := range m[1:] {
			what = cmp.Or(what, phrase.Cut(strings.TrimSpace(g), 200))
		}
		said := func(format string) string {
			if strings.Contains(format, "%s") {
				return fmt.Sprintf(format, what)
			}
			return format
		}
		return fmt.Errorf("%w: %s (%s); %s", ErrHindered, said(h.what), out.how(), said(h.fix))
	}
	if out.exit == 126 || out.exit == 127 {
		return fmt.Errorf("%w: %s: a program could not be started: %s", ErrHindered, out.how(), lastTelling(text))
	}
	return nil
}

// ofCode recognizes a failure of the code: a test that failed by name, or a file of the tree that does not compile.
func (w *Look) ofCode(f testout.Failure) bool {
	if !f.Build {
		return f.Name != "" && !scriptName.MatchString(f.Name)
	}
	at := w.Rel("", f.Path)
	return f.Path != "" && (at == "" || exists(w.subject.Dir, ".", at)) && !goOffline.MatchString(f.Message) &&
		!noNetwork.MatchString(f.Message)
}

// scriptName matches the name that [testout.Shell] gives to a failure of a script itself.
var scriptName = lazyre.New(`^\S+\.(?:sh|bash|bats)$`)
