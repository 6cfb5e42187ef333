package redact

import (
	"math"
	"strings"
	"sync"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/literal"
)

// mixed reports whether a key has a digit and is not a sequence of words with hyphens, such as the name of a CSS class.
func mixed(v string) bool {
	tail := v[strings.IndexByte(v, '-')+1:]
	if !strings.ContainsAny(tail, "0123456789") {
		return false
	}
	return strings.ContainsAny(tail, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") ||
		!strings.ContainsAny(strings.TrimPrefix(tail, "proj-"), "-_")
}

// speaking lists the words in the names of secrets. The text of an assignment begins with one.
var speaking = sync.OnceValue(func() *literal.Set { return literal.NewSet(literal.Needs(assignmentText)) })

// assignmentText matches the end of a secret-sounding name, and its value.
const assignmentText = `(?i)^((?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|auth[_-]?key|private[_-]?key|account[_-]?key|credential|encryption[_-]?key|signing[_-]?key)[\w-]{0,30})["']?[ \t]{0,5}(?:=>|:=|=|:|[ \t])[ \t]{0,5}(?:"([^"\s\\]{12,500})"|'([^'\s\\]{12,500})'|([A-Za-z0-9+/_=~.-]{16,500}))`

var assignment = lazyre.New(assignmentText)

// assignmentAt returns the positions of the groups of [assignmentText] where it matches at an offset.
func assignmentAt(text string, offset int) []int {
	m := assignment.FindStringSubmatchIndex(text[offset:])
	for i := range m {
		if m[i] >= 0 {
			m[i] += offset
		}
	}
	return m
}

// assigned reports whether a match of [assignmentText] assigns a secret, and returns the positions of its name and
// value. The value must look random, because harmless assignments to such names are common.
func assigned(text string, m []int) (start, from, to int, ok bool) {
	start = m[2]
	for start > 0 && m[2]-start < 60 && (wordByte(text[start-1]) || text[start-1] == '.' || text[start-1] == '-') {
		start--
	}
	name := text[start:m[3]]
	bare := m[8] >= 0
	for _, g := range []int{4, 6, 8} {
		if m[g] >= 0 {
			from, to = m[g], m[g+1]
		}
	}
	value := text[from:to]
	if bare {
		value = strings.TrimRight(value, ".-=")
		to = from + len(value)
		gap := strings.TrimLeft(text[m[3]:from], `"'`)
		if strings.TrimSpace(gap) == "" && !strings.HasPrefix(name, "--") { // only flags have their values there
			return start, 0, 0, false
		}
		if to < len(text) && strings.IndexByte("([{", text[to]) >= 0 || len(value) < 16 || strings.Count(value, "/") > 2 {
			return start, 0, 0, false // an expression, a path
		}
	}
	if Placeholder(value) || Weak(value) || Reference(value) || PublicName(name) || !random(value) {
		return start, 0, 0, false
	}
	return start, from, to, true
}

// assigns reports whether a word of a secret name at an offset belongs to an assignment of a secret.
func assigns(text string, offset int) bool {
	m := assignmentAt(text, offset)
	if m == nil {
		return false
	}
	_, _, _, ok := assigned(text, m)
	return ok
}

// noWord reports whether a literal of the kind work-token at an offset may begin a token. Most of pat and fig are in words
// such as path and config.
func noWord(text string, offset int) bool {
	has := func(n int, c byte) bool { return offset+n < len(text) && text[offset+n] == c }
	switch text[offset : offset+3] {
	case "pat":
		return has(len("pat")+14, '.')
	case "fig":
		return has(len("figd"), '_')
	}
	return true
}

// password reports whether a password and an @ may follow the :// at an offset.
func password(text string, offset int) bool {
	n := strings.IndexAny(text[offset+len("://"):], "@/ \t\r\n")
	return n >= 0 && text[offset+len("://")+n] == '@'
}

// random reports whether a value looks random, unlike words, versions and paths: digits among letters, and little
// repetition.
func random(v string) bool {
	letters := strings.ContainsAny(v, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	digits := 0
	for i := range len(v) {
		if '0' <= v[i] && v[i] <= '9' {
			digits++
		}
	}
	return letters && digits > 1 && Entropy(v) >= 3 && !wordy(v)
}

// wordy reports whether a value is lower-case words, perhaps with numbers, between separators.
func wordy(v string) bool {
	parts := strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune("_-./:", r) })
	if len(parts) < 2 {
		return false
	}
	for _, p := range parts {
		if w := strings.Trim(p, "0123456789"); len(p) > 12 || strings.Trim(w, "abcdefghijklmnopqrstuvwxyz") != "" &&
			strings.Trim(w, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			return false
		}
	}
	return !uuidText.MatchString(v)
}

