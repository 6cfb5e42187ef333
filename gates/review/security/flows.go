package security

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/tables"
)

// flaw is the problem that a [flow] found in one line.
type flaw struct {
	rule, message, fix string
	severity           gates.Severity
}

// place is one line of a file with its context.
type place struct {
	lang  string
	text  string            // the line, joined with the following lines of its call
	lines []string          // of the file
	at    int               // index of the line
	span  func() (int, int) // the first line of the function around the line, and the index after its last one
}

func (p place) from() int {
	from, _ := p.span()
	return from
}

func (p place) to() int {
	_, to := p.span()
	return to
}

// flow looks at one line within its function.
type flow func(p place) *flaw

// flows lists the checks that run after the checks of single lines.
var flows = []flow{shellOfImport, appendedSQL, requestFlow, unpacked, weakHash, weakRandom, tempName, tlsSetting,
	credential, leak, blocking, forgotten, silent}

var (
	// request matches data that the user of a server sends.
	request = map[string]*lazyre.Regexp{
		"go":     lazyre.New(`\b\w+\.(?:URL\.Query\(\)(?:\.Get\(|\[)|FormValue\(|PostFormValue\(|PathValue\(|URL\.RawQuery\b|Form\.Get\(|PostForm\.Get\(|Header\.Get\()|\bc\.(?:Query|Param|PostForm|DefaultQuery|QueryParam|FormValue)\(|\bchi\.URLParam\(|\bmux\.Vars\(`),
		"python": lazyre.New(`\brequest\.(?:args|form|values|cookies|headers|json|GET|POST|query_params|path_params|match_info|query)\b|\bself\.get_(?:query_)?argument\(`),
		"js":     lazyre.New(`\b(?:req|request|ctx|ctx\.request)\.(?:query|params|body|cookies|headers)\b|\bsearchParams\.get\(`),
	}
	cleaned  = lazyre.New(`(?i)escape|sanitiz|encodeURI|\bquote\(|strconv\.|parseInt|\bNumber\(|\bint\(|filepath\.Base|path\.Base|basename|secure_filename|safe_join|\bmarkup\.|html\.Esc|IsLocal|uuid|DOMPurify|validate|allow|whitelist|slugify|\.has\(|\.includes\(|\bin [A-Z_]{3,}`)
	assigned = lazyre.New(`^\s*(?:const |let |var )?(?:\{\s*)?([A-Za-z_]\w*)(?:\s*,\s*\w+)*(?:\s*\})?(?:\s*:\s*[\w.\[\]| ]+)?\s*:?=\s*([^=].*)$`)

	header = map[string]*lazyre.Regexp{
		"go":     lazyre.New(`^func\b`),
		"python": lazyre.New(`^\s*(?:async\s+)?def\s+\w+`),
		"js":     lazyre.New(`\bfunction\b|=>\s*\{\s*$|^\s*(?:export\s+|public\s+|private\s+|static\s+|async\s+)*[\w$]+\s*\([^)]*\)[^;=]*\{\s*$`),
	}
)

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// around finds the function that contains a line, by indentation.
func around(lang string, lines []string, at int) (from, to int) {
	depth := indent(lines[at])
	from, to = 0, len(lines)
	for i := at; i >= 0; i-- {
		l := lines[i]
		if strings.TrimSpace(l) == "" || i < at && indent(l) >= depth || i == at && lang != "js" {
			continue
		}
		if i < at {
			depth = min(depth, indent(l))
		}
		if header[lang].MatchString(l) && (i < at || strings.HasSuffix(strings.TrimSpace(l), "{")) {
			from = i
			head := indent(l)
			for j := max(i+1, at); j < len(lines); j++ {
				t := strings.TrimSpace(lines[j])
				if t != "" && indent(lines[j]) <= head && (lang != "python" || !strings.HasPrefix(t, ")")) && j > i {
					to = j
					break
				}
			}
			break
		}
	}
	return from, to
}

