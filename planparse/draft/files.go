package draft

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/wordset"
)

// mention is a path in a text and its action: "create", "modify", "delete", or "" if it is only named.
type mention struct{ path, verb string }

var (
	inCode   = lazyre.New("`([^`\n]+)`")
	barePath = lazyre.New(`(?:^|[\s()"'])((?:\./)?[\w@.-]+(?:/[\w@.-]+)+\.[A-Za-z][A-Za-z0-9]{0,9})\b`)
	fileName = lazyre.New(`^(?:\./)?[\w@.-]+(?:/[\w@.-]+)*$`)
	lineAt   = lazyre.New(`:\d+(?:[-–]\d+)?(?:,\d+)*$`)
	testPath = lazyre.New(`(?:^|/)(?:tests?|specs?|__tests__|testdata)/|(?:^|/)test_[^/]*$|_test\.\w+$|\.(?:test|spec)\.\w+$|_spec\.\w+$`)
	known    = lazyre.New(`^(?:Makefile|Dockerfile|LICENSE|README|CHANGELOG|Gemfile|Rakefile|go\.mod|go\.sum)$`)

	creates = lazyre.New(`(?i)\b(?:create[sd]?|new|add(?:s|ed)?|write[s]?|generate[sd]?|introduce[sd]?|location|produces?)\b`)
	changes = lazyre.New(`(?i)\b(?:modif(?:y|ies|ied)|extend(?:s|ed)?|update[sd]?|wire[sd]?|change[sd]?|edit(?:s|ed)?|implement(?:s|ed)?|fix(?:es|ed)?|register(?:s|ed)?|refactor|rename[sd]?|replace[sd]?|promote|file|files|where|module|script|in)\b`)
	deletes = lazyre.New(`(?i)\b(?:delete[sd]?|remove[sd]?|drop(?:s|ped)?)\b`)
	reads   = lazyre.New(`(?i)\b(?:read|see|per|from|against|like|existing|under|reference[sd]?|import(?:s|ed)?|described|already|via|using|uses|exists|contains|documented)\b`)
)

// mentions lists the paths in a text in order, with their actions.
func (d *document) mentions(text string) []mention {
	var out []mention
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		last := 0
		for _, at := range pathsIn(line) {
			p := line[at[0]:at[1]]
			before := line[last:at[0]]
			last = at[1]
			out = append(out, mention{strings.TrimPrefix(lineAt.ReplaceAllString(p, ""), "./"), verbIn(before, line[at[1]:])})
		}
	}
	return out
}

// verbIn returns the verb for a path: the last verb before the path, or a verb at the start of its line or item.
func verbIn(before, after string) string {
	verb, at := "", -1
	for _, v := range []struct {
		word string
		re   *lazyre.Regexp
	}{{"create", creates}, {"modify", changes}, {"delete", deletes}, {"read", reads}} {
		if all := v.re.FindAllStringIndex(before, -1); all != nil && all[len(all)-1][0] > at {
			verb, at = v.word, all[len(all)-1][0]
		}
	}
	switch {
	case verb != "":
		return verb
	case strings.Trim(before, " \t-*+•|_`0123456789.)[]xX") == "": // it leads
		if creates.MatchString(strings.TrimSpace(firstWords(after))) {
			return "create"
		}
		return "lead"
	}
	return ""
}

func firstWords(text string) string {
	words := strings.Fields(strings.Trim(text, "`*_ |—–-:("))
	return strings.Join(words[:min(2, len(words))], " ")
}

// pathsIn finds the paths in a line.
func pathsIn(line string) [][2]int {
	var out [][2]int
	for _, m := range inCode.FindAllStringSubmatchIndex(line, -1) {
		p := lineAt.ReplaceAllString(line[m[2]:m[3]], "")
		if fileName.MatchString(p) && isFile(p) {
			out = append(out, [2]int{m[2], m[3]})
		}
	}
	bare := inCode.ReplaceAllStringFunc(line, func(s string) string { return strings.Repeat("\x00", len(s)) })
	for _, m := range barePath.FindAllStringSubmatchIndex(bare, -1) {
		if isFile(line[m[2]:m[3]]) {
			out = append(out, [2]int{m[2], m[3]})
		}
	}
	slices.SortFunc(out, func(a, b [2]int) int { return a[0] - b[0] })
	return out
}

// isFile reports whether a name with dots is a path: it has folders and an extension, or a typical file extension.
func isFile(p string) bool {
	base := path.Base(p)
	ext := strings.TrimPrefix(path.Ext(base), ".")
	if known.MatchString(base) {
		return true
	}
	if ext == "" || base == "."+ext && !strings.Contains(p, "/") {
		return false
	}
	if strings.Contains(p, "/") {
		return !regexp.MustCompile(`^\d+$`).MatchString(ext)
	}
	return endings.Has(strings.ToLower(ext))
}

