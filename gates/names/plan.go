package names

import (
	"regexp"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/planparse"
)

// Plan holds the text of a batch about tests.
type Plan struct{ title, text string }

// PlanOf reads a batch.
func PlanOf(b planparse.Batch) Plan { return Plan{b.Title, b.Title + "\n" + b.Text} }

var (
	sentences = lazyre.New(`[.!?;](?:\s|$)|\n`)
	removes   = lazyre.New(`(?i)\b(?:remov\w*|delet\w*|drop\w*|retir\w*|discard\w*|get\s+rid|no\s+longer|obsolete)\b`)
	changes   = lazyre.New(`(?i)\b(?:chang\w*|updat\w*|edit\w*|rewrit\w*|adjust\w*|adapt\w*|correct\w*|replac\w*|renam\w*|merg\w*|split\w*|expect\w*)\b`)
	same      = lazyre.New(`(?i)\b(?:stays?|remains?|is\s+kept|are\s+kept|keeps?\s+(?:being\s+)?|must\s+be)\s+(?:exactly\s+|all\s+)?(?:the\s+same|unchanged|identical|as\s+(?:it\s+is|they\s+are))\b|` +
		`\b(?:without|no|not|never)\b[^,;:]{0,30}\b(?:chang|alter|affect)\w*[^,;:]{0,30}\b(?:behaviou?r|results?|outputs?|returns?|semantics|does)\b|` +
		`\b(?:behaviou?r|results?|outputs?|semantics)\b[^,;:]{0,30}\b(?:not|never|un)\s?chang\w*|` +
		`\b(?:keep|preserve)\w*\b[^,;:]{0,20}\b(?:behaviou?r|results?|outputs?|semantics)\b`)
	tidies     = lazyre.New(`(?i)^\W*(?:refactor\w*|tid(?:y|ies|ying)|simplif\w*|clean\w*|reformat\w*|restructur\w*|reorgani[sz]\w*|inline|extract|deduplicat\w*|document)\b`)
	changing   = lazyre.New(`(?i)\b(?:now|instead|fix\w*|correct\w*|wrong\w*|bugs?|support\w*|reject\w*|accept\w*|should|fails?|expect\w*|introduc\w*|implement\w*)\b`)
	aboutTests = lazyre.New(`(?i)\b(?:tests?|specs?|cases?|expect\w*|assert\w*|snapshots?|goldens?|fixtures?)\b`)
	dropping   = lazyre.New(`(?i)^\W*(?:\w+(?:\([\w-]+\))?!?:\s*)?(?:remove|delete|drop|retire|discard)\b(?:\s+support\b)?`)
	longWord   = lazyre.New(`[A-Za-z]{4,}`)
	greens     = lazyre.New(`(?i)\b(?:pass(?:es)?|green|succeeds?)\b`)
)

// Removal reports whether a sentence of the batch asks to remove that test.
func (p Plan) Removal(test string) bool {
	return p.says(bare(test),
		func(s string) bool { return removes.MatchString(s) || changes.MatchString(s) && !greens.MatchString(s) })
}

// RemovalOf reports whether a sentence of the batch asks to remove that part of the product.
func (p Plan) RemovalOf(name string) bool {
	return slices.ContainsFunc(p.naming(name), removes.MatchString)
}

// Abandons reports whether a sentence of the batch begins with the request to remove what a test checks: most of its
// words, and at least three, are in the test, and one of them is in none of the tests that are left.
func (p Plan) Abandons(test, left string) bool {
	test, left = strings.ToLower(test), strings.ToLower(left)
	return slices.ContainsFunc(sentences.Split(p.text, -1), func(s string) bool {
		verb := dropping.FindString(s)
		if verb == "" {
			return false
		}
		words := lists.Set(longWord.FindAllString(strings.ToLower(s[len(verb):]), -1))
		shared, only := 0, false
		for w := range words {
			if strings.Contains(test, w) {
				shared++
				only = only || !strings.Contains(left, w)
			}
		}
		return only && shared >= 3 && shared*2 > len(words)
	})
}

// Change reports whether a sentence of the batch asks to change that test. A sentence that only wants it to pass does
// not count.
func (p Plan) Change(test string) bool {
	return p.says(bare(test), func(s string) bool {
		return (changes.MatchString(s) || removes.MatchString(s)) && !greens.MatchString(s)
	})
}

// Keeps reports whether the batch says that behaviour does not change: in words, or by a title such as a refactoring.
// It returns false if the batch also asks for other changes.
func (p Plan) Keeps() bool {
	keeps := tidies.MatchString(p.title) && !aboutTests.MatchString(p.title)
	for _, s := range sentences.Split(p.text, -1) {
		switch {
		case same.MatchString(s):
			keeps = true
		case changing.MatchString(s):
			return false
		}
	}
	return keeps
}

// Names reports whether the batch names a test.
func (p Plan) Names(test string) bool { return p.says(bare(test), func(string) bool { return true }) }

// bare returns the name of a test without group, row and subtest.
func bare(test string) string {
	name := strings.TrimSpace(Trunk(test))
	return name[strings.LastIndexAny(name, ".:")+1:]
}

func (p Plan) says(name string, wanted func(sentence string) bool) bool {
	// One word may be the name of the subject as well: "Correct add" does not ask to change the test of that name.
	plain := !strings.Contains(name, " ") && !strings.Contains(strings.ToLower(name), "test")
	return slices.ContainsFunc(p.naming(name),
		func(s string) bool { return wanted(s) && (!plain || aboutTests.MatchString(s)) })
}

// naming returns the sentences that contain a name.
func (p Plan) naming(name string) []string {
	if len(name) < 3 {
		return nil
	}
	word, err := regexp.Compile(`(?:^|\W)` + regexp.QuoteMeta(name) + `(?:\W|$)`)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(sentences.Split(p.text, -1), func(s string) bool { return !word.MatchString(s) })
}
