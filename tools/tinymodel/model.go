// Package tinymodel makes language models for tests: a Llama of one layer in a GGUF file of a few megabytes. A real
// server loads and runs it in milliseconds, so tests download nothing.
//
// A [Model] without rules produces random readable ASCII and ends after some words. With a schema it gives a valid
// but meaningless answer. A [Rule] makes it output a text: its weights are computed so that a phrase in the prompt
// produces the text of the rule, piece by piece. Both are deterministic: the same Model gives the same file, and at
// temperature 0 the same answers.
package tinymodel

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
)

// Model describes the model to make.
type Model struct {
	Seed    uint64
	Window  int    // tokens that prompt and answer may have together; 0: 32768
	Endless bool   // it never ends an answer on its own
	Rules   []Rule // the first rule with a matching phrase applies; if none matches, the output is random
}

// Rule is one thing that the model knows.
type Rule struct {
	When string // phrase in the prompt, or earlier in the conversation; "" matches if no phrase does
	Say  string // its whole answer
}

// The residual stream, a vector of width numbers, is divided among its writers.
const (
	width    = 256
	constant = 0             // the same for each token, which makes its factors a bias
	noise    = 1             // to seen: components of random output
	seen     = 64            // one for each rule: this token is its phrase
	known    = seen + most   // one for each rule: its phrase has occurred
	begin    = known + most  // this token is the line feed after which an answer begins
	rank     = begin + 1     // how near this token is to the end of random output
	code     = rank + 1      // to the end: which piece of an answer this token is, a random code
	most     = 31            // rules
	headSize = 32            // of the two attention heads: one for rules, one for noise
	hidden   = 64            // of the feed-forward part
	strength = 8             // of certain facts
	spread   = 1.0 / 8       // of random weights
	epsilon  = float32(1e-5) // of the norms
	ropeBase = 1e6
)

// Random output alone would loop at temperature 0. So each word has a rank from 0 to 1, the next word has a rank that
// is higher by about stride, and after the last rank the sentence, or the string of a JSON answer, ends. The
// probability of rank r after rank c falls with sharp·(r-c-stride)², which is linear in the terms with c.
const (
	stride = 0.2
	sharp  = 150
	last   = 1 // the rank of all other tokens; as the previous token, they have rank 0
)

// Write writes the model as a GGUF file.
func (m Model) Write(w io.Writer) error {
	if len(m.Rules) > most {
		return fmt.Errorf("a tiny model has %d rules at most, not %d", most, len(m.Rules))
	}
	others := 0
	for _, r := range m.Rules {
		if r.Say == "" {
			return errors.New("a rule of a tiny model has no answer")
		}
		if r.When == "" {
			others++
		}
	}
	if others > 1 {
		return errors.New("two rules of a tiny model have no phrase: which one is it?")
	}
	v, err := newVocabulary(m.Rules)
	if err != nil {
		return fmt.Errorf("make a tiny model: %w", err)
	}
	return writeGGUF(w, m.fields(v), m.tensors(v))
}

// chatTemplate is ChatML. The server recognizes it and uses its own template and stop words for it.
const chatTemplate = `{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}`

