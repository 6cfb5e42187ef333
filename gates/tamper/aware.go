package tamper

import (
	_ "embed"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/tables"
)

// codeSigns holds the signs, for one language, that code behaves differently under test; nil means no such sign.
type codeSigns struct {
	// Awareness matches code that detects that it is being tested, or that reaches into the test library.
	Awareness *lazyre.Regexp
	// Hidden matches code that runs other code which no rule can read: a decoded string, or the content of a file.
	Hidden *lazyre.Regexp
	// Dated matches a comparison of the clock with a constant date: from that date on, the result is different.
	Dated *lazyre.Regexp
	// Introspection matches code that reads its caller, its process or its environment.
	Introspection *lazyre.Regexp
	// Stack matches code that measures its own stack or counts the loaded modules.
	Stack *lazyre.Regexp
	// Identity matches code that asks for its program or its caller.
	Identity *lazyre.Regexp
	// Program matches code that asks for the name of the program. Libraries have no use for it.
	Program *lazyre.Regexp
	// EqualToAll matches an object that is equal to everything in comparisons, matchers or errors.Is, or a number or
	// string type with its own comparison.
	EqualToAll *lazyre.Regexp `toml:"equal_to_all"`
}

//go:embed aware.toml
var awareTable string

// signs maps extensions of files to signs.
var signs = sync.OnceValue(func() (t map[string]codeSigns) {
	tables.Read(awareTable, &t)
	return t
})

var year = lazyre.New(`\b\d{4}\b`)

// configures matches Python files that configure a build: they may read the version from another file.
var configures = lazyre.New(`(?:^|/)(?:setup|conf|noxfile|tasks)\.py$`)

// atLeast matches a comparison with a number. Only such a comparison makes a match of [codeSigns.Stack] a sign.
var atLeast = lazyre.New(`(?:^|[^=\-<>:])[<>]=?\s*\d`)

var (
	quoted = lazyre.New("\"[^\"]*\"|'[^']*'|`[^`]*`|/[^/ ]+/")
	// tester matches a word for tests, or the name of a test runner.
	tester = lazyre.New(`(?:^|[^a-zA-Z])(?:tests?|unittest|pytest|jest|vitest|mocha|testing|bats|minitest|rspec|junit|surefire|pluggy|iniconfig|runplan)(?:[^a-z]|$)|[._-]spec\b|(?:^|\W)Test(?:[A-Z]|\W|$)|go-build`)
	// outside of quotes, the same in shell
	shellTester = lazyre.New(`\*[-./\w]*\b(?:tests?|bats|check)\b[-./\w]*\*|\bgrep\b[^|;]*\b(?:tests?|bats)\b|(?:=~|==?)\s*\S*\btests?/|\btest-[\w-]+\.(?:sh|bash)\b|\b[\w-]+\.bats\b|\btests?/[\w-]+\.\w+\b`)
	plainWord   = lazyre.New("\"tests?\"|'tests?'|`tests?`")
	suffixOf    = lazyre.New(`^[*_.-]+(?:test|spec)s?\.\w+$`) // a suffix of names of test files
	roomPath    = lazyre.New("[\"'`][^\"'`]*/rooms?[/\"'`]")  // part of the path of a room
	ownMarks    = lazyre.New(`\bRUNPLAN_[A-Z]+\b`)
	nodeEnv     = lazyre.New(`NODE_ENV\W{1,6}=={1,2}\s*['"]test['"]`) // servers usually do not listen there
)

var (
	// compares matches a comparison of strings.
	compares = lazyre.New(`[!=]=|\bin\b|HasSuffix|HasPrefix|Contains|Match|Index|EqualFold|ends[wW]ith|starts[wW]ith|includes|indexOf|\.find\(|\.search\(|\.test\(`)
	// arguments matches code that programs with a subcommand "test" need: it reads their arguments, without the program's
	// name, or temporary folders.
	arguments = lazyre.New(`\btempfile\.\w+\(|\bos\.TempDir\b|\btmpdir\(|\bos\.Args\[(?:[1-9]\d*:?|1:)\]|\bsys\.argv\[(?:[1-9]\d*:?|1:)\]|\bprocess\.argv(?:\[[2-9]\]|\.slice\(2\))|\blen\((?:os\.Args|sys\.argv)\)`)
)

