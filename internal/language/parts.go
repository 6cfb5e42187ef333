package language

import (
	"path"
	"strings"
	"sync"
)

// Part is a comment or a string in the source of a program.
type Part struct {
	Start, End int // with its marks
	From, To   int // without them
	Comment    bool
}

// Open reports whether a string has no end.
func (p Part) Open() bool { return !p.Comment && p.To == p.End }

// mark describes a kind of comments or strings.
type mark struct {
	open, end string
	comment   bool
	lines     bool // it may continue on the next line
	raw       bool // a backslash is an ordinary character
}

// syntax describes how a language writes comments and strings.
type syntax struct {
	marks     []mark // longer ones first
	first     [256]bool
	lifetimes bool // an apostrophe may also begin a name
	regex     bool // there are regular expressions between slashes
	escapes   bool // a backslash also works outside of strings
	heredoc   int  // number of "<" before the word that ends a heredoc; 0: the language has none
	spaced    bool // there may be a space before that word
}

// Further languages whose strings are known.
const (
	family   = "c"
	csharp   = "c#"
	ruby     = "ruby"
	php      = "php"
	template = "php between other text"
	elixir   = "elixir"
	lua      = "lua"
	sql      = "sql"
	settings = "hcl"
	power    = "powershell"
)

// sources returns the languages of source files by their endings.
var sources = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for lang, endings := range map[string]string{
		Go: ".go", Python: ".py .pyi .pyx", Rust: ".rs", csharp: ".cs", Shell: ".sh .bash .zsh .bats", php: ".php",
		Node:   ".js .cjs .mjs .jsx .ts .cts .mts .tsx .vue .svelte",
		Java:   ".java .kt .kts .scala .groovy .gradle .swift .dart",
		family: ".c .h .cc .cpp .cxx .hh .hpp .m .mm .zig .proto",
		ruby:   ".rb .rake .pl .pm", elixir: ".ex .exs .jl .toml .graphql",
		lua: ".lua", sql: ".sql", settings: ".tf .hcl", power: ".ps1",
	} {
		for ending := range strings.FieldsSeq(endings) {
			out[ending] = lang
		}
	}
	return out
})

// OfSource returns the language of a source file for [Parts], by its path, and "" if its strings are not known.
func OfSource(p string) string { return sources()[strings.ToLower(path.Ext(p))] }

// syntaxes returns what is known of each language. The one without a name stands for all others.
var syntaxes = sync.OnceValue(func() map[string]*syntax {
	line := func(open string) mark { return mark{open: open, end: "\n", comment: true, raw: true} }
	block := func(open, end string) mark { return mark{open: open, end: end, comment: true, lines: true, raw: true} }
	short := func(quote string) mark { return mark{open: quote, end: quote} }
	long := func(open, end string) mark { return mark{open: open, end: end, lines: true} }
	raw := func(open, end string) mark { return mark{open: open, end: end, lines: true, raw: true} }
	slashes := []mark{line("//"), block("/*", "*/")}
	threes, quotes := []mark{long(`"""`, `"""`), long(`'''`, `'''`)}, []mark{short(`"`), short(`'`)}
	both := []mark{long(`"`, `"`), raw(`'`, `'`)}
	of := func(lists ...[]mark) []mark {
		var out []mark
		for _, l := range lists {
			out = append(out, l...)
		}
		return out
	}
	hash := []mark{line("#")}
	tick := []mark{long("`", "`")}
	all := map[string]*syntax{
		"":     {marks: of(slashes, quotes, tick)},
		Go:     {marks: of(slashes, quotes, []mark{raw("`", "`")})},
		Node:   {marks: of(slashes, quotes, tick), regex: true},
		Python: {marks: of(hash, threes, quotes)},
		Rust: {marks: of(slashes, []mark{raw(`r#"`, `"#`), raw(`r##"`, `"##`), raw(`r"`, `"`), long(`"`, `"`), short("'")}),
			lifetimes: true},
		Java:     {marks: of(slashes, threes, quotes, tick), lifetimes: true},
		family:   {marks: of(slashes, []mark{raw(`R"(`, `)"`)}, quotes)},
		csharp:   {marks: of(slashes, []mark{raw(`"""`, `"""`), raw(`@"`, `"`), raw(`@$"`, `"`)}, quotes)},
		Shell:    {marks: of(hash, []mark{long("$'", "'")}, both), escapes: true, heredoc: 2, spaced: true},
		ruby:     {marks: of([]mark{block("\n=begin", "\n=end")}, hash, quotes), heredoc: 2},
		php:      {marks: of(slashes, hash, []mark{long(`"`, `"`), long(`'`, `'`)}), heredoc: 3, spaced: true},
		elixir:   {marks: of(hash, threes, quotes)},
		lua:      {marks: of([]mark{block("--[[", "]]"), line("--"), raw("[[", "]]")}, quotes)},
		sql:      {marks: []mark{line("--"), block("/*", "*/"), raw("$$", "$$"), raw(`'`, `'`)}},
		power:    {marks: of([]mark{block("<#", "#>")}, hash, []mark{raw("@\"\n", "\n\"@"), raw("@'\n", "\n'@")}, quotes)},
		settings: {marks: of(slashes, hash, quotes[:1]), heredoc: 2},
	}
	all[template] = &syntax{marks: of(slashes, hash, quotes), heredoc: 3, spaced: true}
	all[Bats] = all[Shell]
	for _, s := range all {
		for _, m := range s.marks {
			s.first[m.open[0]] = true
		}
		s.first['/'] = s.first['/'] || s.regex
		s.first['\\'] = s.escapes
		s.first['<'] = s.first['<'] || s.heredoc > 0
		s.first['\n'] = s.first['\n'] || s.heredoc > 0
	}
	return all
})

