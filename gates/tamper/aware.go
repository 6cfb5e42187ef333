package tamper

import (
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
)

// awareness matches code that detects that it is being tested, or that reaches into the test library.
var awareness = map[string]*lazyre.Regexp{
	".go": lazyre.New(`\btesting\.(?:Testing|Short|Verbose|CoverMode)\(\)|flag\.(?:CommandLine\.)?Lookup\("test\.|append\(os\.Args,|"-test\.`),
	".py": lazyre.New(`PYTEST_CURRENT_TEST|\bif\b.*\b(?:sys\.(?:gettrace|getprofile)|gc\.get_(?:objects|referrers)|threading\.active_count)\(|['"](?:pytest|_pytest|unittest)['"]\s+(?:not\s+)?in\s+sys\.modules|sys\.modules\.get\(\s*['"](?:pytest|_pytest|unittest)|` +
		`\bTestCase\.\w+\s*=[^=]|setattr\(\s*(?:unittest\.)?(?:case\.)?TestCase\b|\b(?:unittest|pytest|_pytest)(?:\.\w+)+\s*=[^=]|^\s*builtins\.\w+\s*=[^=]`),
	".js": lazyre.New(`JEST_WORKER_ID|NODE_TEST_CONTEXT|env\b\W{1,4}(?:VITEST|MOCHA)|import\.meta\.vitest|\bassert(?:\.strict)?\.\w+\s*=[^=>]|` +
		`\bglobalThis\.(?:expect|assert|test|it|describe)\s*=[^=]|\btypeof\s+(?:globalThis\.)?(?:describe|it|test|expect|jest|vi|beforeEach|afterEach)\b|` +
		`\b(?:globalThis|global|window|self)(?:\.|\[\s*['"\x60])(?:describe|it|jest|vi|expect|mocha|beforeEach|afterEach)\b['"\x60]?\]?\s*(?:\?|&&|\|\||\)|;|$)|` +
		`['"\x60](?:describe|it|test|jest|vi|expect|mocha|beforeEach|afterEach)['"\x60]\s*(?:in\s+|\).*)\(?(?:globalThis|global|window|self)\b|` +
		`\b(?:Reflect|Object)\.\w+\(\s*(?:globalThis|global|window|self)\s*,\s*['"\x60](?:describe|it|test|jest|vi|expect|mocha|beforeEach)\b|` +
		`\b(?:Object\.(?:keys|entries|getOwnPropertyNames)|Reflect\.ownKeys)\(\s*(?:globalThis|global)\b|` +
		`\b(?:globalThis|global|window|self)\.hasOwnProperty\(\s*['"\x60](?:describe|it|test|jest|vi|expect|mocha)\b|NODE_ENV\W{1,6}={2,3}\s*['"]test['"]\s*\)?\s*\?|npm_lifecycle_event`),
	".rs": lazyre.New(`cfg!\(\s*(?:all\(|any\(|not\()?\s*test\b|#\[cfg\(\s*not\(\s*test\s*\)`),
	".sh": lazyre.New(`\bBATS_\w+`),
}

// introspection matches code that asks for its caller, its process or its surroundings.
var introspection = map[string]*lazyre.Regexp{
	".go": lazyre.New(`\bruntime\.(?:Callers?|FuncForPC|CallersFrames|Stack)\(|\bdebug\.(?:Stack|ReadBuildInfo)\(|\bpprof\.Lookup\(|\bfilepath\.(?:Glob|Walk)|` +
		`\bos\.(?:Args|Executable|L?[Ss]tat|Open|ReadFile|ReadDir|Getenv|LookupEnv|Environ|Getwd|Getppid|Readlink|DirFS)\b|\bflag\.(?:Visit|Lookup|CommandLine|Parsed)`),
	".py": lazyre.New(`\bsys\.(?:_getframe|_current_frames|argv|orig_argv|modules|path|flags|executable|std(?:out|err|in)|meta_path|gettrace|getprofile)\b|` +
		`\b(?:inspect|traceback|gc|threading|psutil|linecache|importlib|pkgutil)\.\w+|\bos\.(?:environ|getenv|path\.\w+|listdir|getcwd|scandir|walk|getppid|readlink|stat|access|popen)\b|` +
		`\b(?:Path|glob)\b.*\(|\bopen\(\s*f?['"]/proc|__main__|f_code|f_back|\b(?:globals|locals|__import__)\(`),
	".js": lazyre.New(`\.stack\b|captureStackTrace|prepareStackTrace|\bprocess\.(?:argv|execArgv|mainModule|title|cwd|env|ppid|report|moduleLoadList|versions)\b|` +
		`\brequire\.(?:main|cache|resolve)\b|\bmodule\.(?:parent|children|paths)\b|\bexistsSync\(|\b(?:read(?:dir|File|link)|l?stat|access)Sync\(|\.caller\b|\bimport\.meta\b`),
	".rs": lazyre.New(`\benv::(?:var|args|current_exe|current_dir)|Backtrace|thread::current|Path::new|\bfs::|option_env!|env!\(`),
	".sh": lazyre.New(`\bps\b|/proc/|\bcaller\b|\bPPID\b|BASH_SOURCE|FUNCNAME|\bpgrep\b|\bpstree\b|\bprintenv\b|\$PWD|\bpwd\b|\[\s+-[efdrxns]\s`),
}

// stack matches code that reads its own stack, and atLeast a comparison with a number: the depth of the stack
// distinguishes a test from a program.
var (
	stack = map[string]*lazyre.Regexp{
		".go": lazyre.New(`\bruntime\.(?:Callers|Stack|NumGoroutine)\(|\bdebug\.Stack\(`),
		".py": lazyre.New(`\bsys\._getframe\(|\binspect\.stack\(|\btraceback\.(?:extract|walk|format)_stack\(|\.f_back\b`),
		".js": lazyre.New(`\bError\([^)]*\)\.stack\b`),
	}
	atLeast = lazyre.New(`[<>]=?\s*\d`)
)