// tainted reports whether text contains data of a request: directly, or in a variable that the same function set from a
// request and did not sanitize.
func (p place) tainted(text string) bool {
	if cleaned.MatchString(text) {
		return false
	}
	if request[p.lang].MatchString(text) {
		return true
	}
	for i := p.from(); i < p.at; i++ {
		m := assigned.FindStringSubmatch(p.lines[i])
		if m == nil || cleaned.MatchString(m[2]) || !word(text, m[1]) ||
			!request[p.lang].MatchString(m[2]) && !p.passesOn(i, m[2]) {
			continue
		}
		checked := false
		for _, l := range p.lines[i+1 : p.at] { // checked or assigned again
			again := assigned.FindStringSubmatch(l)
			t := strings.TrimSpace(l)
			checked = checked || word(l, m[1]) && (cleaned.MatchString(l) || again != nil && again[1] == m[1] ||
				(strings.HasPrefix(t, "if ") || strings.HasPrefix(t, "if(") || strings.HasPrefix(t, "assert")) &&
					!emptyCheck.MatchString(t))
		}
		if !checked {
			return true
		}
	}
	return false
}

// passesOn reports whether an earlier line of the function builds a text from literals and request data.
func (p place) passesOn(at int, text string) bool {
	if !template.MatchString(text) { // the result of a call is another value
		return false
	}
	before := p
	before.at = at
	return before.tainted(text)
}

// emptyCheck matches a condition that only checks for an empty value.
var emptyCheck = lazyre.New(`^if\s*\(?\s*(?:not |!)?\s*[\w.]+\s*(?:(?:===?|!==?|is|is not)\s*(?:""|''|nil|None|null|undefined)\s*)?\)?\s*(?:\{|:|return|$)`)

// word reports whether text holds name as a whole word outside of plain string literals.
func word(text, name string) bool {
	for i := 0; ; {
		at := strings.Index(text[i:], name)
		if at < 0 {
			return false
		}
		at += i
		end := at + len(name)
		if (at == 0 || !wordByte(text[at-1])) && (end == len(text) || !wordByte(text[end])) {
			return true
		}
		i = end
	}
}

func wordByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

var (
	htmlOut = map[string]*lazyre.Regexp{
		"go":     lazyre.New(`\bfmt\.Fprint(?:f|ln)?\(\s*(?:w|rw|res|resp|writer|c\.Writer)\s*,(.*)|\bio\.WriteString\(\s*(?:w|rw|res|resp|writer)\s*,(.*)|\b(?:w|rw|res|resp|writer)\.Write\(\[\]byte\((.*)|\bc\.HTML\(\s*[\w.]+\s*,(.*)`),
		"python": lazyre.New(`\breturn\s+(?:Response\(|HttpResponse\(|HTMLResponse\(|make_response\()?\s*([fF]?["'].*<.*)|\b(?:render_template_string|Markup|mark_safe)\(\s*(.*)`),
		"js":     lazyre.New(`(?:\b(?:res(?:ponse)?|reply)|^\s*)(?:\.status\([^)]*\)|\.type\([^)]*\))*\.(?:send|write|end)\(\s*(.*)|\bctx\.body\s*=\s*(.*)`),
	}
	pathUse = map[string]*lazyre.Regexp{
		"go":     lazyre.New(`\b(?:filepath|path)\.Join\((.*)|\bos\.(?:Open|OpenFile|ReadFile|WriteFile|Create|Remove|RemoveAll)\((.*)|\bhttp\.ServeFile\(\s*\w+\s*,\s*\w+\s*,(.*)|\bc\.(?:File|SendFile)\((.*)`),
		"python": lazyre.New(`\bos\.path\.join\((.*)|(?:^|[^\w.])open\((.*)|\bsend_file\((.*)|\bFileResponse\((.*)|\bos\.(?:remove|unlink|rmdir)\((.*)|\bPath\([^)]*\)\s*/\s*(.*)|\bshutil\.\w+\((.*)`),
		"js":     lazyre.New(`\bpath\.(?:join|resolve)\((.*)|\b(?:fs|fsp|fs\.promises)\.(?:readFile|writeFile|createReadStream|createWriteStream|unlink|rm|readFileSync|writeFileSync|unlinkSync)\((.*)|\bsendFile\((.*)|\bres\.download\((.*)`),
	}
	redirect = map[string]*lazyre.Regexp{
		"go":     lazyre.New(`\bhttp\.Redirect\(\s*\w+\s*,\s*\w+\s*,(.*)|\bc\.Redirect\(\s*[\w.]+\s*,(.*)`),
		"python": lazyre.New(`\b(?:redirect|RedirectResponse|HttpResponseRedirect)\((.*)`),
		"js":     lazyre.New(`\b(?:res|reply|ctx)\.redirect\((.*)`),
	}
	fetchUse = map[string]*lazyre.Regexp{
		"go":     lazyre.New(`\bhttp\.(?:Get|Post|Head)\((.*)|\bexec\.Command(?:Context)?\((?:ctx,\s*)?(\w.*)`),
		"python": lazyre.New(`\b(?:requests|httpx)\.(?:get|post|put|head)\((.*)|\burlopen\((.*)`),
		"js":     lazyre.New(`(?:^|[^\w.])fetch\((.*)|\baxios(?:\.(?:get|post))?\((.*)`),
	}
	tag      = lazyre.New(`<\s*/?[a-zA-Z][\w-]*[^<>]*>|<[a-z]+`)
	mime     = lazyre.New(`(?i)text/plain|application/json|\.json\(`)
	template = lazyre.New(`\$\{[^}]+\}|["'` + "`" + `]\s*\+|\+\s*["'` + "`" + `]|%[sv]|\{[^}"']+\}|\.format\(`)
)

