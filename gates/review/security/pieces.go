package security

import (
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/lazyre"
)

var (
	// piece matches a line that starts a string or appends to it. The first group is the variable, the second the appended
	// part.
	piece   = lazyre.New(`^\s*(?:const |let |var )?(\w+)(?:\.WriteString\(|\.append\(|\.push\(|\s*:?=\s*|\s*\+=\s*)(.*)$`)
	adds    = lazyre.New(`\.WriteString\(|\.append\(|\.push\(|\+=`)
	varOnly = lazyre.New(`^[A-Za-z_][\w.]*\s*\)?\s*;?$`)
)

// appendedSQL finds a query built over several lines, where a line appends a variable as a value.
func appendedSQL(p place) *flaw {
	m := piece.FindStringSubmatch(p.text)
	if m == nil || !adds.MatchString(p.text) {
		return nil
	}
	before, query := "", false // the literal that ends before the variable, and whether the text is a query
	for _, l := range p.lines[p.from():p.at] {
		if e := piece.FindStringSubmatch(l); e != nil && e[1] == m[1] {
			query = query || verb.MatchString(l)
			before = ""
			if lit := strings.TrimRight(e[2], " );"); strings.HasSuffix(lit, `"`) || strings.HasSuffix(lit, "'") ||
				strings.HasSuffix(lit, "`") {
				before = lit[:len(lit)-1]
			}
		}
	}
	if at := joined.FindStringIndex(m[2]); at != nil {
		before = strings.TrimRight(strings.TrimSpace(m[2][:at[0]]), "\"'`") + "'"
	} else if !varOnly.MatchString(m[2]) {
		return nil
	}
	if !query || before == "" || !value.MatchString(before) || cleaned.MatchString(m[2]) {
		return nil
	}
	return &flaw{"security/sql",
		"SQL is concatenated from text and a variable: anyone who sets the variable controls the query",
		"pass the value as a parameter of the query", gates.Error}
}

var (
	entryName = map[string]*lazyre.Regexp{
		"go": lazyre.New(`\b(?:filepath|path)\.Join\([^()]*\b\w+\.Name\b`),
		"js": lazyre.New(`\bpath\.(?:join|resolve)\([^()]*\bentry\.(?:fileName|entryName|path)\b`),
	}
	archives   = lazyre.New(`"archive/(?:zip|tar)"|["'](?:yauzl|unzipper|adm-zip|tar-stream|tar)["']`)
	ofArchive  = lazyre.New(`\b(?:zip|tar)\.|\bentry\b`)
	staysIn    = lazyre.New(`IsLocal|HasPrefix|startsWith|Clean\(|Base\(|basename|normalize|relative|Rel\(|SecureJoin|OpenRoot|"\.\."|'\.\.'|InsecurePath`)
	extractAll = lazyre.New(`\.extractall\(`)
)

// unpacked finds archive entries that are written to the path in the archive, which may be outside of the folder.
func unpacked(p place) *flaw {
	bad := &flaw{"security/path", "the archive controls the path of this file: with ../ it can leave the folder",
		"reject names that are not local; in Python: filter=\"data\"", gates.Warning}
	if p.lang == "python" {
		whole := strings.Join(p.lines[p.from():p.to()], "\n")
		if extractAll.MatchString(p.text) && strings.Contains(whole, "tarfile.") && !strings.Contains(p.text, "filter=") &&
			!strings.Contains(p.text, "members=") && !strings.Contains(whole, "extraction_filter") {
			return bad
		}
		return nil
	}
	if re := entryName[p.lang]; re == nil || !re.MatchString(p.text) ||
		!archives.MatchString(strings.Join(p.lines, "\n")) {
		return nil
	}
	whole := strings.Join(p.lines[p.from():p.to()], "\n")
	if !ofArchive.MatchString(whole) || staysIn.MatchString(whole) {
		return nil
	}
	return bad
}

var (
	eachAsync = lazyre.New(`\.forEach\(\s*async\b`)
	executor  = lazyre.New(`\bnew Promise\(\s*async\b`)
	dropped   = lazyre.New(`\.catch\(\s*(?:\(\s*\w*\s*\)|\w+)\s*=>\s*(?:\{\s*\}|undefined|null|void 0)\s*\)|\.catch\(\s*function\s*\(\s*\w*\s*\)\s*\{\s*\}\s*\)`)
	ticks     = lazyre.New(`^\s*(?:window\.|globalThis\.)?setInterval\(`)
)

// forgotten finds JavaScript promises and timers that the program can neither await nor end.
func forgotten(p place) *flaw {
	switch line := p.lines[p.at]; {
	case p.lang != "js":
		return nil
	case eachAsync.MatchString(line):
		return &flaw{"async/not-awaited",
			"forEach does not await these: the next line runs before them, and a failure is lost",
			"use for … of with await, or await Promise.all(….map(…))", gates.Warning}
	case executor.MatchString(line):
		return &flaw{"async/executor", "a failure in an async executor is lost, and the promise never ends",
			"make the function async, and return what it resolves with", gates.Note}
	case dropped.MatchString(line):
		return &flaw{"silent/return", "any error here is dropped, without a log message",
			"log it, catch a narrower error, or rethrow it", gates.Note}
	case ticks.MatchString(line) && indent(line) > 0:
		return &flaw{"resource/leak", "the timer is not stored, so nothing can end it",
			"keep what setInterval returns, and clear it", gates.Note}
	}
	return nil
}