func (m Model) fields(v *vocabulary) []field {
	window := m.Window
	if window == 0 {
		window = 32768
	}
	spelled := make([]string, len(v.texts))
	for id := range v.texts {
		spelled[id] = v.spelled(id)
	}
	return []field{
		{"general.architecture", "llama"},
		{"general.type", "model"},
		{"general.name", "tiny"},
		{"general.file_type", uint32(tensorF32)},
		{"llama.block_count", uint32(1)},
		{"llama.context_length", uint32(window)},
		{"llama.embedding_length", uint32(width)},
		{"llama.feed_forward_length", uint32(hidden)},
		{"llama.attention.head_count", uint32(2)},
		{"llama.attention.head_count_kv", uint32(2)},
		{"llama.attention.key_length", uint32(headSize)},
		{"llama.attention.value_length", uint32(headSize)},
		{"llama.attention.layer_norm_rms_epsilon", epsilon},
		{"llama.rope.dimension_count", uint32(headSize)},
		{"llama.rope.freq_base", float32(ropeBase)},
		{"llama.vocab_size", uint32(len(v.texts))},
		{"tokenizer.ggml.model", "gpt2"},
		{"tokenizer.ggml.pre", "llama-bpe"}, // uses a word that is a token directly, so no merges are needed
		{"tokenizer.ggml.tokens", spelled},
		{"tokenizer.ggml.token_type", v.kinds},
		{"tokenizer.ggml.merges", []string{}},
		{"tokenizer.ggml.bos_token_id", uint32(endOfText)},
		{"tokenizer.ggml.eos_token_id", uint32(turnEnd)},
		{"tokenizer.ggml.add_bos_token", false},
		{"tokenizer.chat_template", chatTemplate},
	}
}

func (m Model) tensors(v *vocabulary) []tensor {
	r := rand.New(rand.NewPCG(m.Seed, 1))
	codes := pieceCodes(r, v)
	ranks := wordRanks(r, v)
	embedding := embed(r, v, codes, ranks)
	layer := []tensor{ones("blk.0.attn_norm.weight")}
	layer = append(layer, attention(r, len(m.Rules))...)
	layer = append(layer, ones("blk.0.ffn_norm.weight"),
		random(r, newTensor("blk.0.ffn_gate.weight", width, hidden), 0, hidden, noise, seen),
		random(r, newTensor("blk.0.ffn_up.weight", width, hidden), 0, hidden, noise, seen),
		random(r, newTensor("blk.0.ffn_down.weight", hidden, width), noise, seen, 0, hidden))
	out := m.output(r, v, embedding, codes, ranks)
	return append(append([]tensor{embedding}, layer...), ones("output_norm.weight"), out)
}

// pieceCodes assigns a random code to each piece of an answer. Random codes of this length differ enough: among a
// thousand, the two closest have half of their length in common.
func pieceCodes(r *rand.Rand, v *vocabulary) map[int][]float32 {
	codes := map[int][]float32{}
	for _, ids := range v.answers {
		for _, id := range ids {
			c := make([]float32, width-code)
			for i := range c {
				c[i] = float32(r.IntN(2)*2 - 1)
			}
			codes[id] = c
		}
	}
	return codes
}

// wordRanks assigns a rank to each word of random output.
func wordRanks(r *rand.Rand, v *vocabulary) map[int]float32 {
	ranks := map[int]float32{}
	for id, text := range v.texts {
		if v.kinds[id] == kindNormal && len(text) > 2 && text[0] == ' ' && letters(text[1:]) {
			ranks[id] = float32(0.95 * r.Float64())
		}
	}
	return ranks
}

func embed(r *rand.Rand, v *vocabulary, codes map[int][]float32, ranks map[int]float32) tensor {
	e := newTensor("token_embd.weight", width, len(v.texts))
	for id := range v.texts {
		row := e.row(id)
		row[constant], row[rank] = strength, strength*ranks[id]
		if c := codes[id]; c != nil {
			row[rank] = strength * last // random words never interrupt an answer
			copy(row[code:], c)
			continue
		}
		for i := noise; i < seen; i++ {
			row[i] = float32(r.NormFloat64())
		}
	}
	for rule, id := range v.phrases {
		if id >= 0 {
			e.row(id)[seen+rule] = strength
		}
	}
	e.row(v.newline)[begin] = strength
	return e
}

