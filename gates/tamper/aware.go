package tamper

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
)

// awareness matches code that detects that it is being tested, or that reaches into the test library.
var awareness = map[string]*lazyre.Regexp{
	".go": lazyre.New(`(?m)\btesting\.(?:Testing|Short|Verbose|CoverMode)\(\)|\bexpvar\.Get\(\s*"cmdline"|^//go:linkname\s+\w+\s+(?:testing|flag|os)\.|flag\.(?:CommandLine\.)?Lookup\("test\.|append\(os\.Args,|"-test\.|` +
		`"\.git"\).*(?:!\w+\.IsDir\(\)|\.IsRegular\(\))|\bruntime\.MemProfileRate\s*(?:[<>]|[!=]=)|` +
		`^(?:const|var|func|type)\s+(?:true|false|nil|iota|u?int(?:8|16|32|64)?|float(?:32|64)|string|bool|byte|rune|error|panic|recover|len|append)\b`),
	".py": lazyre.New(`(?m)PYTEST_CURRENT_TEST|\bif\b.*\b(?:sys\.(?:gettrace|getprofile|getrefcount)|atexit\._ncallbacks|gc\.get_(?:objects|referrers)|threading\.active_count)\(|['"](?:pytest|_pytest|unittest)['"]\s+(?:not\s+)?in\s+sys\.modules|sys\.modules\.get\(\s*['"](?:pytest|_pytest|unittest)|` +
		`\bTestCase\.\w+\s*=[^=]|setattr\(\s*(?:unittest\.)?(?:case\.)?TestCase\b|\b(?:unittest|pytest|_pytest)(?:\.\w+)+\s*=[^=]|^\s*builtins\.\w+\s*=[^=]|` +
		`\btype\(\s*sys\.std(?:out|err|in)\s*\)|\bsys\.std\w+\.__class__|\bsys\.std\w+\s+is\s+(?:not\s+)?sys\.__std|` +
		`\bsys\.argv\[0\].*(?:\.(?:endswith|startswith)\(|[!=]=)|\bin\s+sys\.argv\[0\]|` +
		`\bif\b.*\bsys\.argv\[0\].*\.(?:find|count|split|partition)\(|` +
		`(?:\bif\b[^:]*|['"]\s+(?:not\s+)?in\b.*|[!=]=.*)\b(?:sys\._getframe|inspect\.(?:stack|currentframe))\(|` +
		`\b(?:sys\._getframe|inspect\.(?:stack|currentframe))\(.*(?:\bif\b|\bin\b|[!=]=)|` +
		`\btime\.(?:process|thread)_time\(\)\s*[<>]=?\s*[\d.]|\bisfile\([^)]*\.git['"]|\.git['"]\s*\)\.is_file\(`),
	".js": lazyre.New(`JEST_WORKER_ID|NODE_TEST_CONTEXT|env\b\W{1,4}(?:VITEST|MOCHA)|import\.meta\.vitest|\bassert(?:\.strict)?\.\w+\s*=[^=>]|` +
		`\bglobalThis\.(?:expect|assert|test|it|describe)\s*=[^=]|\btypeof\s+(?:globalThis\.)?(?:describe|it|test|expect|jest|vi|beforeEach|afterEach)\b\s*(?:$|[^\s!=]|[!=]=+\s*(?:$|[^'"\x60\s=]|['"\x60][^snb]))|` +
		`\b(?:globalThis|global|window|self)(?:\.|\[\s*['"\x60])(?:describe|it|jest|vi|expect|mocha|beforeEach|afterEach)\b['"\x60]?\]?\s*(?:\?|&&|\|\||\)|;|$)|` +
		`['"\x60](?:describe|it|test|jest|vi|expect|mocha|beforeEach|afterEach)['"\x60]\s*(?:in\s+|\).*)\(?(?:globalThis|global|window|self)\b|` +
		`\b(?:Reflect|Object)\.\w+\(\s*(?:globalThis|global|window|self)\s*,\s*['"\x60](?:describe|it|test|jest|vi|expect|mocha|beforeEach)\b|` +
		`\b(?:Object\.(?:keys|entries|getOwnPropertyNames)|Reflect\.ownKeys)\(\s*(?:globalThis|global)\b|` +
		`\b(?:globalThis|global|window|self)\.hasOwnProperty\(\s*['"\x60](?:describe|it|test|jest|vi|expect|mocha)\b|NODE_ENV\W{1,6}={2,3}\s*['"]test['"]\s*\)?\s*\?|` +
		`\bnpm_(?:lifecycle_\w+|command|execpath|node_execpath|package_name|package_json)\b|\bINIT_CWD\b|` +
		`\bSymbol\.for\([^)]*(?:jest|vitest|mocha)|\bObject\.(?:is|keys|entries)\s*=[^=>]|` +
		`\b(?:Object|Number)\.prototype(?:\.\w+|\[[^\]]+\])\s*=[^=>]|\bdefineProperty\(\s*(?:Object|Number)(?:\.prototype)?\s*,|` +
		`\b(?:if|return|const|let|var)\b.*\bError\([^)]*\)\.stack\b.*(?:\?|&&|\|\||\)\s*\{)|\bprocess\.listener(?:s|Count)\(|` +
		`\bexecutionAsync(?:Id|Resource)\(\)\s*(?:[<>]|[!=]=)|\bprocess\.eventNames\(|\bprocess\.uptime\(\)\s*[<>]=?\s*0?\.\d|\bconsole\.constructor\b|\bmodule\s+instanceof\b|\b__vite_ssr_\w+|` +
		`\.git['"\x60].*\.isFile\(|\bstackTraceLimit\s*(?:[<>]|[!=]==?\s*(?:[^0\s=]|0\w))`),
	".rs": lazyre.New(`cfg!\(\s*(?:all\(|any\(|not\()?\s*test\b|#\[cfg\((?:[^\])]*,)?\s*(?:(?:all|any)\(\s*)?not\(\s*(?:(?:all|any)\(\s*)?test\s*[,)]|` +
		`#\[cfg_attr\([^\]]*\btest\b[^\]]*\bpath\b|\bcurrent\(\)\.name\(\)\W.*(?:[!=]=|\bSome\(")|\bcurrent_exe\(\).*(?:"[^"]*(?:deps|target)|\.extension\()|\benv!\(\s*"CARGO_TARGET|\boption_env!\(\s*"CARGO_TARGET|` +
		`"ThreadId\(\d|\benv::vars(?:_os)?\(\).*"CARGO|\bmacro_rules!\s+(?:assert|assert_eq|assert_ne|panic)\b`),
	".rb": lazyre.New(`(?m)\bdefined\?\s*\(?\s*(?:::)?(?:Mini[Tt]est|RSpec|Test::Unit)\b|\bconst_(?:defined\?|get)\s*\(?\s*[:"']+(?:Mini[Tt]est|RSpec)|` +
		`^\s*(?:module|class)\s+(?:::)?(?:Mini[Tt]est|RSpec)\b|\b(?:Mini[Tt]est|RSpec)(?:::\w+)*\.(?:class_eval|module_eval|prepend|send|define_method|remove_method)\b|` +
		`\bRandom\.seed\s*(?:[<>]|[!=]=)|\bThread\.current\.(?:keys|thread_variables)\.(?:any|none|empty|size|length|count)|\bObject\.constants\.(?:size|length|count)|` +
		`\b(?:respond_to\?|method_defined\?|instance_methods?\b.*\.include\?)\s*\(?\s*:(?:assert\w*|describe|must_\w+|expect)\b|\bdefine_method\W+assert_\w+|` +
		`(?:\$PROGRAM_NAME|\$0)\s*[!=]=\s*["']|["']\s*[!=]=\s*(?:\$PROGRAM_NAME|\$0)`),
	".java": lazyre.New(`Class\.forName\(\s*"(?:org\.junit|org\.testng|org\.apache\.maven\.surefire)|"sun\.java\.command"|"surefire\.`),
	".sh":   lazyre.New(`\bBATS_\w+|\bSHLVL\b|(?:\[|\btest)\s+!?\s*-f\s+["']?\S*\.git["']?(?:\s|$)`),
}

