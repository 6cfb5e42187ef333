package tamper

import (
	"path"
	"regexp"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
)

// plainer normalizes lines of code for the rules: it replaces aliases of modules and variables, such as "s" after
// "import sys as s", and joins the parts of a string.
type plainer struct {
	ext   string
	names []renamed
}

type renamed struct {
	re *regexp.Regexp
	to string
}

var (
	pyImportAs   = lazyre.New(`(?m)^[ \t]*import[ \t]+([\w.]+)[ \t]+as[ \t]+(\w+)`)
	pyFromImport = lazyre.New(`(?m)^[ \t]*from[ \t]+(sys|os|inspect|traceback|gc|threading)[ \t]+import[ \t]+\(?([\w ,]+)`)
	goAlias      = lazyre.New(`(?m)^[ \t]*(?:import[ \t]+)?(\w+|\.)[ \t]+"([a-z][a-z/]*)"`)
	jsModule     = lazyre.New(`(?m)(?:\b(?:const|let|var)[ \t]+(\w+)[ \t]*=[ \t]*(?:require\([ \t]*['"](?:node:)?process['"][ \t]*\)|(?:globalThis\.|global\.)?process)[ \t]*(?:;|$)|` +
		`^[ \t]*import[ \t]+(?:\*[ \t]+as[ \t]+)?(\w+)[ \t]+from[ \t]+['"](?:node:)?process['"])`)
	jsTakes = lazyre.New(`\{([\w \t,:]+)\}[ \t]*(?:=[ \t]*(?:require\([ \t]*['"](?:node:)?process['"][ \t]*\)|(?:globalThis\.|global\.)?process[ \t]*(?:[;,]|$))|` +
		`from[ \t]+['"](?:node:)?process['"])`)
	// variable matches a variable that is an alias of such a name, such as "a = sys.argv".
	variable = lazyre.New(`(?m)^[ \t]*(?:const |let |var )?(\w+)[ \t]*:?=[ \t]*(sys\.(?:modules|argv|_getframe|orig_argv)|os\.(?:Args|Executable)|` +
		`inspect\.(?:stack|currentframe)|runtime\.Callers?|flag\.Lookup|process\.(?:argv|execArgv))[ \t]*;?[ \t]*$`)
	byKey   = lazyre.New(`\b(sys|os|process|globalThis|global|require|module)(?:\.__dict__)?\[\s*['"](\w+)['"]\s*\]`)
	asField = lazyre.New(`\b(?:getattr\(\s*(sys|os|inspect)\s*,|vars\(\s*(sys|os|inspect)\s*\)\s*\[)\s*['"](\w+)['"]\s*[\])]`)
	joining = lazyre.New(`(?i)\bjoin\(`)
)

// plainerOf reads the aliases in a file.
func plainerOf(ext, text string) plainer {
	p := plainer{ext: ext}
	switch ext {
	case ".py":
		for _, m := range pyImportAs.FindAllStringSubmatch(text, -1) {
			p.add(`\b`+m[2]+`\.`, m[1]+".")
		}
		for _, m := range pyFromImport.FindAllStringSubmatch(text, -1) {
			p.members(m[1], m[2])
		}
	case ".go":
		for _, m := range goAlias.FindAllStringSubmatch(text, -1) {
			switch {
			case m[1] == ".":
				p.add(`(^|[^\w."])([A-Z]\w*)`, "${1}"+path.Base(m[2])+".$2")
			case m[1] != "_":
				p.add(`\b`+m[1]+`\.`, path.Base(m[2])+".")
			}
		}
	case ".js":
		for _, m := range jsModule.FindAllStringSubmatch(text, -1) {
			p.add(`\b`+m[1]+m[2]+`\.`, "process.")
		}
		for _, m := range jsTakes.FindAllStringSubmatch(text, -1) {
			p.members("process", strings.ReplaceAll(m[1], ":", " as "))
		}
	}
	for _, m := range variable.FindAllStringSubmatch(p.line(text), -1) {
		p.add(`\b`+m[1]+`\b`, m[2])
	}
	return p
}

// members adds a list of members of a module; "argv as v" has another name.
func (p *plainer) members(module, list string) {
	for item := range strings.SplitSeq(list, ",") {
		name, other, ok := strings.Cut(strings.TrimSpace(item), " as ")
		if !ok {
			other = name
		}
		if name, other = strings.TrimSpace(name), strings.TrimSpace(other); name != "" && other != "" {
			p.add(`(^|[^\w.])`+other+`\b`, "${1}"+module+"."+name)
		}
	}
}

func (p *plainer) add(expr, to string) {
	if re, err := regexp.Compile(expr); err == nil {
		p.names = append(p.names, renamed{re, to})
	}
}

// line returns a line, or a whole text, in normalized form.
func (p plainer) line(l string) string {
	l = byKey.ReplaceAllString(l, "$1.$2")
	if p.ext == ".py" {
		l = asField.ReplaceAllString(l, "$1$2.$3")
	}
	for _, n := range p.names {
		l = n.re.ReplaceAllString(l, n.to)
	}
	return l
}

// joined returns a line in which adjacent string literals are one literal: "a" + "b", in Python also "a" "b", and the
// arguments of a join.
func joined(l, ext string) string {
	if strings.Count(l, `"`)+strings.Count(l, "'")+strings.Count(l, "`") < 4 {
		return l
	}
	join := joining.MatchString(l)
	var out strings.Builder
	for i := 0; i < len(l); {
		end := literal(l, i)
		if end < 0 {
			out.WriteByte(l[i])
			i++
			continue
		}
		quote, text := l[i], l[i+1:end-1]
		for {
			next := end + len(l[end:]) - len(strings.TrimLeft(l[end:], " \t"))
			glued := next < len(l) && (l[next] == '+' || l[next] == ',' && join)
			if glued {
				next++
				next += len(l[next:]) - len(strings.TrimLeft(l[next:], " \t"))
			} else if ext != ".py" {
				break
			}
			more := literal(l, next)
			if more < 0 {
				break
			}
			text += l[next+1 : more-1]
			end = more
		}
		out.WriteByte(quote)
		out.WriteString(text)
		out.WriteByte(quote)
		i = end
	}
	return out.String()
}

// literal returns the end of the string literal that begins at i, or -1.
func literal(l string, i int) int {
	if i >= len(l) || !strings.ContainsRune("\"'`", rune(l[i])) {
		return -1
	}
	for k := i + 1; k < len(l); k++ {
		switch l[k] {
		case '\\':
			k++
		case l[i]:
			return k + 1
		}
	}
	return -1
}
