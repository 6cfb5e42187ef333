package tinymodel

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
)

func write(t *testing.T, m Model) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := m.Write(&file); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func TestModelFileIsReproducible(t *testing.T) {
	m := Model{Seed: 3, Rules: []Rule{{When: "a phrase", Say: strings.Repeat("what is said ", 50)},
		{Say: "nothing of that"}}}
	one, two := sha256.Sum256(write(t, m)), sha256.Sum256(write(t, m))
	if one != two {
		t.Errorf("%x, then %x", one, two)
	}
	m.Seed = 4
	if other := sha256.Sum256(write(t, m)); other == one {
		t.Errorf("another seed, the same file %x", other)
	}
}

// The table of tensors gives the position of each tensor, and the file ends with the last tensor.
func TestTensorTableMatchesFile(t *testing.T) {
	file := write(t, Model{})
	if got := string(file[:4]); got != "GGUF" {
		t.Fatalf("it begins with %q", got)
	}
	at := 4
	u32 := func() int { at += 4; return int(binary.LittleEndian.Uint32(file[at-4:])) }
	u64 := func() int { at += 8; return int(binary.LittleEndian.Uint64(file[at-8:])) }
	text := func() string { n := u64(); at += n; return string(file[at-n : at]) }
	size := map[int]int{kindUint32: 4, kindInt32: 4, kindFloat32: 4, kindBool: 1}
	if v := u32(); v != ggufVersion {
		t.Fatalf("version %d", v)
	}
	tensors, fields := u64(), u64()
	var keys []string
	for range fields {
		keys = append(keys, text())
		kind, n := u32(), 1
		if kind == kindArray {
			kind, n = u32(), u64()
		}
		for range n {
			if kind == kindString {
				text()
			} else {
				at += size[kind]
			}
		}
	}
	for _, key := range []string{"general.architecture", "llama.context_length", "tokenizer.ggml.tokens",
		"tokenizer.chat_template"} {
		if !slices.Contains(keys, key) {
			t.Errorf("no %s among %q", key, keys)
		}
	}
	end := 0
	for range tensors {
		name, n := text(), 4
		for range u32() {
			n *= u64()
		}
		if kind := u32(); kind != tensorF32 {
			t.Errorf("%s is of kind %d", name, kind)
		}
		if from := u64(); from != end {
			t.Errorf("%s lies at %d, and the one before ends at %d", name, from, end)
		}
		end = aligned(end + n)
	}
	if want := aligned(at) + end; len(file) != want {
		t.Errorf("%d bytes, the table says %d", len(file), want)
	}
}

func TestVocabularyTokenizesAnswers(t *testing.T) {
	for name, say := range map[string]string{
		"one that repeats itself": strings.Repeat("the same line\n", 100),
		"one letter, often":       strings.Repeat("x", 500),
		"not only ASCII":          strings.Repeat("Größe, 大きさ, ", 20),
		"one piece":               "short",
		"JSON":                    `{"files":["a.go","b.go"],"why":"because"}`,
	} {
		t.Run(name, func(t *testing.T) {
			v, err := newVocabulary([]Rule{{Say: say}})
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, id := range v.answers[0] {
				got.WriteString(v.texts[id])
			}
			if got.String() != say {
				t.Errorf("the pieces are %q", got.String())
			}
			if len(v.ids) != len(v.texts) {
				t.Errorf("%d tokens have %d texts", len(v.texts), len(v.ids))
			}
		})
	}
}

func TestWriteRejectsInvalidRules(t *testing.T) {
	for name, c := range map[string]struct {
		rules []Rule
		why   string
	}{
		"no answer":                 {[]Rule{{When: "x y z"}}, "no answer"},
		"an answer that is a token": {[]Rule{{Say: "x"}}, "cannot be distinguished"},
		"the same short answer twice": {[]Rule{{When: "a phrase", Say: "yes, I do"}, {Say: "yes, I do"}},
			"cannot be distinguished"},
		"the same phrase twice": {[]Rule{{When: "a phrase", Say: "one thing"},
			{When: "a phrase", Say: "another thing"}}, "only once"},
		"a phrase that is a token": {[]Rule{{When: "the", Say: "one thing"}}, "use a longer one"},
		"two without a phrase":     {[]Rule{{Say: "one thing"}, {Say: "another thing"}}, "which one"},
		"not UTF-8":                {[]Rule{{Say: "one \xff thing"}}, "UTF-8"},
		"too many":                 {slices.Repeat([]Rule{{Say: "one thing"}}, most+1), "31 rules"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Model{Rules: c.rules}.Write(new(bytes.Buffer))
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("error %v, want one with %q", err, c.why)
			}
		})
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteReturnsWriterError(t *testing.T) {
	if err := (Model{}).Write(full{}); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("error %v", err)
	}
}
