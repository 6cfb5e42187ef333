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
	".go": lazyre.New(`\btesting\.(?:Testing|Short|Verbose|CoverMode)\(\)|flag\.(?:CommandLine\.)?Lookup\("test\.|append\(os\.Args,|"-test\.|` +
		`"\.git"\).*(?:!\w+\.IsDir\(\)|\.IsRegular\(\))`),
	".py": lazyre.New(`PYTEST_CURRENT_TEST|\bif\b.*\b(?:sys\.(?:gettrace|getprofile)|gc\.get_(?:objects|referrers)|threading\.active_count)\(|['"](?:pytest|_pytest|unittest)['"]\s+(?:not\s+)?in\s+sys\.modules|sys\.modules\.get\(\s*['"](?:pytest|_pytest|unittest)|` +
		`\bTestCase\.\w+\s*=[^=]|setattr\(\s*(?:unittest\.)?(?:case\.)?TestCase\b|\b(?:unittest|pytest|_pytest)(?:\.\w+)+\s*=[^=]|^\s*builtins\.\w+\s*=[^=]|` +
		`\btype\(\s*sys\.std(?:out|err|in)\s*\)|\bsys\.std\w+\.__class__|\bsys\.std\w+\s+is\s+(?:not\s+)?sys\.__std|` +
		`\bsys\.argv\[0\].*(?:\.(?:endswith|startswith)\(|[!=]=)|\bin\s+sys\.argv\[0\]|` +
		`\bif\b.*\bsys\.argv\[0\].*\.(?:find|count|split|partition)\(|` +
		`(?:\bif\b[^:]*|['"]\s+(?:not\s+)?in\b.*|[!=]=.*)\b(?:sys\._getframe|inspect\.(?:stack|currentframe))\(|` +
		`\b(?:sys\._getframe|inspect\.(?:stack|currentframe))\(.*(?:\bif\b|\bin\b|[!=]=)|` +
		`\bisfile\([^)]*\.git['"]|\.git['"]\s*\)\.is_file\(`),
	".js": lazyre.New(`JEST_WORKER_ID|NODE_TEST_CONTEXT|env\b\W{1,4}(?:VITEST|MOCHA)|import\.meta\.vitest|\bassert(?:\.strict)?\.\w+\s*=[^=>]|` +
		`\bglobalThis\.(?:expect|assert|test|it|describe)\s*=[^=]|\btypeof\s+(?:globalThis\.)?(?:describe|it|test|expect|jest|vi|beforeEach|afterEach)\b|` +
		`\b(?:globalThis|global|window|self)(?:\.|\[\s*['"\x60])(?:describe|it|jest|vi|expect|mocha|beforeEach|afterEach)\b['"\x60]?\]?\s*(?:\?|&&|\|\||\)|;|$)|` +
		`['"\x60](?:describe|it|test|jest|vi|expect|mocha|beforeEach|afterEach)['"\x60]\s*(?:in\s+|\).*)\(?(?:globalThis|global|window|self)\b|` +
		`\b(?:Reflect|Object)\.\w+\(\s*(?:globalThis|global|window|self)\s*,\s*['"\x60](?:describe|it|test|jest|vi|expect|mocha|beforeEach)\b|` +
		`\b(?:Object\.(?:keys|entries|getOwnPropertyNames)|Reflect\.ownKeys)\(\s*(?:globalThis|global)\b|` +
		`\b(?:globalThis|global|window|self)\.hasOwnProperty\(\s*['"\x60](?:describe|it|test|jest|vi|expect|mocha)\b|NODE_ENV\W{1,6}={2,3}\s*['"]test['"]\s*\)?\s*\?|` +
		`\bnpm_(?:lifecycle_\w+|command|execpath|node_execpath|package_name|package_json)\b|\bINIT_CWD\b|` +
		`\bSymbol\.for\([^)]*(?:jest|vitest|mocha)|\bObject\.(?:is|keys|entries)\s*=[^=>]|` +
		`\b(?:Object|Number)\.prototype(?:\.\w+|\[[^\]]+\])\s*=[^=>]|\bdefineProperty\(\s*(?:Object|Number)(?:\.prototype)?\s*,|` +
		`\.git['"\x60].*\.isFile\(|\bstackTraceLimit\s*(?:[<>]|[!=]=)`),
	".rs": lazyre.New(`cfg!\(\s*(?:all\(|any\(|not\()?\s*test\b|#\[cfg\(\s*not\(\s*test\s*\)|\benv!\(\s*"CARGO_TARGET|\boption_env!\(\s*"CARGO_TARGET`),
	".sh": lazyre.New(`\bBATS_\w+|\bSHLVL\b|(?:\[|\btest)\s+!?\s*-f\s+["']?\S*\.git["']?(?:\s|$)`),
}