// attention has two heads. The first looks for phrases: the key of a token is higher for phrases, so a phrase gets
// all attention if there is one, and phrases of earlier rules have priority. It uses the two numbers of a head that
// the position rotates least. The second head is random.
func attention(r *rand.Rand, rules int) []tensor {
	q := random(r, newTensor("blk.0.attn_q.weight", width, 2*headSize), headSize, 2*headSize, noise, seen)
	k := random(r, newTensor("blk.0.attn_k.weight", width, 2*headSize), headSize, 2*headSize, noise, seen)
	v := random(r, newTensor("blk.0.attn_v.weight", width, 2*headSize), headSize, 2*headSize, noise, seen)
	o := random(r, newTensor("blk.0.attn_output.weight", 2*headSize, width), noise, seen, headSize, 2*headSize)
	const look = headSize - 2
	q.row(look)[constant] = 1
	for rule := range rules {
		k.row(look)[seen+rule] = 2 + 0.5*float32(rules-1-rule)
		v.row(rule)[seen+rule] = 1
		o.row(known + rule)[rule] = 2
	}
	return []tensor{q, k, v, o}
}

// output turns the stream into the logits of the next token. The factors are so large that the text of a rule
// dominates at any useful temperature.
func (m Model) output(r *rand.Rand, v *vocabulary, embedding tensor, codes map[int][]float32,
	ranks map[int]float32) tensor {
	out := newTensor("output.weight", width, len(v.texts))
	for id := range v.texts {
		row := out.row(id)
		if codes[id] != nil || id == endOfText {
			row[constant] = -50.0 / strength
			continue
		}
		at, isWord := ranks[id]
		if !isWord {
			at = last
		}
		// Tokens other than words get 0 in every context, because a server with a repetition penalty changes large
		// numbers most.
		row[constant] = (m.likes(v, id, isWord) + float32(sharp*(1-at*at)) + float32(2*sharp*stride*(at-last))) / strength
		row[rank] = 2 * sharp * (at - last) / strength
		for i := noise; i < seen; i++ {
			// Make a repeated token less likely: the server aborts an answer with 31 equal pieces in a row.
			row[i] = float32(r.NormFloat64()*spread) - float32(0.1*embedding.row(id)[i])
		}
	}
	for rule, ids := range v.answers {
		// An answer begins at its position and only if the phrase occurred: both conditions are needed.
		first := out.row(ids[0])
		first[begin] = 25
		if v.phrases[rule] >= 0 {
			first[constant], first[begin], first[known+rule] = -30, 35, 12
		}
		for i, id := range ids {
			next := endOfText
			if i+1 < len(ids) {
				next = ids[i+1]
			}
			for j, x := range codes[id] {
				out.row(next)[code+j] += x
			}
		}
	}
	return out
}

// likes returns the logit of a token in random output: after the last word the end of the answer, else a quote, which
// ends a string. Other tokens appear only if a schema allows nothing better.
func (m Model) likes(v *vocabulary, id int, isWord bool) float32 {
	const never = -40
	text := v.texts[id]
	switch {
	case isWord:
		return 0
	case id == turnEnd && !m.Endless:
		return 9
	case v.kinds[id] != kindNormal || len(text) > 1:
		return never
	}
	switch c := text[0]; {
	case c == '"':
		return 6
	case c == ']', c == '}':
		return -6
	case c == ',': // less than the end of a list or an object, or they would never end
		return -14
	case c >= '0' && c <= '9':
		return -15
	case c > ' ' && c <= '~':
		return -13
	}
	return never
}

func letters(s string) bool {
	for _, c := range s {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			return false
		}
	}
	return true
}

// random fills some rows, and of these some columns.
func random(r *rand.Rand, t tensor, fromRow, toRow, fromColumn, toColumn int) tensor {
	for i := fromRow; i < toRow; i++ {
		row := t.row(i)
		for j := fromColumn; j < toColumn; j++ {
			row[j] = float32(r.NormFloat64() * spread)
		}
	}
	return t
}

func ones(name string) tensor {
	t := newTensor(name, width, 0)
	for i := range t.data {
		t.data[i] = 1
	}
	return t
}