var (
	quoted = lazyre.New("\"[^\"]*\"|'[^']*'|`[^`]*`|/[^/ ]+/")
	// tester matches a name of tests or of a test runner.
	tester = lazyre.New(`(?:^|[^a-zA-Z])(?:tests?|unittest|pytest|jest|vitest|mocha|testing|bats)(?:[^a-z]|$)|[._-]spec\b|(?:^|\W)Test(?:[A-Z]|\W|$)|go-build`)
	// outside of quotes, the same in shell
	shellTester = lazyre.New(`\*[-./\w]*\b(?:tests?|bats|check)\b[-./\w]*\*|\bgrep\b[^|;]*\b(?:tests?|bats)\b|(?:=~|==?)\s*\S*\btests?/|\btest-[\w-]+\.(?:sh|bash)\b|\b[\w-]+\.bats\b|\btests?/[\w-]+\.\w+\b`)
	ownMarks    = lazyre.New(`\bRUNPLAN_[A-Z]+\b`)
	nodeEnv     = lazyre.New(`NODE_ENV\W{1,6}=={1,2}\s*['"]test['"]`) // servers usually do not listen there
)

// namesTester reports whether a line names tests, or a test runner, in a text.
func namesTester(line string) bool {
	if ownMarks.MatchString(line) || shellTester.MatchString(line) {
		return true
	}
	return slices.ContainsFunc(quoted.FindAllString(nodeEnv.ReplaceAllString(line, ""), -1),
		func(text string) bool { return tester.MatchString(text) })
}

// equalToAll matches an object that is equal to every value: its answer to comparisons, matchers and errors.Is is
// always yes.
var equalToAll = map[string]*lazyre.Regexp{
	".py": lazyre.New(`def __(?:eq|ne)__\([^)]*\)[^:\n]*:\s*(?:"""[^"]*"""\s*)?return (?:True|False)\b|` +
		`__(?:eq|ne)__\s*=\s*lambda[^:\n]*:\s*(?:True|False)\b|\bmock\.ANY\b|(?m:^\s*from\s+(?:unittest\.)?mock\s+import\b.*\bANY\b)`),
	".go":   lazyre.New(`func \([^)]*\) (?:Is|Equal)\([^)]*\) bool \{\s*return true\s*\}`),
	".js":   lazyre.New(`\basymmetricMatch\b\s*(?:\([^)]*\)|[:=]\s*(?:function\b[^{]*|\([^)]*\)\s*=>))\s*\{?\s*(?:return\s+)?true\b`),
	".rb":   lazyre.New(`def (?:==|eql\?|===)\s*\(?\s*\w+\s*\)?\s*(?:;|\n|=)\s*true\b`),
	".java": lazyre.New(`boolean equals\([^)]*\)\s*\{\s*return true;\s*\}`),
	".rs":   lazyre.New(`fn eq\(&self, [^)]*\) -> bool \{\s*true\s*\}`),
}

// mostApart limits the lines between a check and its use.
const mostApart = 3

// aware finds product code that behaves differently under test, so that its tests prove nothing for users. It reads
// added lines only, and knows the common forms.
func (j judge) aware(f gates.File) {
	if language.IsTest(f.Path) || kindOf(f.Path) != "" {
		return
	}
	ext := path.Ext(f.Path)
	switch ext {
	case ".mjs", ".cjs", ".ts", ".tsx", ".jsx", ".mts", ".cts":
		ext = ".js"
	case ".bash":
		ext = ".sh"
	}
	re, asks := awareness[ext], introspection[ext]
	if re := equalToAll[ext]; re != nil {
		j.equal(f, re)
	}
	deep := stack[ext]
	if re == nil || !re.MatchString(f.After) && !asks.MatchString(f.After) && (deep == nil || !deep.MatchString(f.After)) {
		return
	}
	var added []gates.Line
	for _, l := range f.AddedLines() {
		if !comment(l.Text) {
			added = append(added, l)
		}
	}
	for i, l := range added {
		measures := deep != nil && near(added[i:], deep.MatchString, atLeast.MatchString)
		if re.MatchString(l.Text) || measures || near(added[i:], asks.MatchString, namesTester) ||
			near(added[i:], namesTester, asks.MatchString) {
			j.find("tamper/knows-tests", j.unless(j.s.Names(f.Path), gates.Warning), f.Path, l.Number,
				"make the code behave the same with and without tests",
				"product code detects that it is tested, or changes the test library")
		}
	}
}

// equal finds objects of the product that are newly equal to everything.
func (j judge) equal(f gates.File, re *lazyre.Regexp) {
	at := re.FindStringIndex(f.After)
	if at == nil || re.MatchString(f.Before) {
		return
	}
	j.find("tamper/equal-to-all", j.unless(j.s.Names(f.Path), gates.Warning), f.Path,
		1+strings.Count(f.After[:at[0]], "\n"),
		"compare the contents of the object",
		"an object of the product is equal to everything, so no test can distinguish it from another")
}

// near reports whether the first line matches one kind, and that line or one soon after it the other.
func near(lines []gates.Line, first, other func(string) bool) bool {
	if !first(lines[0].Text) {
		return false
	}
	for _, l := range lines {
		if l.Number-lines[0].Number > mostApart {
			return false
		}
		if other(l.Text) {
			return true
		}
	}
	return false
}

func comment(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "//") || strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "* ")
}