// hidden matches code that runs a text which is not in the code, so no rule can read it: a decoded text, or a file.
var hidden = map[string]*lazyre.Regexp{
	".py": lazyre.New(`^#.*coding[:=]\s*(?:utf[-_]?7|rot|unicode_esc|raw_uni|punycode)|\b(?:exec|eval)\(.*(?:b64decode|fromhex|unhexlify|decompress|codecs\.decode|\.read_text\(|\.read\(\)|\bopen\()`),
	".js": lazyre.New(`\b(?:Function|eval|runIn\w*Context)\(.*(?:\batob\(|\bBuffer\.from\(|\breadFileSync\()`),
}

// dated matches a comparison of the clock with a date in the code: from that date on the result is another one.
var dated = map[string]*lazyre.Regexp{
	".py": lazyre.New(`\btime\.time\(\)\s*[<>]=?\s*\d[\d_.]*(?:e\d|\d{8})|\b(?:datetime|date)\.(?:now|today|utcnow)\([^)]*\)(?:\.(?:year|date\(\)|isoformat\(\)))?\s*[<>]=?\s*(?:\d{4}\b|['"]\d{4}-|(?:datetime\.)?(?:datetime|date)\(\s*\d)`),
	".go": lazyre.New(`\btime\.Now\(\)(?:\.UTC\(\))?(?:\.Year\(\)\s*[<>]=?\s*\d{4}\b|\.Unix\w*\(\)\s*[<>]=?\s*\d{9}|\.(?:After|Before)\(\s*time\.(?:Date|Unix)\(\s*\d)`),
	".js": lazyre.New(`\bDate\.now\(\)\s*[<>]=?\s*(?:[\d_]{10}|\d[\d.]*e1\d|Date\.(?:parse|UTC)\(\s*['"\d]|new Date\(\s*['"\d])|\bnew Date\(\)(?:\.getFullYear\(\))?\s*[<>]=?\s*(?:\d{4}\b|new Date\(\s*['"\d])`),
	".rb": lazyre.New(`\b(?:Time\.now|Date\.today)(?:\.(?:year|to_i))?\s*[<>]=?\s*(?:\d{4}|(?:Time|Date)\.(?:new|at|parse)\(\s*["'\d])`),
	".sh": lazyre.New(`\bdate \+%(?:s|Y|Y%m%d)\)["']?\s+-(?:lt|gt|le|ge)\s+["']?\d{4}`),
}

