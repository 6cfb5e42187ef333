package promise

import "strings"

// mostLines limits the text in which each sentence is about the new code: one of a long text may be about other code.
const mostLines = 20

// parts returns the tasks of the batch that are short enough to be about new code only.
func (w wording) parts() (out []wording) {
	texts := []string{w.text}
	if heads := taskHead.FindAllStringIndex(w.text, -1); strings.Count(w.text, "\n") > mostLines && len(heads) > 0 {
		texts = []string{w.text[:heads[0][0]]}
		for i, at := range heads {
			end := len(w.text)
			if i+1 < len(heads) {
				end = heads[i+1][0]
			}
			texts = append(texts, w.text[at[0]:end])
		}
	}
	for _, text := range texts {
		if strings.Count(text, "\n") <= mostLines {
			part := w
			part.text, part.sentences = text, nil
			for _, s := range sentence.Split(text, -1) {
				part.sentences = append(part.sentences, strings.Join(strings.Fields(s), " "))
			}
			out = append(out, part)
		}
	}
	return out
}