// Blank replaces a part of a source with spaces, except its line ends.
func Blank(source []byte, from, to int) {
	for i := from; i < to && i < len(source); i++ {
		if source[i] != '\n' {
			source[i] = ' '
		}
	}
}

// Parts returns the comments and strings of a source, in order. It knows the languages of [OfSource] and [OfTest], and
// reads others like C.
func Parts(text, lang string) []Part {
	if lang == php && strings.Contains(text, "?>") {
		lang = template // an apostrophe outside of the code is no string
	}
	s := syntaxes()[lang]
	if s == nil {
		s = syntaxes()[""]
	}
	out := make([]Part, 0, len(text)/50) // about as many as code has
	var words []string                   // that end the heredocs of the line
	last := byte('(')                    // the last byte of code, to distinguish a division from a regular expression
scan:
	for i := 0; i < len(text); {
		c := text[i]
		if !s.first[c] {
			if c != ' ' && c != '\t' && c != '\n' {
				last = c
			}
			i++
			continue
		}
		if c == '\n' {
			for ; len(words) > 0; words = words[1:] {
				if p, ok := untilWord(text, i, words[0]); ok {
					out = append(out, p)
					i = p.End
				}
			}
			words = nil
			if i == len(text) {
				break
			}
			c = text[i]
		}
		for _, m := range s.marks {
			if !strings.HasPrefix(text[i:], m.open) || !s.begins(text, i) {
				continue
			}
			p := m.part(text, i)
			out = append(out, p)
			if i = p.End; !m.comment {
				last = '"'
			}
			continue scan
		}
		switch {
		case c == '/' && s.regex && strings.IndexByte("(,=:[!&|?{};+\n", last) >= 0:
			if p := (mark{open: "/", end: "/"}).part(text, i); !p.Open() {
				out = append(out, p)
				i, last = p.End, '"'
				continue
			}
		case c == '\\' && s.escapes:
			i++
		case c == '<' && s.heredoc > 0:
			word, n := s.word(text[i:])
			if word != "" {
				words = append(words, word)
			}
			i += n
			last = '<'
			continue
		}
		if c != '\n' {
			last = c
		}
		i++
	}
	return out
}

// begins reports whether the bytes of a mark at i begin a comment or a string there.
func (s *syntax) begins(text string, i int) bool {
	switch c := text[i]; {
	case c == '\'' && s.lifetimes:
		return i+2 < len(text) && (text[i+1] == '\\' || text[i+2] == '\'')
	case c == '#' && s.escapes: // in a shell: $#, ${a#b}
		return i == 0 || strings.IndexByte(" \t\n;(", text[i-1]) >= 0
	case c == '#' && s.heredoc == 3: // an attribute of PHP
		return i+1 == len(text) || text[i+1] != '['
	case c == 'r' || c == 'R': // of r"" and R"()"
		return i == 0 || !WordByte(text[i-1])
	}
	return true
}

// WordByte reports whether a byte is a letter, a digit or an underscore of ASCII.
func WordByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// part returns the part that begins at a position. The end of the text ends each, and the end of the line most.
func (m mark) part(text string, at int) Part {
	p := Part{Start: at, From: at + len(m.open), Comment: m.comment}
	for i := p.From; i < len(text); i++ {
		switch {
		case text[i] == '\\' && !m.raw:
			i++
		case text[i] == '\n' && !m.lines:
			p.To, p.End = i, i
			return p
		case text[i] == m.end[0] && strings.HasPrefix(text[i:], m.end):
			p.To, p.End = i, i+len(m.end)
			return p
		}
	}
	p.To, p.End = len(text), len(text)
	return p
}

// word returns the word that ends the heredoc that begins a text, and the length of what names it. Without a heredoc
// the word is empty.
func (s *syntax) word(text string) (word string, length int) {
	n := len(text) - len(strings.TrimLeft(text, "<"))
	if n != s.heredoc {
		return "", n
	}
	rest := text[n:]
	if rest != "" && (rest[0] == '-' || rest[0] == '~') {
		rest = rest[1:]
	}
	if s.spaced {
		rest = strings.TrimLeft(rest, " ")
	}
	quote := ""
	if rest != "" && strings.IndexByte(`"'\`, rest[0]) >= 0 {
		quote, rest = rest[:1], rest[1:]
	}
	end := 0
	for end < len(rest) && WordByte(rest[end]) {
		end++
	}
	if end == 0 || rest[0] <= '9' || quote != "" && quote != `\` && !strings.HasPrefix(rest[end:], quote) {
		return "", n
	}
	if word = rest[:end]; quote == `\` {
		quote = ""
	}
	return word, len(text) - len(rest) + end + len(quote)
}

// untilWord returns the heredoc after the line end at a position. A line that begins with the word ends it.
func untilWord(text string, at int, word string) (Part, bool) {
	for i := at + 1; i < len(text); {
		line, _, _ := strings.Cut(text[i:], "\n")
		if code := strings.TrimLeft(line, " \t"); strings.HasPrefix(code, word) {
			if rest := code[len(word):]; rest == "" || !WordByte(rest[0]) && rest[0] != ' ' {
				return Part{Start: at, From: at + 1, To: i, End: i + len(line) - len(rest)}, true
			}
		}
		i += len(line) + 1
	}
	return Part{}, false
}