// requestFlow finds request data in a harmful place: in a page, a path, the target of a redirect or of a fetch.
func requestFlow(p place) *flaw {
	get := func(re *lazyre.Regexp) string {
		m := re.FindStringSubmatch(p.text)
		if m == nil {
			return ""
		}
		return strings.Join(m[1:], "")
	}
	plain := func() bool { return mime.MatchString(strings.Join(p.lines[p.from():p.at+1], "\n") + p.text) }
	if arg := get(redirect[p.lang]); arg != "" && p.tainted(arg) && !redirectFixed.MatchString(arg) {
		return &flaw{"security/redirect",
			"the target of the redirect comes from the request: a link to this server can redirect to any other",
			"redirect to a validated path of this server, or choose from a list", gates.Warning}
	}
	if arg := get(htmlOut[p.lang]); arg != "" && template.MatchString(arg) && tag.MatchString(arg) && p.tainted(arg) &&
		!plain() {
		return &flaw{"security/html", "request data is inserted into a page without escaping: it can contain scripts",
			"escape it, or use a template that does", gates.Error}
	}
	if arg := get(htmlOut[p.lang]); arg != "" && !tag.MatchString(arg) && p.lang != "python" && directly(p.lang, arg) &&
		p.tainted(lookup.ReplaceAllString(arg, "")) && !plain() {
		return &flaw{"security/html",
			"request data is sent back unchanged: a browser may read it as a page with scripts",
			"escape it, or send it as text/plain", gates.Warning}
	}
	if arg := get(pathUse[p.lang]); arg != "" && !rooted.MatchString(arg) && p.tainted(arg) {
		return &flaw{"security/path", "a path contains request data: with ../ it can leave the folder",
			"use its base name, or look it up; in Go: os.OpenRoot or filepath.IsLocal", gates.Warning}
	}
	if arg := get(fetchUse[p.lang]); arg != "" && p.tainted(firstArg(arg)) {
		return &flaw{"security/fetch",
			"an address or program comes from the request: it can name one that only this server can reach", "choose from a " +
				"list",
			gates.Warning}
	}
	return nil
}

var (
	// lookup is an entry of a table. Its key says nothing about its value.
	lookup = lazyre.New(`\b\w+\[[^\[\]]*\]`)
	rooted = lazyre.New(`\broot\s*:`)
)

var redirectFixed = lazyre.New(`^\s*["'` + "`" + `]/[\w-]|^\s*url_for\(|^\s*f["']/\w`)