var year = lazyre.New(`\b\d{4}\b`)

// configures matches files of Python that configure a build, and read the version from another file.
var configures = lazyre.New(`(?:^|/)(?:setup|conf|noxfile|tasks)\.py$`)

// introspection matches code that asks for its caller, its process or its surroundings.
var introspection = map[string]*lazyre.Regexp{
	".go": lazyre.New(`\bruntime\.(?:Callers?|FuncForPC|CallersFrames|Stack)\(|\bdebug\.(?:Stack|ReadBuildInfo)\(|\bpprof\.Lookup\(|\bfilepath\.(?:Glob|Walk)|` +
		`\bos\.(?:Args|Executable|L?[Ss]tat|Open|ReadFile|ReadDir|Getenv|LookupEnv|Environ|Getwd|Getppid|Readlink|DirFS|TempDir|UserHomeDir)\b|` +
		`\bflag\.(?:Visit|Lookup|CommandLine|Parsed)|\b(?:syscall|unix|ioutil)\.[A-Z]\w+\(`),
	".py": lazyre.New(`\bsys\.(?:_getframe|_current_frames|argv|orig_argv|modules|path|flags|executable|std(?:out|err|in)|meta_path|gettrace|getprofile)\b|` +
		`\b(?:inspect|traceback|gc|threading|psutil|linecache|importlib|pkgutil)\.\w+|\bos\.(?:environ|getenv|path\.\w+|listdir|getcwd|scandir|walk|getppid|readlink|stat|access|popen)\b|` +
		`\b(?:Path|glob)\b.*\(|\bopen\(\s*f?['"]/proc|__main__|f_code|f_back|__subclasses__|\b(?:globals|locals|__import__)\(|__file__|\btempfile\.\w+\(`),
	".js": lazyre.New(`\.stack\b|captureStackTrace|prepareStackTrace|\bprocess\.(?:argv|execArgv|mainModule|title|cwd|env|ppid|report|moduleLoadList|versions)\b|` +
		`\brequire\.(?:main|cache|resolve)\b|\bmodule\.(?:parent|children|paths)\b|\bexistsSync\(|\b(?:read(?:dir|File|link)|l?stat|access)Sync\(|\.caller\b|\bimport\.meta\b|` +
		`\b(?:tmpdir|homedir)\(|\b__(?:dir|file)name\b|\bSymbol\.for\(`),
	".rs": lazyre.New(`\benv::(?:var|args|current_exe|current_dir)|Backtrace|thread::current|Path::new|\bfs::|option_env!|env!\(`),
	".rb": lazyre.New(`\$PROGRAM_NAME\b|\$0\b|\bcaller(?:_locations)?\b|\$LOADED_FEATURES|\$LOAD_PATH|\$:|\$"|\bENV\b|\bObjectSpace\b|\b__(?:FILE__|dir__)|\bDir\.|` +
		`\bFile\.(?:exist|read|stat|basename|readable)|\bconst_(?:get|defined\?)|\bProcess\.|\bThread\.(?:list|current|main)|\bARGV\b|/proc/`),
	".java": lazyre.New(`\bgetStackTrace\(|\bStackWalker\b|\bClass\.forName\(|\bSystem\.get(?:Property|env)\(|\bProcessHandle\b|\bcurrentThread\(|\bgetResource`),
	".sh":   lazyre.New(`\bps\b|/proc/|\bcaller\b|\bPPID\b|BASH_SOURCE|FUNCNAME|\bpgrep\b|\bpstree\b|\bprintenv\b|\$PWD|\bpwd\b|\[\s+-[efdrxns]\s`),
}

