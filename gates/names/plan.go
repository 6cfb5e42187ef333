package names

import (
	"regexp"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/planparse"
)

// Plan is what a batch says of tests.
type Plan struct{ text string }

// PlanOf reads a batch.
func PlanOf(b planparse.Batch) Plan { return Plan{b.Title + "\n" + b.Text} }

var (
	sentences = lazyre.New(`[.!?;](?:\s|$)|\n`)
	removes   = lazyre.New(`(?i)\b(?:remov\w*|delet\w*|drop\w*|retir\w*|discard\w*|get\s+rid|no\s+longer|obsolete)\b`)
	changes   = lazyre.New(`(?i)\b(?:chang\w*|updat\w*|edit\w*|rewrit\w*|adjust\w*|adapt\w*|correct\w*|replac\w*|renam\w*|merg\w*|split\w*|expect\w*)\b`)
	greens    = lazyre.New(`(?i)\b(?:pass(?:es)?|green|succeeds?)\b`)
)

// Removal reports whether a sentence of the batch asks for that test to go.
func (p Plan) Removal(test string) bool {
	return p.says(bare(test), func(s string) bool { return removes.MatchString(s) || changes.MatchString(s) && !greens.MatchString(s) })
}

// RemovalOf reports whether a sentence of the batch asks for that part of the product to go.
func (p Plan) RemovalOf(name string) bool { return p.says(name, removes.MatchString) }

// Change reports whether a sentence of the batch asks for that test to be changed. That it has to pass is no such wish.
func (p Plan) Change(test string) bool {
	return p.says(bare(test), func(s string) bool {
		return (changes.MatchString(s) || removes.MatchString(s)) && !greens.MatchString(s)
	})
}

// Names reports whether the batch names a test.
func (p Plan) Names(test string) bool { return p.says(bare(test), func(string) bool { return true }) }

// bare is the name of a test without group, row and subtest.
func bare(test string) string {
	name := strings.TrimSpace(Trunk(test))
	return name[strings.LastIndexAny(name, ".:")+1:]
}

func (p Plan) says(name string, wanted func(sentence string) bool) bool {
	if len(name) < 3 {
		return false
	}
	word, err := regexp.Compile(`(?:^|\W)` + regexp.QuoteMeta(name) + `(?:\W|$)`)
	if err != nil {
		return false
	}
	for _, s := range sentences.Split(p.text, -1) {
		if word.MatchString(s) && wanted(s) {
			return true
		}
	}
	return false
}