// directly reports whether the argument of an output is only a request value or a variable.
func directly(lang, arg string) bool {
	if at := request[lang].FindStringIndex(arg); at != nil {
		return !strings.Contains(arg[:at[0]], "(") // the result of a call is another value
	}
	return bareArg.MatchString(arg)
}

var bareArg = lazyre.New(`^\s*[A-Za-z_]\w*\s*\)`)

func firstArg(arg string) string {
	depth := 0
	for i, r := range arg {
		switch r {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ',':
			if depth == 0 {
				return arg[:i]
			}
		}
	}
	return arg
}

var (
	childAs  = lazyre.New(`(?m)(?:const|let|var)\s+(\w+)\s*=\s*require\(\s*["'](?:node:)?child_process["']\s*\)|import\s+(?:\*\s+as\s+)?(\w+)\s+from\s+["'](?:node:)?child_process["']`)
	childRun = lazyre.New(`\b(\w+)\.exec(?:Sync)?\(\s*(.*)`)
	spawned  = lazyre.New(`\b(?:spawn|spawnSync|execFile)\(\s*(.*)\bshell\s*:\s*true`)
	notConst = lazyre.New(`\$\{|["'` + "`" + `]\s*\+\s*[\w(]|^[A-Za-z_]\w*\s*[,)+]`)
)

// shellOfImport finds a shell that runs concatenated text, also if the module is imported under another name.
func shellOfImport(p place) *flaw {
	if p.lang != "js" {
		return nil
	}
	bad := &flaw{"security/shell",
		"a shell runs concatenated text: anyone who sets a part of it can run any command",
		"start the program with a list of arguments, without a shell", gates.Error}
	if m := childRun.FindStringSubmatch(p.text); m != nil && notConst.MatchString(m[2]) {
		for _, as := range childAs.FindAllStringSubmatch(strings.Join(p.lines, "\n"), -1) {
			if as[1]+as[2] == m[1] {
				return bad
			}
		}
	}
	if m := spawned.FindStringSubmatch(p.text); m != nil && notConst.MatchString(m[1]) {
		return bad
	}
	return nil
}

var (
	weakSum  = lazyre.New(`\b(?:md5|sha1)\.(?:Sum|New)\(|\bhashlib\.(?:md5|sha1)\(|\bhashlib\.new\(\s*["'](?:md5|sha1)|\bcreateHash\(\s*["'](?:md5|sha1)["']|\bMD5\(|\bsha1\(`)
	passWord = lazyre.New(`(?i)passw(?:or)?d|passphrase|\bpwd\b|\bpasswd\b|credential|secret`)
	unused   = lazyre.New(`usedforsecurity\s*=\s*False`)
)

// weakHash finds passwords that are hashed with a fast function.
func weakHash(p place) *flaw {
	if !weakSum.MatchString(p.text) || unused.MatchString(p.text) {
		return nil
	}
	if !passWord.MatchString(p.text) && !passWord.MatchString(p.lines[p.from()]) {
		return nil
	}
	return &flaw{"security/hash", "a password is hashed with MD5 or SHA-1: short ones can be found in hours",
		"use bcrypt, scrypt or argon2", gates.Error}
}

var (
	weakDraw = map[string]*lazyre.Regexp{
		"go":     lazyre.New(`\b(?:rand|mathrand)\.(?:Int\w*|Uint\w*|Float\w*|Perm|Read|N)\(`),
		"python": lazyre.New(`(?:^|[^\w.])random\.(?:choices?|rand\w+|sample|getrandbits|random)\(`),
		"js":     lazyre.New(`\bMath\.random\(\)`),
	}
	mathRand   = lazyre.New(`(?m)^\s*(?:import\s+)?"math/rand`)
	secretName = lazyre.New(`(?i)(?:^|[^a-z])(?:\w*(?:token|secret|password|passwd|session_?id|sessionid|otp|api_?key|csrf|salt|verification_?code|reset_?code|private_?key|access_?key))\w*`)
	notSecret  = lazyre.New(`(?i)tokeni[sz]|tokens?\s*\[|max_?tokens|num_?tokens|token_?(?:count|ids?|len)|cryptorandom|SystemRandom`)
)