var (
	uuidText    = lazyre.New(`^` + uuid + `$`)
	indirect    = lazyre.New(`(?i)^(?:\$|%|\{\{|<|@|!|env[.:(]|os\.|process\.|secrets?[./:]|vault[:/]|arn:|ssm:|op://|file:|https?://[^:@]*$|/|\./|~/|getenv|config\.|settings\.|self\.|this\.|sha256[-:]|sha512[-:])|\$\{|\(\)|\[\]`)
	publicNames = lazyre.New(`(?i)public|_id$|_name$|_url$|_uri$|_path$|_file$|_type$|_length$|_field$|_header$|_expir|_ttl|_count|_limit|max_?tokens|tokeniz|pad_token|eos_token|bos_token|unk_token|csrf_?token_?name|secret_?name|token_?endpoint|password_?hint|_regex$|_pattern$|checksum|integrity|digest|hash`)
	fakeWords   = lazyre.New(`(?i)example|changeme|change[_-]me|placeholder|your[_-]|_here|dummy|redacted|insert[_-]|replace[_-]?me|not[_-]?a[_-]?(?:real|secret)|fake|sample|xxxx|\*\*\*|\.\.\.|1234567890|abcdefghij|0123456789|deadbeef|todo|foobar|lorem|hunter2|correct[_-]?horse`)
	zeros       = lazyre.New(`^[0-]+$`)
)

// Weak reports whether a value is too plain for a secret: words, paths, few kinds of characters.
func Weak(v string) bool {
	digits, upper, lower, other := 0, 0, 0, 0
	for _, r := range v {
		switch {
		case r >= '0' && r <= '9':
			digits++
		case r >= 'A' && r <= 'Z':
			upper++
		case r >= 'a' && r <= 'z':
			lower++
		default:
			other++
		}
	}
	sorts := lists.Count([]int{digits, upper, lower, other}, func(n int) bool { return n > 0 })
	switch {
	case len(v) < 8 || sorts < 2:
		return true
	case digits == 0 && upper == 0 && strings.Trim(v, "abcdefghijklmnopqrstuvwxyz._-/:") == "":
		return true // words
	case digits == 0 && other == 0 && lower > 0 && upper > 0 && len(v) < 24:
		return true // camelCase
	case digits == 0 && lower == 0:
		return true // CONSTANT_CASE
	}
	return Entropy(v) < 3.0 && len(v) < 20 || Entropy(v) < 2.5
}

// Reference reports whether a value refers to a secret instead of being one.
func Reference(v string) bool { return indirect.MatchString(v) }

// PublicName reports whether a secret-sounding name is that of a public value.
func PublicName(name string) bool { return publicNames.MatchString(name) }

// Placeholder reports whether a value is plainly a placeholder for a secret.
func Placeholder(v string) bool {
	if fakeWords.MatchString(v) || strings.ContainsAny(v, "<>") || strings.Contains(v, "${") ||
		strings.Contains(v, "{{") || strings.Contains(v, `\(`) || strings.HasPrefix(v, "$") {
		return true
	}
	if strings.Contains(v, "PRIVATE KEY") {
		return false
	}
	// The text after the prefix is one repeated character, or counts up.
	tail := v[strings.LastIndexAny(v, "_-")+1:]
	return len(tail) >= 8 && (Entropy(tail) < 1.6 || zeros.MatchString(tail))
}

// Entropy returns the Shannon entropy in bits per byte.
func Entropy(s string) float64 {
	if s == "" {
		return 0
	}
	var n [256]int
	for i := range len(s) {
		n[s[i]]++
	}
	e := 0.0
	for _, c := range n {
		if c > 0 {
			p := float64(c) / float64(len(s))
			e -= p * math.Log2(p)
		}
	}
	return e
}