// stack matches code that measures its own stack or what its process has loaded, and atLeast a comparison with a
// number: such a measure distinguishes a test from a program.
var (
	stack = map[string]*lazyre.Regexp{
		".go": lazyre.New(`\bruntime\.(?:Callers|Stack|NumGoroutine)\(|\bdebug\.Stack\(`),
		".py": lazyre.New(`\bsys\._getframe\(|\binspect\.stack\(|\btraceback\.(?:extract|walk|format)_stack\(|\.f_back\b|` +
			`\blen\([^)]*\bsys\.modules\b|\bgc\.get_objects\(`),
		".js": lazyre.New(`\bError\([^)]*\)\.stack\b|\brequire\.cache\b`),
		".rb": lazyre.New(`\bcaller(?:_locations)?\b|\$LOADED_FEATURES|\bThread\.list\b|\bObjectSpace\.`),
	}
	atLeast = lazyre.New(`(?:^|[^=\-<>:])[<>]=?\s*\d`)
)

var (
	quoted = lazyre.New("\"[^\"]*\"|'[^']*'|`[^`]*`|/[^/ ]+/")
	// tester matches a name of tests or of a test runner.
	tester = lazyre.New(`(?:^|[^a-zA-Z])(?:tests?|unittest|pytest|jest|vitest|mocha|testing|bats|minitest|rspec|junit|surefire|pluggy|iniconfig|runplan)(?:[^a-z]|$)|[._-]spec\b|(?:^|\W)Test(?:[A-Z]|\W|$)|go-build`)
	// outside of quotes, the same in shell
	shellTester = lazyre.New(`\*[-./\w]*\b(?:tests?|bats|check)\b[-./\w]*\*|\bgrep\b[^|;]*\b(?:tests?|bats)\b|(?:=~|==?)\s*\S*\btests?/|\btest-[\w-]+\.(?:sh|bash)\b|\b[\w-]+\.bats\b|\btests?/[\w-]+\.\w+\b`)
	plainWord   = lazyre.New("\"tests?\"|'tests?'|`tests?`")
	suffixOf    = lazyre.New(`^[*_.-]+(?:test|spec)s?\.\w+$`) // a suffix of the names of test files
	roomPath    = lazyre.New("[\"'`][^\"'`]*/rooms?[/\"'`]")  // part of the path of a room
	ownMarks    = lazyre.New(`\bRUNPLAN_[A-Z]+\b`)
	nodeEnv     = lazyre.New(`NODE_ENV\W{1,6}=={1,2}\s*['"]test['"]`) // servers usually do not listen there
)