// weakRandom finds secrets from a generator with predictable values.
func weakRandom(p place) *flaw {
	if !weakDraw[p.lang].MatchString(p.text) {
		return nil
	}
	all := strings.Join(p.lines, "\n")
	if p.lang == "go" && !strings.Contains(p.text, "mathrand.") && !mathRand.MatchString(all) || p.lang == "python" &&
		strings.Contains(all, "random = secrets") {
		return nil
	}
	head, _, _ := strings.Cut(p.lines[p.from()], "(")
	if p.lang == "go" {
		head = p.lines[p.from()]
		if i := strings.Index(head, "("); strings.HasPrefix(head, "func (") {
			if j := strings.IndexByte(head[i+1:], '('); j > 0 {
				head = head[:i+1+j]
			}
		} else if i > 0 {
			head = head[:i]
		}
	}
	name := p.text
	if i := weakDraw[p.lang].FindStringIndex(p.text); i != nil {
		name = p.text[:i[0]]
	}
	if p.from() > 0 || header[p.lang].MatchString(p.lines[p.from()]) {
		name += "\n" + head
	}
	if !secretName.MatchString(name) || notSecret.MatchString(name+p.text) {
		return nil
	}
	return &flaw{"security/random", "a secret comes from a generator with predictable values",
		"use crypto/rand, secrets, or crypto.randomBytes", gates.Error}
}

var temporary = lazyre.New(`\btempfile\.mktemp\(|\bos\.(?:tempnam|tmpnam)\(|(?:^|[^\w.])mktemp\(\s*(?:["']|suffix|prefix|dir|\))|\btmp\.tmpNameSync\(`)

// tempName finds names of temporary files that another process can take before the file exists.
func tempName(p place) *flaw {
	if !temporary.MatchString(p.text) {
		return nil
	}
	return &flaw{"security/temporary",
		"the name of a temporary file is chosen before the file exists: another process can create a file there first",
		"use mkstemp, NamedTemporaryFile or TemporaryDirectory", gates.Error}
}

var tlsOff = lazyre.New(`\.InsecureSkipVerify\s*=\s*true\b|\bverify_mode\s*=\s*ssl\.CERT_NONE|\bcert_reqs\s*=\s*(?:ssl\.CERT_NONE|["']CERT_NONE)|\bcheck_hostname\s*=\s*False|\bstrictSSL\s*:\s*false|\brejectUnauthorized\s*=\s*false|\b(?:session|client|aiohttp)\b.*\bssl\s*=\s*False\b|\bverify_ssl\s*=\s*False|\bInsecureIgnoreHostKey\(\)|\bAutoAddPolicy\(\)`)

func tlsSetting(p place) *flaw {
	if !tlsOff.MatchString(p.text) {
		return nil
	}
	return &flaw{"security/tls", "certificates or host keys are not checked: anyone on the network can impersonate " +
		"the server",
		"trust its certificate authority or its known key", gates.Note}
}

var (
	keyed      = lazyre.New(`(?i)(?:^|[^\w])["']?((?:\w*_)?(?:password|passwd|pwd|secret|secret_?key|api_?key|auth_?token|access_?token|private_?key|client_?secret)|\w*(?:Password|Secret|ApiKey|APIKey|SecretKey|AuthToken|AccessToken))["']?\s*(?::\s*(?:str|string|String)\s*)?(?::=|=|:)\s*[bru]?["']([^"'\s]{6,})["']`)
	plainValue = lazyre.New(`(?i)^(?:test|foo|bar|none|null|undefined|password|secret|string|text|hidden)|env|process\.|config|%s|^[a-z]+(?:[_.:/-][a-z]+)*$|^[A-Z]+(?:_[A-Z]+)*$|^--|^/|^https?:`)
	withDigit  = lazyre.New(`\d|[!@#$%^&*]`)
)