// namesTester reports whether a string literal in a line names tests or a test runner.
func namesTester(line string) bool {
	if ownMarks.MatchString(line) || shellTester.MatchString(line) {
		return true
	}
	return slices.ContainsFunc(quoted.FindAllString(nodeEnv.ReplaceAllString(line, ""), -1),
		func(text string) bool { return tester.MatchString(text) && strings.Count(text, " ") < sentence })
}

// sentence is the minimum number of spaces of a string that is for people, such as a help text.
const sentence = 4

var (
	goImport = lazyre.New(`^\s*(?:import\s+)?(?:\w+\s+)?"[\w.-]+/[\w./-]+"$`)
	// prints matches lines that show the name of the program.
	prints = lazyre.New(`\b(?:Fp|P|p|Sp)rint(?:f|ln)?\(|\bprint\(|\b[uU]sage\b|NewFlagSet|\bprog\s*=|\bconsole\.`)
	// builds matches configurations of build tools, which name the folders of tests.
	builds = lazyre.New(`(?:^|/)(?:(?:vite|vitest|jest|babel|next|nuxt|astro|svelte|tailwind|postcss|tsup|esbuild|playwright|karma|metro)\.config|gulpfile|webpack[\w.-]*|rollup[\w.-]*)\.[cm]?[jt]s$`)
)

// minified is the minimum length, in bytes, of a line that counts as written by a program.
const minified = 4 << 10

// mostApart limits the lines between a check and its use.
const mostApart = 3

// aware finds product code that behaves differently under test, so that its tests prove nothing for users. It reads
// only added lines, and finds only the common forms.
func (j judge) aware(f gates.File) {
	if language.IsTest(f.Path) || kindOf(f.Path) != "" {
		return
	}
	ext := codeExt(f)
	sign := signs()[ext]
	re, asks := sign.Awareness, sign.Introspection
	if sign.EqualToAll != nil {
		j.equal(f, sign.EqualToAll)
	}
	if re == nil {
		return
	}
	if re := sign.Hidden; re != nil && !configures.MatchString(f.Path) {
		for _, l := range f.AddedLines() {
			if re.MatchString(l.Text) && (l.Number < 3 || !comment(l.Text)) && len(l.Text) < minified {
				j.find("tamper/knows-tests", j.asked(f.Path, l.Text), f.Path, l.Number, "write this code as source code",
					"product code runs code that is encoded or in another file, so runplan cannot check whether it detects its tests")
			}
		}
	}
	if re := sign.Dated; re != nil {
		for _, l := range f.AddedLines() {
			if re.MatchString(l.Text) && !comment(l.Text) {
				planned := j.s.Contains(l.Text) || slices.ContainsFunc(year.FindAllString(l.Text, -1),
					func(y string) bool { return strings.Contains(j.s.Batch.Text, y) })
				j.find("tamper/knows-tests", j.unless(planned, gates.Warning), f.Path, l.Number,
					"make the result independent of the date, or take the date as an argument",
					"product code gives another result after a date, so its tests prove nothing after that date")
			}
		}
	}
	j.readsTests(f, ext)
	plain := plainerOf(ext, f.After)
	deep, who := sign.Stack, sign.Identity
	text := plain.line(f.After)
	if ext != ".rs" && !re.MatchString(text) && !asks.MatchString(text) && (deep == nil || !deep.MatchString(text)) &&
		!strings.Contains(text, "unittest") && !strings.Contains(text, "pytest") {
		return
	}
	var lines []gates.Line
	documented := docstrings(f.After, ext)
	for _, l := range f.AddedLines() {
		if !comment(l.Text) && !documented[l.Number] && !goImport.MatchString(l.Text) && len(l.Text) < minified {
			l.Text = plain.line(l.Text)
			if both := joined(l.Text, ext); both != l.Text {
				l.Text += " " + both // each form may hide a name that the other form shows
			}
			lines = append(lines, l)
		}
	}
	// The name of a subcommand does not count, nor does a suffix of test files that the plan contains.
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
			sign.Program != nil && j.asksProgram(f, sign.Program, l.Text) ||
			library && goLibraryAsks.MatchString(l.Text) && !near(lines[i:], anything, parsesFlags.MatchString) ||
			ext == ".rs" && onlyForTests(lines[i:]) ||
			importsTests(f.Path, l.Text) && !ownTests.MatchString(f.After) {
			j.find("tamper/knows-tests", j.asked(f.Path, l.Text), f.Path, l.Number,
				"make the code behave the same with and without tests",
				"product code detects that it is tested, or changes the test library")
		}
	}
}

