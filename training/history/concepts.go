package history

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/wordset"
	"github.com/runplan/runplan/knowledge/chunks"
	"github.com/runplan/runplan/knowledge/retrieve"
)

// Limits of [work.concepts].
const (
	mostConcepts = 5
	mostWords    = 4 // of a concept
	leastSaid    = 2 // how often a task says a single word that is a concept and not in its first line
)

var (
	termRE   = lazyre.New(`[\p{L}\d_.$]+(?:-[\p{L}\d_.$]+)*`)
	noTermRE = lazyre.New("`[^`\n]*[^`\na-z -][^`\n]*`|https?://\\S+|\\S+/\\S*[./]\\S+|(?m:^(?:\t|    |\\s*[|>]).*$)")
)

// term is a row of words of a task that may be a concept.
type term struct {
	words []string // in small letters
	name  bool     // the words of a name in code
}

// has reports whether a term has all words of another one, in singular or plural.
func (t term) has(o term) bool {
	return !slices.ContainsFunc(o.words, func(a string) bool {
		return !slices.ContainsFunc(t.words, func(b string) bool { return retrieve.Stem(a) == retrieve.Stem(b) })
	})
}

// concepts returns the terms of a task: the rows of its first line, then what it says further down, if the changed code
// or its path has all words. The words of a name are a term if there are too few others.
func (w *work) concepts() []string {
	inCode := w.inCode()
	_, rest, _ := strings.Cut(w.task, "\n")
	first, more := terms(intentOf(w.task), inCode), terms(rest, inCode)
	var out []term
	add := func(t term) {
		switch i := slices.IndexFunc(out, t.has); {
		case slices.ContainsFunc(out, func(o term) bool { return o.has(t) }):
		case i >= 0:
			out[i] = t
		case len(out) < mostConcepts:
			out = append(out, t)
		}
	}
	single := func(t term) bool {
		return len(t.words) == 1 && (generic.Has(retrieve.Stem(t.words[0])) || isVerb(t.words[0]) || !inCode(t.words[0]))
	}
	for _, t := range first {
		if !t.name && !single(t) {
			add(t)
		}
	}
	for _, t := range more {
		said := lists.Count(slices.Concat(first, more), func(o term) bool { return o.has(t) })
		if !t.name && !single(t) && lists.Count(t.words, inCode) == len(t.words) &&
			(len(t.words) > 1 || said >= leastSaid) {
			add(t)
		}
	}
	for _, t := range slices.Concat(first, more) {
		if t.name && len(out) < 2 {
			add(t)
		}
	}
	return lists.Map(out, func(t term) string { return strings.Join(t.words, " ") })
}

// inCode returns a function that reports whether the changed lines, their symbols or paths have a word.
func (w *work) inCode() func(string) bool {
	code := map[string]bool{}
	add := func(s string) { code[s] = true }
	for _, c := range w.changes {
		chunks.EachWord(c.path, add)
		old, now := c.changedLines()
		chunks.EachWord(old, add)
		chunks.EachWord(now, add)
		for _, i := range c.touched {
			chunks.EachWord(c.before.symbols[i].name, add)
		}
	}
	return func(word string) (found bool) {
		chunks.EachWord(word, func(s string) { found = found || code[s] })
		return found
	}
}

// terms returns the rows of significant words of a text, and its names of code.
func terms(text string, inCode func(string) bool) []term {
	var out []term
	var row []string
	add := func(row []string) {
		for len(row) > 0 && isVerb(row[0]) && !inCode(row[0]) {
			row = row[1:]
		}
		for len(row) > 0 && strings.HasSuffix(row[len(row)-1], "ed") && !inCode(row[len(row)-1]) {
			row = row[:len(row)-1]
		}
		row = row[max(0, len(row)-mostWords):]
		if len(strings.Join(row, " ")) >= 3 && differ(row) {
			out = append(out, term{words: row})
		}
	}
	end := func() {
		from := 0
		for i, word := range row {
			if actions.Has(retrieve.Stem(word)) && (i == from || i+1 < len(row)) {
				add(row[from:i])
				from = i + 1
			}
		}
		add(row[from:])
		row = nil
	}
	text = noTermRE.ReplaceAllString(text, ".")
	last := 0
	for _, at := range termRE.Re().FindAllStringIndex(text, -1) {
		word, gap := text[at[0]:at[1]], text[last:at[0]]
		if gap != " " && gap != "\n" {
			end()
		}
		last = at[1]
		small := strings.ToLower(strings.TrimRight(word, "."))
		switch {
		case mayBeCode(word) && codeLike.MatchString(word):
			end()
			if parts := retrieve.Humps(word); len(parts) > 1 && len(parts) < mostWords && differ(parts) &&
				!slices.ContainsFunc(parts, func(p string) bool { return len(p) < 3 }) {
				out = append(out, term{words: parts, name: true})
			}
		case !significant(small) || strings.HasSuffix(small, "ly") && !inCode(small):
			end()
		default:
			if row = append(row, small); strings.HasSuffix(word, ".") {
				end()
			}
		}
	}
	end()
	return out
}

// significant reports whether a word may be in a term.
func significant(word string) bool {
	return (!emptyWords.Has(word) || generic.Has(retrieve.Stem(word))) && !stopWords.Has(word) && !noTerms.Has(word) &&
		utf8.RuneCountInString(word) >= 2 && !strings.ContainsAny(word, ".$") && strings.Trim(word, "0123456789") != ""
}

// differ reports whether no word is there twice, in singular or plural.
func differ(words []string) bool {
	return len(lists.Unique(lists.Map(words, retrieve.Stem))) == len(words)
}

// isVerb reports whether a word looks like a form of a verb.
func isVerb(word string) bool {
	return (strings.HasSuffix(word, "ing") || strings.HasSuffix(word, "ed")) && !strings.Contains(word, "-")
}

// actions are the verbs with which many sentences of tasks begin. They separate terms.
var actions = wordset.New(
	"allow apply avoid check contain convert correct cover create detect disable disallow don drop enable ensure " +
		"escape exclude extend extract handle have ignore implement include increase introduce keep limit load merge " +
		"move omit pass prevent print provide raise reduce remove rename reorder replace report require reset restore " +
		"return rewrite show simplify skip split stop support switch throw track trie upgrade validate verify work")

// moreActions are other words with which a sentence says what to do.
var moreActions = wordset.New(
	"add adjust always build call change clean do don don't fix get give honor improve let make never only parse " +
		"preserve put read recognize render require respect run set take treat update use write")

// noTerms are more words that are in no term.
var noTerms = wordset.New(
	"actually already always anymore better correctly currently don doesn even favor first following found inside " +
		"instead less longer many more most much never none null outside possible possibly previously properly really " +
		"several some still though two way yes")

// generic are words that are a concept only beside others.
var generic = wordset.New(
	"address argument array case class code config data default element entry error example export field file " +
		"format formatting function instance item key line list message method mode module name node number object " +
		"option output parameter path property result rule string style test text type value variable version word")