// credential finds a password or key in the code.
func credential(p place) *flaw {
	m := keyed.FindStringSubmatch(p.text)
	if m == nil || redact.Placeholder(m[2]) || plainValue.MatchString(m[2]) || !withDigit.MatchString(m[2]) {
		return nil
	}
	return &flaw{"security/credential", "the value of " + m[1] + " is in the code, visible to every reader",
		"read it from the environment or a file that is not committed, and change it", gates.Warning}
}

//go:embed flows.toml
var flowTable string

// table returns the data of the flows: the kinds of resources that must be closed, and the relevant words of each
// language.
var table = sync.OnceValue(func() (t struct {
	Words   map[string][]string
	Opening []struct {
		Lang, What, Closed string
		Open               *lazyre.Regexp
	}
}) {
	tables.Read(flowTable, &t)
	return t
})

// handsOn matches code that passes a resource on. Returning a value read from the resource does not count.
const handsOn = `(?m)\b(?:return|yield)\b[^\n]*\bNAME(?:[^\w.\n]|\.(?:Body|C|cursor|makefile|detach)\b|$)|[:=]\s*&?\w*\{[^\n]*\bNAME\b|\.\w+\s*=\s*NAME\b|\w\[[^\n]*\]\s*=\s*NAME\b|^\s*\w+:\s+NAME,`

var inlineOpen = lazyre.New(`(?:json|yaml|pickle|toml|csv)\.\w+\(\s*open\(|(?:^|[^\w.])open\([^()]*(?:\([^()]*\)[^()]*)*\)\.(?:read|write|readlines|readline)\(`)

// leak finds resources that a function opens, does not close and does not pass on.
func leak(p place) *flaw {
	if p.lang == "python" && inlineOpen.MatchString(p.text) && !strings.Contains(p.text, "with ") {
		return &flaw{"resource/leak", "the file opened here is not closed", "open it in a with statement",
			gates.Warning}
	}
	for _, o := range table().Opening {
		if o.Lang != p.lang {
			continue
		}
		m := o.Open.FindStringSubmatch(p.lines[p.at])
		if m == nil {
			continue
		}
		if m[1] == "_" && o.What != "the context" || p.from() == 0 && !header[p.lang].MatchString(p.lines[0]) {
			return nil
		}
		closes := strings.ReplaceAll("(?m)"+o.Closed+"|"+handsOn, "NAME", regexp.QuoteMeta(m[1]))
		if regexp.MustCompile(closes).MatchString(strings.Join(p.lines[p.at+1:p.to()], "\n")) {
			return nil
		}
		fix := map[string]string{"go": "defer its Close", "python": "open it in a with statement",
			"js": "close it in a finally block"}[p.lang]
		if o.What == "the context" {
			return &flaw{"resource/leak",
				"the cancel function of the context is dropped: its timer and waiting goroutines stay",
				"keep it, and defer a call", gates.Warning}
		}
		return &flaw{"resource/leak", o.What + " opened here is never closed in this function", fix, gates.Warning}
	}
	return nil
}

var (
	asyncDef = map[string]*lazyre.Regexp{
		"python": lazyre.New(`^\s*async\s+def\b`),
		"js":     lazyre.New(`\basync\b[^=]*\(\s*(?:req|request|ctx)\b`),
	}
	blocks = map[string]*lazyre.Regexp{
		"python": lazyre.New(`(?:^|[^\w.])(?:time\.sleep|requests\.(?:get|post|put|patch|delete|head|request)|urllib\.request\.urlopen|subprocess\.(?:run|call|check_call|check_output))\(`),
		"js":     lazyre.New(`\b(?:fs\.)?(?:readFileSync|writeFileSync|execSync|spawnSync|execFileSync|pbkdf2Sync|scryptSync|readdirSync)\(`),
	}
	asleep = lazyre.New(`^\s*(?:asyncio|anyio|trio)\.(?:sleep|gather|wait|wait_for)\(`)
)