// introspection matches code that asks for its caller, its process or its surroundings.
var introspection = map[string]*lazyre.Regexp{
	".go": lazyre.New(`\bruntime\.(?:Callers?|FuncForPC|CallersFrames|Stack)\(|\bdebug\.(?:Stack|ReadBuildInfo)\(|\bpprof\.Lookup\(|\bfilepath\.(?:Glob|Walk)|` +
		`\bos\.(?:Args|Executable|L?[Ss]tat|Open|ReadFile|ReadDir|Getenv|LookupEnv|Environ|Getwd|Getppid|Readlink|DirFS|TempDir|UserHomeDir)\b|` +
		`\bflag\.(?:Visit|Lookup|CommandLine|Parsed)|\b(?:syscall|unix|ioutil)\.[A-Z]\w+\(`),
	".py": lazyre.New(`\bsys\.(?:_getframe|_current_frames|argv|orig_argv|modules|path|flags|executable|std(?:out|err|in)|meta_path|gettrace|getprofile)\b|` +
		`\b(?:inspect|traceback|gc|threading|psutil|linecache|importlib|pkgutil)\.\w+|\bos\.(?:environ|getenv|path\.\w+|listdir|getcwd|scandir|walk|getppid|readlink|stat|access|popen)\b|` +
		`\b(?:Path|glob)\b.*\(|\bopen\(\s*f?['"]/proc|__main__|f_code|f_back|\b(?:globals|locals|__import__)\(|__file__|\btempfile\.\w+\(`),
	".js": lazyre.New(`\.stack\b|captureStackTrace|prepareStackTrace|\bprocess\.(?:argv|execArgv|mainModule|title|cwd|env|ppid|report|moduleLoadList|versions)\b|` +
		`\brequire\.(?:main|cache|resolve)\b|\bmodule\.(?:parent|children|paths)\b|\bexistsSync\(|\b(?:read(?:dir|File|link)|l?stat|access)Sync\(|\.caller\b|\bimport\.meta\b|` +
		`\b(?:tmpdir|homedir)\(|\b__(?:dir|file)name\b|\bSymbol\.for\(`),
	".rs": lazyre.New(`\benv::(?:var|args|current_exe|current_dir)|Backtrace|thread::current|Path::new|\bfs::|option_env!|env!\(`),
	".sh": lazyre.New(`\bps\b|/proc/|\bcaller\b|\bPPID\b|BASH_SOURCE|FUNCNAME|\bpgrep\b|\bpstree\b|\bprintenv\b|\$PWD|\bpwd\b|\[\s+-[efdrxns]\s`),
}

// stack matches code that measures its own stack or what its process has loaded, and atLeast a comparison with a
// number: such a measure distinguishes a test from a program.
var (
	stack = map[string]*lazyre.Regexp{
		".go": lazyre.New(`\bruntime\.(?:Callers|Stack|NumGoroutine)\(|\bdebug\.Stack\(`),
		".py": lazyre.New(`\bsys\._getframe\(|\binspect\.stack\(|\btraceback\.(?:extract|walk|format)_stack\(|\.f_back\b|` +
			`\blen\([^)]*\bsys\.modules\b|\bgc\.get_objects\(`),
		".js": lazyre.New(`\bError\([^)]*\)\.stack\b|\brequire\.cache\b`),
	}
	atLeast = lazyre.New(`(?:^|[^=\-<>:])[<>]=?\s*\d`)
)

