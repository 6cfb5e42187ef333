package tinymodel

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// words lists frequent pieces of prompts, one quoted string per line. Without them a prompt would have one token per
// byte, four times the estimate of budgets.
//
//go:embed words.txt
var words string

// The kinds of tokens for the tokenizer.
const (
	kindNormal  int32 = 1
	kindControl int32 = 3
	kindPhrase  int32 = 4 // "user defined": found in a prompt before any other splitting
)

// The control tokens, which have the first ids.
const (
	endOfText = iota
	turnStart
	turnEnd
	controls
)

// vocabulary is all that the model can read and write. Token texts are unique, as llama.cpp demands.
type vocabulary struct {
	texts []string // in plain form
	kinds []int32
	ids   map[string]int
	// Where the parts begin: bytes, words, then the rules' phrases and answers.
	newline int
	phrases []int   // ids, by rule; -1 for the rule without a phrase
	answers [][]int // ids of the pieces of the text, by rule
}

// piece is the length of a piece of an answer, in runes.
const piece = 16

func newVocabulary(rules []Rule) (*vocabulary, error) {
	v := &vocabulary{ids: map[string]int{}}
	for _, s := range []string{"<|endoftext|>", "<|im_start|>", "<|im_end|>"} {
		v.add(s, kindControl)
	}
	for b := range 256 {
		v.add(string([]byte{byte(b)}), kindNormal)
	}
	v.newline = v.ids["\n"]
	for line := range strings.Lines(words) {
		word, err := strconv.Unquote(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, fmt.Errorf("words.txt: %q: %w", line, err)
		}
		v.add(word, kindNormal)
	}
	for _, r := range rules {
		id := -1
		if r.When != "" {
			if _, taken := v.ids[r.When]; taken {
				return nil, fmt.Errorf("the phrase %q is already a token: use a longer one, and each only once", r.When)
			}
			id = v.add(r.When, kindPhrase)
		}
		v.phrases = append(v.phrases, id)
	}
	for _, r := range rules {
		ids, err := v.addAnswer(r.Say)
		if err != nil {
			return nil, err
		}
		v.answers = append(v.answers, ids)
	}
	return v, nil
}

func (v *vocabulary) add(text string, kind int32) int {
	id := len(v.texts)
	v.texts = append(v.texts, text)
	v.kinds = append(v.kinds, kind)
	v.ids[text] = id
	return id
}

// addAnswer cuts text into pieces and makes a token of each. A piece grows until no other token has its text.
func (v *vocabulary) addAnswer(text string) ([]int, error) {
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("the answer %.40q is not UTF-8", text)
	}
	cuts := []int{0} // where pieces end
	free := func(from, to int) bool { _, taken := v.ids[text[from:to]]; return !taken }
	seen := map[string]bool{}
	runes := 0
	for i := range text {
		last := cuts[len(cuts)-1]
		if runes >= piece && free(last, i) && !seen[text[last:i]] {
			seen[text[last:i]] = true
			cuts = append(cuts, i)
			runes = 0
		}
		runes++
	}
	for len(cuts) > 1 && (!free(cuts[len(cuts)-1], len(text)) || seen[text[cuts[len(cuts)-1]:]]) {
		cuts = cuts[:len(cuts)-1] // the rest is not unique: it belongs to the piece before
	}
	if !free(cuts[len(cuts)-1], len(text)) {
		return nil, fmt.Errorf("the answer %q is a token already, or another rule's: it cannot be distinguished", text)
	}
	var ids []int
	for i, from := range cuts {
		to := len(text)
		if i+1 < len(cuts) {
			to = cuts[i+1]
		}
		ids = append(ids, v.add(text[from:to], kindNormal))
	}
	return ids, nil
}

// spelled returns the token's text as a GGUF file has it. GPT-2 has a printable rune for each byte; tokens that are
// matched as a whole do not change.
func (v *vocabulary) spelled(id int) string {
	if v.kinds[id] != kindNormal {
		return v.texts[id]
	}
	var s strings.Builder
	for _, b := range []byte(v.texts[id]) {
		s.WriteRune(byteRunes[b])
	}
	return s.String()
}

// byteRunes is the byte encoding of GPT-2: printable bytes of Latin-1 stand for themselves, the others for the runes
// from 256 on.
var byteRunes = func() (runes [256]rune) {
	next := rune(256)
	for b := range runes {
		switch {
		case b > ' ' && b < 0x7f, b > 0xa0 && b != 0xad:
			runes[b] = rune(b)
		default:
			runes[b] = next
			next++
		}
	}
	return runes
}()