// blocking finds calls that block an event loop, and a sleep that is not awaited.
func blocking(p place) *flaw {
	if p.lang == "go" {
		return nil
	}
	if p.lang == "python" && asleep.MatchString(p.lines[p.at]) && asyncDef["python"].MatchString(p.lines[p.from()]) &&
		!strings.HasSuffix(strings.TrimSpace(p.lines[max(0, p.at-1)]), "(") &&
		!strings.HasSuffix(strings.TrimSpace(p.lines[max(0, p.at-1)]), "await") {
		return &flaw{"async/not-awaited", "nothing awaits this coroutine, so it never runs", "await it", gates.Error}
	}
	if !asyncDef[p.lang].MatchString(p.lines[p.from()]) || !blocks[p.lang].MatchString(p.text) ||
		strings.Contains(p.text, "to_thread") || strings.Contains(p.text, "run_in_executor") {
		return nil
	}
	severity := gates.Warning
	if p.lang == "js" {
		severity = gates.Note // often a small file, in a server for development
	}
	return &flaw{"async/blocking", "this call blocks inside an async function: nothing else runs meanwhile",
		"use the async form, or a thread", severity}
}

var (
	broadExcept = lazyre.New(`^\s*except\s*(?:\(?\s*(?:Base)?Exception\b[^:]*)?:\s*(return\b.*)?$`)
	plainReturn = lazyre.New(`^return(?:\s+(?:None|False|null|undefined|false|""|''|\[\]|\{\}|0|-1))?\s*;?$`)
	plainCatch  = lazyre.New(`\bcatch\s*(?:\(\s*\w+(?:\s*:\s*\w+)?\s*\))?\s*\{\s*(?:(return\b[^}]*)\})?\s*$`)
)

// silent finds code that handles a failure by a plain return without logging it.
func silent(p place) *flaw {
	head := map[string]*lazyre.Regexp{"python": broadExcept, "js": plainCatch}[p.lang]
	if head == nil {
		return nil
	}
	m := head.FindStringSubmatch(p.lines[p.at])
	if m == nil {
		return nil
	}
	body, after := strings.TrimSpace(m[1]), p.at+1
	if body == "" && after < len(p.lines) {
		body = strings.TrimSpace(p.lines[after])
		after++
	}
	alone := m[1] != "" || after >= len(p.lines) || p.lang == "js" &&
		strings.HasPrefix(strings.TrimSpace(p.lines[after]), "}") ||
		p.lang == "python" && indent(p.lines[after]) <= indent(p.lines[p.at]) || strings.TrimSpace(p.lines[after]) == ""
	if !alone || !plainReturn.MatchString(body) {
		return nil
	}
	severity := gates.Warning
	if p.lang == "js" {
		severity = gates.Note // often intended: unparsable data is not a value
	}
	return &flaw{"silent/return", "any error here ends in a plain return, without a log message",
		"log it, catch a narrower error, or re-raise it", severity}
}

// joinedCall returns a line with the following lines of its call, at most a few, and the number of the last line.
func joinedCall(lines []string, at int) (text string, last int) {
	text = lines[at]
	i := at + 1
	for ; i < len(lines) && i < at+6 && strings.Count(text, "(") > strings.Count(text, ")") &&
		!strings.HasSuffix(strings.TrimSpace(text), "{"); i++ {
		text += " " + strings.TrimSpace(lines[i])
	}
	return text, i
}

// telling reports whether a line contains a word that any flow looks for. This quick test rules out most lines.
func telling(lang, line string) bool {
	return slices.ContainsFunc(table().Words[lang], func(w string) bool { return strings.Contains(line, w) }) ||
		slices.ContainsFunc(table().Words["any"], func(w string) bool { return strings.Contains(line, w) })
}

// maxLine is the longest line, in bytes, that counts as written by hand.
const maxLine = 2000

// flowOf runs all flows on a line; the first result counts.
func flowOf(lang string, lines []string, n int) (found *flaw, last int) {
	if n < 1 || n > len(lines) || len(lines[n-1]) > maxLine || !telling(lang, lines[n-1]) {
		return nil, n
	}
	text, last := joinedCall(lines, n-1)
	p := place{lang, text, lines, n - 1, sync.OnceValues(func() (int, int) { return around(lang, lines, n-1) })}
	for _, f := range flows {
		if found := f(p); found != nil {
			return found, last
		}
	}
	return nil, n
}