var (
	quoted = lazyre.New("\"[^\"]*\"|'[^']*'|`[^`]*`|/[^/ ]+/")
	// tester matches a name of tests or of a test runner.
	tester = lazyre.New(`(?:^|[^a-zA-Z])(?:tests?|unittest|pytest|jest|vitest|mocha|testing|bats|runplan)(?:[^a-z]|$)|[._-]spec\b|(?:^|\W)Test(?:[A-Z]|\W|$)|go-build`)
	// outside of quotes, the same in shell
	shellTester = lazyre.New(`\*[-./\w]*\b(?:tests?|bats|check)\b[-./\w]*\*|\bgrep\b[^|;]*\b(?:tests?|bats)\b|(?:=~|==?)\s*\S*\btests?/|\btest-[\w-]+\.(?:sh|bash)\b|\b[\w-]+\.bats\b|\btests?/[\w-]+\.\w+\b`)
	plainWord   = lazyre.New("\"tests?\"|'tests?'|`tests?`")
	suffixOf    = lazyre.New(`^[*_.-]+(?:test|spec)s?\.\w+$`) // a suffix of the names of test files
	added       = lazyre.New("\"\\s*\\+\\s*\"|'\\s*\\+\\s*'|`\\s*\\+\\s*`")
	roomPath    = lazyre.New("[\"'`][^\"'`]*/rooms?[/\"'`]") // part of the path of a room
	ownMarks    = lazyre.New(`\bRUNPLAN_[A-Z]+\b`)
	nodeEnv     = lazyre.New(`NODE_ENV\W{1,6}=={1,2}\s*['"]test['"]`) // servers usually do not listen there
)

// identity matches code that asks which program or which caller it runs in; compares matches a comparison of texts.
var (
	identity = map[string]*lazyre.Regexp{
		".go": lazyre.New(`\bos\.(?:Args\[:?[01]\]|Executable\b)|\bruntime\.(?:Callers?|FuncForPC)\(|\bdebug\.ReadBuildInfo\(`),
		".py": lazyre.New(`\bsys\.(?:_getframe|argv\[0\]|orig_argv)|\binspect\.(?:stack|currentframe)\(|\btraceback\.\w+_stack\(`),
		".js": lazyre.New(`\bprocess\.(?:argv\[1\]|execArgv|title|mainModule)\b|\brequire\.main\.|\bError\([^)]*\)\.stack\b`),
	}
	compares = lazyre.New(`[!=]=|\bin\b|HasSuffix|HasPrefix|Contains|Match|Index|EqualFold|ends[wW]ith|starts[wW]ith|includes|indexOf|\.find\(|\.search\(|\.test\(`)
	// arguments matches what programs with a subcommand "test" read: their arguments without their name, and temporary
	// folders.
	arguments = lazyre.New(`\btempfile\.\w+\(|\bos\.TempDir\b|\btmpdir\(|\bos\.Args\[(?:[1-9]\d*:?|1:)\]|\bsys\.argv\[(?:[1-9]\d*:?|1:)\]|\bprocess\.argv(?:\[[2-9]\]|\.slice\(2\))|\blen\((?:os\.Args|sys\.argv)\)`)
)

// namesTester reports whether a line names tests, or a test runner, in a text.
func namesTester(line string) bool {
	if ownMarks.MatchString(line) || shellTester.MatchString(line) {
		return true
	}
	return slices.ContainsFunc(quoted.FindAllString(nodeEnv.ReplaceAllString(line, ""), -1),
		func(text string) bool { return tester.MatchString(text) && strings.Count(text, " ") < sentence })
}

// equalToAll matches an object that decides itself what it is equal to: its answer to comparisons, matchers and
// errors.Is is always yes, or it is a number or a text with a comparison of its own.
var equalToAll = map[string]*lazyre.Regexp{
	".py": lazyre.New(`def __(?:eq|ne)__\([^)]*\)[^:\n]*:\s*(?:"""[^"]*"""\s*)?return (?:True|False)\b|` +
		`__(?:eq|ne)__\s*=\s*lambda[^:\n]*:\s*(?:True|False)\b|` +
		`class \w+\((?:int|float|complex|str|bytes)\):\n(?:(?:[ \t].*)?\n)*?[ \t]+(?:def __(?:eq|ne)__\(|__(?:eq|ne)__\s*=)|\bmock\.ANY\b|(?m:^\s*from\s+(?:unittest\.)?mock\s+import\b.*\bANY\b)`),
	".go":   lazyre.New(`func \([^)]*\) (?:Is|Equal)\([^)]*\) bool \{\s*return (?:true|\w+ != nil)\s*\}`),
	".js":   lazyre.New(`(?:^|[^.\w])asymmetricMatch\s*[(:=]|\.asymmetricMatch\s*=[^=]`),
	".rb":   lazyre.New(`def (?:==|eql\?|===)\s*\(?\s*\w+\s*\)?\s*(?:;|\n|=)\s*true\b`),
	".java": lazyre.New(`boolean equals\([^)]*\)\s*\{\s*return true;\s*\}`),
	".rs":   lazyre.New(`fn eq\(&self, [^)]*\) -> bool \{\s*true\s*\}`),
}