var endings = wordset.New(`go py ts tsx js jsx mjs cjs rs rb java kt swift c h cc cpp hpp cs php sh bash zsh ps1 sql toml yaml yml json md mdx txt html css scss vue svelte proto
	graphql gradle xml ini cfg lock tf ex exs erl lua pl r scala clj zig nix cmake`)

// files sorts the paths of a batch into created, changed and only read ones.
func (d *document) files(b *batch) {
	for _, m := range slices.Concat(d.mentions(b.plain), d.listedIn(b.text)) {
		p, verb := d.resolve(m.path), m.verb
		if clean, err := pathOf(p); err != nil || clean != p {
			continue
		}
		if v := d.listed[p]; v != "" {
			verb = v
		}
		if verb == "" && b.item {
			verb = "modify"
		}
		there := d.exists(p)
		if !strings.Contains(p, "/") && !there && verb != "lead" && d.listed[p] == "" && !located.MatchString(b.plain) {
			continue // a name in a sentence
		}
		switch {
		case verb == "delete":
			if there {
				b.put(&b.Files.Delete, p)
			}
		case verb == "" || verb == "read":
			if there {
				b.put(&b.Refs, p)
			}
		case testPath.MatchString(p) && !strings.HasSuffix(p, ".md"):
			b.put(&b.Files.Test, p)
		case there || d.createdBefore(p) || d.listed[p] == "modify":
			b.put(&b.Files.Modify, p)
		default:
			b.put(&b.Files.Create, p)
		}
	}
	b.Refs = slices.DeleteFunc(b.Refs, b.names)
}

// listedIn finds in a text, also in its fences, the paths that a table of files lists.
func (d *document) listedIn(text string) []mention {
	return slices.DeleteFunc(d.mentions(text), func(m mention) bool { return d.listed[d.resolve(m.path)] == "" })
}

// resolve maps a name without a folder to the one path of the document that ends in it.
func (d *document) resolve(p string) string {
	if strings.Contains(p, "/") || d.exists(p) {
		return p
	}
	if d.named == nil {
		d.named = map[string][]string{}
		for _, m := range d.mentions(strings.Join(d.lines, "\n")) {
			if base := path.Base(m.path); base != m.path && !slices.Contains(d.named[base], m.path) {
				d.named[base] = append(d.named[base], m.path)
			}
		}
	}
	if list := d.named[p]; len(list) == 1 {
		return list[0]
	}
	return p
}

// unnamed notes which files of a list are in no batch.
func (d *document) unnamed() {
	for _, i := range d.fileLists {
		l := &d.left[i]
		var none []string
		for n := l.First; n <= l.Last; n++ {
			for _, at := range pathsIn(d.lines[n-1]) {
				p := d.resolve(strings.TrimPrefix(d.lines[n-1][at[0]:at[1]], "./"))
				if !slices.Contains(none, p) && !slices.ContainsFunc(d.batches, func(b *batch) bool { return b.names(p) }) &&
					d.listed[p] != "" {
					none = append(none, p)
				}
			}
		}
		if len(none) > 0 {
			l.Why += "; in no batch: " + strings.Join(none, ", ")
		}
	}
}

func (b *batch) put(list *[]string, p string) {
	if !b.names(p) && !slices.Contains(*list, p) {
		*list = append(*list, p)
	}
}

func (b *batch) names(p string) bool {
	return slices.Contains(b.Files.All(), p)
}

func (d *document) createdBefore(p string) bool {
	return slices.ContainsFunc(d.batches, func(b *batch) bool { return slices.Contains(b.Files.Create, p) })
}

// tableOfFiles reads the action of each file in a section that lists files: the section's title or a word in the
// row says whether the file is new.
func (d *document) tableOfFiles(s *section) {
	verb := ""
	switch t := strings.ToLower(s.name); {
	case strings.Contains(t, "new") || strings.Contains(t, "creat"):
		verb = "create"
	case strings.Contains(t, "modif") || strings.Contains(t, "chang") || strings.Contains(t, "updat"):
		verb = "modify"
	case strings.Contains(t, "delet") || strings.Contains(t, "remov"):
		verb = "delete"
	}
	for n := max(s.First, 1); n <= min(s.Last, len(d.lines)); n++ {
		if list := pathsIn(d.lines[n-1]); len(list) > 0 && !d.code[n] {
			line := d.lines[n-1]
			v := verb
			if v == "" {
				v = verbIn(line[:list[0][0]], line[list[0][1]:])
			}
			d.listed[strings.TrimPrefix(line[list[0][0]:list[0][1]], "./")] = v
		}
	}
}