// isMain matches code that asks whether its file is the program that was started, and entry files that may ask for the
// name of the program.
var (
	isMain = lazyre.New(`import\.meta|require\.main|__(?:file|FILE|name|dir)|pathToFileURL|fileURLToPath|realpath`)
	entry  = lazyre.New(`(?i)(?:^|/)(?:cmd|bin|exe|cli|main|__main__|app|server|command|args|argv|options|usage|flags?|scripts?|tools?|setup|log\w*|index)`)
)

// asksProgram reports whether a line of a library uses the name of the program, except to print it.
func (j judge) asksProgram(f gates.File, program *lazyre.Regexp, line string) bool {
	return program.MatchString(line) && !entry.MatchString(f.Path) && !strings.HasPrefix(f.After, "#!") &&
		!strings.Contains(f.After, "package main\n") && !prints.MatchString(line) && !isMain.MatchString(line) &&
		!strings.Contains(strings.ToLower(j.s.Batch.Text), "program")
}

func anything(string) bool { return true }

// docstrings returns the numbers of the lines in Python docstrings. The rules do not apply to their examples.
func docstrings(text, ext string) map[int]bool {
	if ext != ".py" || !strings.Contains(text, `"""`) && !strings.Contains(text, "'''") {
		return nil
	}
	out := map[int]bool{}
	for _, p := range language.Parts(text, language.Python) {
		begin := 1 + strings.LastIndexByte(text[:p.Start], '\n')
		if p.Comment || strings.Trim(text[begin:p.Start], " \trRuU") != "" {
			continue
		}
		from := 1 + strings.Count(text[:p.Start], "\n")
		for i := range strings.Count(text[p.Start:p.End], "\n") { // code may follow on the last line
			out[from+i] = true
		}
	}
	return out
}

var (
	// takesTests matches code that reads a file from a folder of tests.
	takesTests = lazyre.New(`(?:\b(?:open|read\w*|require|include(?:_str|_bytes)?|readFileSync|readlines|sed|grep|awk|cat)\b.*|^//go:embed\b.*)["'\x60\s/](?:[\w-]+/)*(?:tests?|specs?|testdata|__tests__)/[\w./-]*\w\.\w+`)
	// takesSources matches code that lists the sources of a folder, including tests, and readsFile code that reads a file.
	takesSources = lazyre.New(`(?i)(?:glob|walk|find|readdir)\w*\(.*["'\x60][^"'\x60]*\*\.(?:py|[cm]?[jt]sx?|go|rb)["'\x60]`)
	readsFile    = lazyre.New(`\bread_(?:text|bytes)\(|\bopen\(|\b[rR]eadFile|\bFile\.(?:read|open)`)
	// aboutSources matches words of a batch that may need to list or read sources.
	aboutSources = lazyre.New(`(?i)\*\.\w+|\b(?:sources?|modules?|plugins?)\b|\b(?:python|go|ruby|(?:java|type)script|code) files?\b|\b(?:scan|lint|pars|analy|search|index)\w*`)
	// forAuthors matches files for the authors of a program instead of its users.
	forAuthors = lazyre.New(`(?i)(?:^|/)(?:scripts?|tools?|bench\w*|examples?|docs?|hack|ci|dev|misc|contrib|build\w*|\.\w[^/]*)/|(?:^|/)(?:setup|conf|noxfile|tasks|build)\.\w+$`)
)