// identity matches code that asks which program or which caller it runs in; compares matches a comparison of texts.
var (
	identity = map[string]*lazyre.Regexp{
		".go": lazyre.New(`\bos\.(?:Args\[:?[01]\]|Executable\b)|\bruntime\.(?:Callers?|FuncForPC)\(|\bdebug\.ReadBuildInfo\(`),
		".py": lazyre.New(`\bsys\.(?:_getframe|argv\[0\]|orig_argv)|\binspect\.(?:stack|currentframe)\(|\btraceback\.\w+_stack\(`),
		".rb": lazyre.New(`\$PROGRAM_NAME\b|\$0\b|\bcaller(?:_locations)?\b`),
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
	".py": lazyre.New(`(?m)def __(?:eq|ne)__\([^)]*\)[^:\n]*:\s*(?:"""[^"]*"""\s*)?return (?:True|False)\b|` +
		`__(?:eq|ne)__\s*=\s*lambda[^:\n]*:\s*(?:True|False)\b|` +
		`class \w+\((?:int|float|complex|str|bytes)\):\n(?:(?:[ \t].*)?\n)*?[ \t]+(?:def __(?:eq|ne)__\(|__(?:eq|ne)__\s*=)|` +
		`\btype\(\s*\w*['"]\w+['"]\s*,\s*\(\s*(?:int|float|complex|str|bytes)\b[^)]*\)[^)]*__(?:eq|ne)__|\bsetattr\([^)]*['"]__(?:eq|ne)__['"]|^[ \t]*\w+\.__(?:eq|ne)__\s*=[^=]|` +
		`def __eq__\([^)]*\)[^:\n]*:\s*(?:"""[^"]*"""\s*)?return (?:isinstance\(\s*\w+\s*,\s*(?:object|int|float|str|\(int\b[^)]*\))\s*\)|\w+ is not None|not False|bool\(\w+\))\s*$|\bmock\.ANY\b|(?m:^\s*from\s+(?:unittest\.)?mock\s+import\b.*\bANY\b)`),
	".go": lazyre.New(`func \([^)]*\) (?:Is|Equal)\([^)]*\) bool \{\s*return (?:true|\w+ != nil)\s*\}|(?m:^var\s+[Ee]rr[A-Z]\w*\s+error\s*(?:=\s*nil)?$)`),
	".js": lazyre.New(`(?:^|[^.\w])asymmetricMatch\s*[(:=]|\.asymmetricMatch\s*=[^=]`),
	".rb": lazyre.New(`def (?:==|eql\?|===)\s*\(?\s*\w+\s*\)?\s*(?:;|\n|=)\s*true\b|` +
		`class (?:::)?(?:Integer|Float|Numeric|String|Array|Hash|Symbol|Object|BasicObject)\s*\n(?:(?:[ \t].*)?\n)*?[ \t]+(?:def (?:==|===|eql\?|equal\?)|(?:alias|alias_method)[ :]+(?:==|===|eql\?)[ ,])`),
	".java": lazyre.New(`boolean equals\([^)]*\)\s*\{\s*return true;\s*\}`),
	".rs": lazyre.New(`fn eq\(&self, [^)]*\) -> bool \{\s*true\s*\}|` +
		`impl PartialEq<[iu](?:8|16|32|64|128|size)> for \w+ \{\s*fn eq\([^{]*\{[^}]*[<>]`),
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

// minified is the length from which on a line is the output of a program.
const minified = 4 << 10

// mostApart limits the lines between a check and its use.
const mostApart = 3

// aware finds product code that behaves differently under test, so that its tests prove nothing for users. It reads
// added lines only, and knows the common forms.
func (j judge) aware(f gates.File) {
	if language.IsTest(f.Path) || kindOf(f.Path) != "" {
		return
	}
	ext := codeExt(f)
	re, asks := awareness[ext], introspection[ext]
	if re := equalToAll[ext]; re != nil {
		j.equal(f, re)
	}
	if re == nil {
		return
	}
	if re := hidden[ext]; re != nil && !configures.MatchString(f.Path) {
		for _, l := range f.AddedLines() {
			if re.MatchString(l.Text) && (l.Number < 3 || !comment(l.Text)) && len(l.Text) < minified {
				j.find("tamper/knows-tests", j.asked(f.Path, l.Text), f.Path, l.Number, "write the code into a file of code",
					"product code runs a text that is not in the code, so it cannot be checked for knowing its tests")
			}
		}
	}
	if re := dated[ext]; re != nil {
		for _, l := range f.AddedLines() {
			if re.MatchString(l.Text) && !comment(l.Text) {
				planned := j.s.Contains(l.Text) || slices.ContainsFunc(year.FindAllString(l.Text, -1),
					func(y string) bool { return strings.Contains(j.s.Batch.Text, y) })
				j.find("tamper/knows-tests", j.unless(planned, gates.Warning), f.Path, l.Number,
					"make the result independent of the date, or take the date as an argument",
					"product code gives another result from a date on, so its tests hold only until then")
			}
		}
	}
	j.readsTests(f, ext)
	plain := plainerOf(ext, f.After)
	deep, who := stack[ext], identity[ext]
	text := plain.line(f.After)
	if ext != ".rs" && !re.MatchString(text) && !asks.MatchString(text) && (deep == nil || !deep.MatchString(text)) &&
		!strings.Contains(text, "unittest") && !strings.Contains(text, "pytest") {
		return
	}
	var lines []gates.Line
	for _, l := range f.AddedLines() {
		if !comment(l.Text) && !goImport.MatchString(l.Text) && len(l.Text) < minified {
			l.Text = plain.line(l.Text)
			if both := joined(l.Text, ext); both != l.Text {
				l.Text += " " + both // each form may hide a name that the other one shows
			}
			lines = append(lines, l)
		}
	}
	// The name of a subcommand is no test, nor is the suffix of test files that the plan asks for.
	names := func(l string) bool { return namesTester(j.unspoken(l)) }
	special := func(l string) bool { return namesTester(plainWord.ReplaceAllString(j.unspoken(l), "")) }
	beyond := func(l string) bool { return asks.MatchString(arguments.ReplaceAllString(l, "")) }
	identifies := who != nil && slices.ContainsFunc(lines, func(l gates.Line) bool {
		return who.MatchString(l.Text) && !prints.MatchString(l.Text)
	})
	located := func(l string) bool { return roomPath.MatchString(l) && asks.MatchString(l) }
	own := func(l string) bool {
		base := path.Base(f.Path)
		return strings.Contains(l, `"`+base+`"`) || strings.Contains(l, "'"+base+"'")
	}
	library := ext == ".go" && !strings.Contains(f.After, "package main\n") && !commands.MatchString(f.Path)
	for i, l := range lines {
		measures := deep != nil && near(lines[i:], deep.MatchString, atLeast.MatchString)
		hides := who != nil && (near(lines[i:], who.MatchString, encoded.MatchString) ||
			near(lines[i:], encoded.MatchString, who.MatchString))
		if re.MatchString(l.Text) || measures || hides || near(lines[i:], asks.MatchString, special) ||
			near(lines[i:], special, asks.MatchString) || near(lines[i:], beyond, names) || near(lines[i:], names, beyond) ||
			compares.MatchString(l.Text) && (identifies && special(l.Text) || located(l.Text)) ||
			(ext == ".go" || ext == ".py") && own(l.Text) && asks.MatchString(l.Text) ||
			library && goLibraryAsks.MatchString(l.Text) && !near(lines[i:], anything, parsesFlags.MatchString) ||
			ext == ".rs" && onlyForTests(lines[i:]) ||
			importsTests(f.Path, l.Text) && !ownTests.MatchString(f.After) {
			j.find("tamper/knows-tests", j.asked(f.Path, l.Text), f.Path, l.Number,
				"make the code behave the same with and without tests",
				"product code detects that it is tested, or changes the test library")
		}
	}
}

func anything(string) bool { return true }

var (
	// takesTests matches code that reads a file from a folder of tests.
	takesTests = lazyre.New(`(?:\b(?:open|read\w*|require|include(?:_str|_bytes)?|readFileSync|readlines|sed|grep|awk|cat)\b.*|^//go:embed\b.*)["'\x60\s/](?:[\w-]+/)*(?:tests?|specs?|testdata|__tests__)/[\w./-]*\w\.\w+`)
	// forAuthors matches files that serve the authors of a program and not its users.
	forAuthors = lazyre.New(`(?i)(?:^|/)(?:scripts?|tools?|bench\w*|examples?|docs?|hack|ci|dev|misc|contrib|build\w*|\.\w[^/]*)/|(?:^|/)(?:setup|conf|noxfile|tasks|build)\.\w+$`)
)

// readsTests finds product code that reads files of the tests, as code does that looks up what the tests expect.
func (j judge) readsTests(f gates.File, ext string) {
	if forAuthors.MatchString(f.Path) || builds.MatchString(f.Path) || configures.MatchString(f.Path) {
		return
	}
	last := len(f.After)
	if at := strings.Index(f.After, "#[cfg(test)]"); ext == ".rs" && at >= 0 {
		last = at
	}
	for _, l := range f.AddedLines() {
		if takesTests.MatchString(l.Text) && !comment(l.Text) && l.Number <= 1+strings.Count(f.After[:last], "\n") {
			j.find("tamper/knows-tests", j.asked(f.Path, l.Text), f.Path, l.Number, "compute the result",
				"product code reads a file of the tests")
		}
	}
}

// codeExt returns the extension by which the rules know the language of a file. A script without one has it in its
// first line.
func codeExt(f gates.File) string {
	ext := path.Ext(f.Path)
	for known, others := range map[string]string{".js": ".mjs .cjs .ts .tsx .jsx .mts .cts .vue .svelte", ".py": ".pyw",
		".sh": ".bash .ksh .zsh", ".rb": ".rake .gemspec", ".java": ".kt .scala .groovy"} {
		if slices.Contains(strings.Fields(others), ext) {
			return known
		}
	}
	first, _, _ := strings.Cut(f.After, "\n")
	if !strings.HasPrefix(first, "#!") || len(ext) > 0 && awareness[ext] != nil {
		return ext
	}
	for _, known := range [][2]string{{"python", ".py"}, {"node", ".js"}, {"ruby", ".rb"}, {"sh", ".sh"}} {
		if strings.Contains(first, known[0]) {
			return known[1]
		}
	}
	return ext
}

var (
	// encoded matches texts that are written in another way than in quotes.
	encoded = lazyre.New(`\bchr\(|\bfromC(?:harCode|odePoint)\(|\[\]byte\{\s*(?:'|\d)|\bbytes(?:\.fromhex)?\(|\[::-1\]|\breverse\(\)|b64decode|\batob\(|unhexlify|` +
		`['"](?:hex|base64|rot13)['"]|\bhex\.DecodeString|\bbase64\.\w+Encoding|\\x[2-7][0-9a-fA-F]|\\u00[2-7]`)
	// goLibraryAsks matches code of a library of Go that counts the arguments and flags of its program, or compares its name.
	goLibraryAsks = lazyre.New(`\bflag\.(?:CommandLine\.)?VisitAll\(.*(?:\+\+|==|Has|Contains)|\blen\(os\.Args\)|\bflag\.(?:Parsed|NFlag|NArg)\(\)|\b(?:if|case|return|switch)\b.*\bos\.Args\[0\].*[!=]=|\bfilepath\.Ext\(os\.Args`)
	parsesFlags   = lazyre.New(`\bflag\.Parse\(`)
	commands      = lazyre.New(`(?i)(?:^|/)(?:cmd|cli|main|app|command|flags?)`)
	cfgTest       = lazyre.New(`^\s*#\[cfg\(\s*(?:(?:any|all)\([^\]]*)?\btest\b[^\]]*\]\s*(.*)$`)
	statement     = lazyre.New(`^\s*(?:let\b|return\b|if\b|match\b|\{|\w+(?:\.\w+)*\s*[-+*/]?=[^=>]|[\w.:]+\(.*\);)`)
	// questions matches what a plan that wants such code names.
	questions = lazyre.New(`PYTEST_CURRENT_TEST|JEST_WORKER_ID|NODE_TEST_CONTEXT|NODE_ENV|\bVITEST\b|import\.meta\.vitest|testing\.(?:Testing|Short|Verbose)|cfg!?\((?:not\()?test|` +
		`sys\.modules|sys\._getframe|inspect\.\w+|runtime\.Callers?|os\.Executable|flag\.Lookup|stackTraceLimit|_test\.go\b|\btest_\*|\.(?:test|spec)\.[jt]s|__eq__|\bBATS_\w+|\bSHLVL\b|\bnpm_lifecycle_\w+|thread::current|current_exe`)
)

// onlyForTests reports whether lines of Rust begin with a statement that is only built for tests.
func onlyForTests(lines []gates.Line) bool {
	m := cfgTest.FindStringSubmatch(lines[0].Text)
	if m == nil {
		return false
	}
	if m[1] == "" && len(lines) > 1 && lines[1].Number == lines[0].Number+1 {
		m[1] = lines[1].Text
	}
	return statement.MatchString(m[1])
}

// asked returns the severity of code that knows tests. It only warns if the batch names the file and also what the
// code asks for, or if the name of the file says that it serves tests or builds.
func (j judge) asked(file, line string) gates.Severity {
	named := j.s.Names(file) && (forTests.MatchString(file) || slices.ContainsFunc(questions.FindAllString(line, -1),
		func(q string) bool { // as a word of its own, and not as a part of the name of a file
			return regexp.MustCompile("(?:^|[\\s\"'`(*])" + regexp.QuoteMeta(q)).MatchString(j.s.Batch.Text)
		}) || j.s.Contains(line))
	if named || builds.MatchString(file) {
		return gates.Warning
	}
	return gates.Error
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
	j.find("tamper/equal-to-all", j.asked(f.Path, f.After[at[0]:at[1]]), f.Path,
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
	return strings.HasPrefix(line, "//") && !strings.HasPrefix(line, "//go:") || strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "* ")
}