// sentence is the number of spaces from which on a text is for people, such as the usage of a program.
const sentence = 4

var (
	goImport = lazyre.New(`^\s*(?:import\s+)?(?:\w+\s+)?"[\w.-]+/[\w./-]+"$`)
	// prints matches lines that show the name of the program.
	prints = lazyre.New(`\b(?:Fp|P|p|Sp)rint(?:f|ln)?\(|\bprint\(|\b[uU]sage\b|NewFlagSet|\bprog\s*=|\bconsole\.`)
	// builds matches configurations of build tools, which name the folders of tests.
	builds = lazyre.New(`(?:^|/)(?:(?:vite|vitest|jest|babel|next|nuxt|astro|svelte|tailwind|postcss|tsup|esbuild|playwright|karma|metro)\.config|gulpfile|webpack[\w.-]*|rollup[\w.-]*)\.[cm]?[jt]s$`)
)

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
	text := added.ReplaceAllString(f.After, "") // two parts of a text are one text
	if re == nil || !re.MatchString(text) && !asks.MatchString(text) && (deep == nil || !deep.MatchString(text)) &&
		!strings.Contains(text, "unittest") && !strings.Contains(text, "pytest") {
		return
	}
	var lines []gates.Line
	for _, l := range f.AddedLines() {
		if !comment(l.Text) && !goImport.MatchString(l.Text) {
			l.Text = added.ReplaceAllString(l.Text, "")
			lines = append(lines, l)
		}
	}
	// The name of a subcommand is no test, nor is the suffix of test files that the plan asks for.
	names := func(l string) bool { return namesTester(j.unspoken(l)) }
	special := func(l string) bool { return namesTester(plainWord.ReplaceAllString(j.unspoken(l), "")) }
	beyond := func(l string) bool { return asks.MatchString(arguments.ReplaceAllString(l, "")) }
	who := identity[ext]
	identifies := who != nil && slices.ContainsFunc(lines, func(l gates.Line) bool {
		return who.MatchString(l.Text) && !prints.MatchString(l.Text)
	})
	located := func(l string) bool { return roomPath.MatchString(l) && asks.MatchString(l) }
	severity := j.unless(j.s.Names(f.Path), gates.Warning)
	if builds.MatchString(f.Path) {
		severity = gates.Warning
	}
	for i, l := range lines {
		measures := deep != nil && near(lines[i:], deep.MatchString, atLeast.MatchString)
		if re.MatchString(l.Text) || measures || near(lines[i:], asks.MatchString, special) ||
			near(lines[i:], special, asks.MatchString) || near(lines[i:], beyond, names) || near(lines[i:], names, beyond) ||
			compares.MatchString(l.Text) && (identifies && special(l.Text) || located(l.Text)) ||
			importsTests(f.Path, l.Text) && !ownTests.MatchString(f.After) {
			j.find("tamper/knows-tests", severity, f.Path, l.Number,
				"make the code behave the same with and without tests",
				"product code detects that it is tested, or changes the test library")
		}
	}
}

// unspoken returns a line without the suffixes of test files that the batch itself writes down.
func (j judge) unspoken(line string) string {
	return quoted.ReplaceAllStringFunc(line, func(text string) string {
		if plain := text[1 : len(text)-1]; suffixOf.MatchString(plain) &&
			slices.ContainsFunc(strings.Fields(j.s.Batch.Text), func(w string) bool { return strings.Trim(w, "`\"'(),.;:") == plain }) {
			return ""
		}
		return text
	})
}

var (
	testLibrary = lazyre.New(`^\s*(?:import\s+(?:unittest(?:\.case)?|pytest|_pytest(?:\.\w+)*)\s*(?:as\s+\w+\s*)?$|` +
		`from\s+(?:unittest(?:\.case)?|pytest|_pytest(?:\.\w+)*)\s+import\s+(?:\w+,\s*)*(?:case|TestCase|runner|result|suite|loader)\b)`)
	ownTests = lazyre.New(`(?m)^class \w+\((?:unittest\.)?TestCase\):\n(?:(?:[ \t].*)?\n)*?[ \t]+def test`)
	forTests = lazyre.New(`(?i)test|assert|mock|fake|fixture`)
)

// importsTests reports whether a line imports the test library of Python into code that is not for tests.
func importsTests(file, line string) bool {
	return path.Ext(file) == ".py" && testLibrary.MatchString(line) && !forTests.MatchString(file)
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