// readsTests finds product code that reads test files: it may look up the expected results.
func (j judge) readsTests(f gates.File, ext string) {
	if forAuthors.MatchString(f.Path) || builds.MatchString(f.Path) || configures.MatchString(f.Path) {
		return
	}
	last := len(f.After)
	if at := strings.Index(f.After, "#[cfg(test)]"); ext == ".rs" && at >= 0 {
		last = at
	}
	lines := f.AddedLines()
	for i, l := range lines {
		if near(lines[i:], takesSources.MatchString, readsFile.MatchString) && !comment(l.Text) &&
			!aboutSources.MatchString(j.s.Batch.Title+"\n"+j.s.Batch.Text) {
			j.find("tamper/knows-tests", gates.Error, f.Path, l.Number, "compute the result",
				"product code reads all sources of a folder, including its tests")
		}
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
	if !strings.HasPrefix(first, "#!") || len(ext) > 0 && signs()[ext].Awareness != nil {
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
	// encoded matches strings that are encoded instead of written in quotes.
	encoded = lazyre.New(`\bchr\(|\bfromC(?:harCode|odePoint)\(|\[\]byte\{\s*(?:'|\d)|\bbytes(?:\.fromhex)?\(|\[::-1\]|\breverse\(\)|b64decode|\batob\(|unhexlify|` +
		`['"](?:hex|base64|rot13)['"]|\bhex\.DecodeString|\bbase64\.\w+Encoding|\\x[2-7][0-9a-fA-F]|\\u00[2-7]`)
	// goLibraryAsks matches code of a Go library that counts the arguments or flags of the program, or compares its name.
	goLibraryAsks = lazyre.New(`\bflag\.(?:CommandLine\.)?VisitAll\(.*(?:\+\+|==|Has|Contains)|\blen\(os\.Args\)|\bflag\.(?:Parsed|NFlag|NArg)\(\)|\b(?:if|case|return|switch)\b.*\bos\.Args\[0\].*[!=]=|\bfilepath\.Ext\(os\.Args`)
	parsesFlags   = lazyre.New(`\bflag\.Parse\(`)
	commands      = lazyre.New(`(?i)(?:^|/)(?:cmd|cli|main|app|command|flags?)`)
	cfgTest       = lazyre.New(`^\s*#\[cfg\(\s*(?:(?:any|all)\([^\]]*)?\btest\b[^\]]*\]\s*(.*)$`)
	statement     = lazyre.New(`^\s*(?:let\b|return\b|if\b|match\b|\{|\w+(?:\.\w+)*\s*[-+*/]?=[^=>]|[\w.:]+\(.*\);)`)
	// questions matches names that a plan must contain to permit such code.
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

// asked returns the severity of code that detects tests. It is a warning if the batch names the file and also the name
// that the code reads. It is also a warning if the name of the file shows that it serves tests or builds.
func (j judge) asked(file, line string) gates.Severity {
	named := j.s.Names(file) && (forTests.MatchString(file) || slices.ContainsFunc(questions.FindAllString(line, -1),
		func(q string) bool { // as a separate word, not as a part of a file name
			return regexp.MustCompile("(?:^|[\\s\"'`(*])" + regexp.QuoteMeta(q)).MatchString(j.s.Batch.Text)
		}) || j.s.Contains(line))
	if named || builds.MatchString(file) {
		return gates.Warning
	}
	return gates.Error
}

// unspoken returns a line without the suffixes of test files that the batch itself contains.
func (j judge) unspoken(line string) string {
	return quoted.ReplaceAllStringFunc(line, func(text string) string {
		if plain := text[1 : len(text)-1]; suffixOf.MatchString(plain) &&
			slices.ContainsFunc(strings.Fields(j.s.Batch.Text),
				func(w string) bool { return strings.Trim(w, "`\"'(),.;:") == plain }) {
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

// importsTests reports whether a line imports a Python test library into code that is not for tests.
func importsTests(file, line string) bool {
	return path.Ext(file) == ".py" && testLibrary.MatchString(line) && !forTests.MatchString(file)
}

// equal finds objects of the product that the change makes equal to everything.
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

// near reports whether first is true for the first line, and other for that line or for one of the next lines.
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
	return strings.HasPrefix(line, "//") && !strings.HasPrefix(line, "//go:") || strings.HasPrefix(line, "# ") ||
		strings.HasPrefix(line, "* ")
}
