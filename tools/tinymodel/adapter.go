package tinymodel

import (
	"fmt"
	"io"
	"math"
)

// Adapter is a LoRA of rank one for a [Model], with a known effect: the tuned model answers all prompts as it answers
// those with the phrase of Rule. Otherwise the model does not change.
type Adapter struct {
	Rule  int   // of the model's rules, from 0
	Fault Fault // its fault; "" for none
}

// Fault is a fault of a model file: the server accepts the file, but the model fails when used.
type Fault string

// The faults.
const (
	WrongShape        Fault = "shape"        // the shape of a matrix differs from the model's
	WrongArchitecture Fault = "architecture" // it declares another kind of model
	UnknownTensor     Fault = "tensor"       // it changes a tensor that the model does not have
	NotANumber        Fault = "nan"          // its weights are NaN
)

// Faults lists them.
func Faults() []Fault { return []Fault{WrongShape, WrongArchitecture, UnknownTensor, NotANumber} }

// push is the amount by which the adapter raises the logit of the first piece of its rule's answer, divided by the
// value of [begin] after the last norm, which is about nine. The result is above the beginning of any other answer.
const push = 60

// WriteAdapter writes an adapter for the model as a GGUF file. It adds B·Aᵀ to the last matrix: A detects the start
// of an answer, and B is the first piece of the answer.
func (m Model) WriteAdapter(w io.Writer, a Adapter) error {
	if a.Rule < 0 || a.Rule >= len(m.Rules) {
		return fmt.Errorf("an adapter for rule %d of a tiny model that has %d", a.Rule, len(m.Rules))
	}
	v, err := newVocabulary(m.Rules)
	if err != nil {
		return fmt.Errorf("make an adapter: %w", err)
	}
	architecture, target, in := "llama", "output.weight", width
	look, say := newTensor("", in, 1), newTensor("", 1, len(v.texts))
	look.data[begin] = 1
	say.data[v.answers[a.Rule][0]] = push
	switch a.Fault {
	case "":
	case WrongShape:
		look = newTensor("", in/2, 1)
	case WrongArchitecture:
		architecture = "gemma"
	case UnknownTensor:
		target = "blk.7.attn_q.weight"
	case NotANumber:
		say.data[0] = float32(math.NaN())
	default:
		return fmt.Errorf("unknown adapter fault %q", a.Fault)
	}
	look.name, say.name = target+".lora_a", target+".lora_b"
	return writeGGUF(w, []field{
		{"general.architecture", architecture},
		{"general.type", "adapter"},
		{"adapter.type", "lora"},
		{"adapter.lora.alpha", float32(1)},
	}, []tensor{look, say})
}
