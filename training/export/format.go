// Package export writes a dataset in the format of a trainer, with a ready configuration and a description of the
// data. It checks each line against the JSON schema of its format. It reports examples that are too long for the model
// and never truncates them.
package export

import (
	"fmt"
	"strings"

	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/chat"
)

// Teaches is the kind of examples that a format uses.
type Teaches int

// The kinds.
const (
	Answers     Teaches = iota // good answers
	Preferences                // pairs of a good and a bad answer
	Verdicts                   // answers labelled good or bad
)

// Format is the data format of one trainer.
type Format struct {
	Name     string
	What     string // description for people
	Teaches  Teaches
	Chat     string     // schema of a line with messages
	Text     string     // schema of a line with rendered text; "" if the trainer renders
	Held     string     // name of the validation file
	Run      string     // command that starts the trainer in the folder
	configs  []document // files for the trainer, each with the name of its template
	fromChat func(training.Example) any
	fromText func(good, bad chat.Pair, label bool) any
}

// document is a file next to the data.
type document struct{ name, text string }

// Formats returns all formats in display order.
func Formats() []Format {
	const held = "validation.jsonl"
	llamaFactory := []document{{"dataset_info.json", "dataset_info.json"}, {"train.yaml", "llama-factory.yaml"}}
	return []Format{
		{
			Name: "trl-chat", What: "TRL and PEFT: conversations", Chat: "messages", Held: held,
			Run: "trl sft --config sft.yaml", configs: []document{{"sft.yaml", "trl.yaml"}},
			fromChat: func(e training.Example) any { return messagesLine{conversation(e)} },
		},
		{
			Name: "trl-prompt-completion", What: "TRL and PEFT: prompts with completions", Chat: "prompt-completion-chat",
			Text: "prompt-completion-text", Held: held,
			Run: "trl sft --config sft.yaml", configs: []document{{"sft.yaml", "trl.yaml"}},
			fromChat: func(e training.Example) any { return promptCompletion[messages]{e.Prompt, answer(e.Completion)} },
			fromText: func(good, _ chat.Pair, _ bool) any { return promptCompletion[string]{good.Prompt, good.Completion} },
		},
		{
			Name: "trl-preference", What: "TRL: preferences, for DPO", Teaches: Preferences, Chat: "preference-chat",
			Text: "preference-text", Held: held,
			Run: "trl dpo --config dpo.yaml", configs: []document{{"dpo.yaml", "trl.yaml"}},
			fromChat: func(e training.Example) any {
				return preference[messages]{e.Prompt, answer(e.Completion), answer(e.Rejected)}
			},
			fromText: func(good, bad chat.Pair, _ bool) any {
				return preference[string]{good.Prompt, good.Completion, bad.Completion}
			},
		},
		{
			Name: "trl-unpaired", What: "TRL: answers with verdicts, for KTO", Teaches: Verdicts, Chat: "unpaired-chat",
			Text: "unpaired-text", Held: held,
			Run: "trl kto --config kto.yaml", configs: []document{{"kto.yaml", "trl.yaml"}},
			fromChat: func(e training.Example) any { return unpaired[messages]{e.Prompt, answer(e.Completion), e.Positive} },
			fromText: func(good, _ chat.Pair, label bool) any { return unpaired[string]{good.Prompt, good.Completion, label} },
		},
		{
			Name: "axolotl", What: "Axolotl: conversations, or text in segments", Chat: "messages", Text: "segments", Held: held,
			Run: "axolotl train config.yaml", configs: []document{{"config.yaml", "axolotl.yaml"}},
			fromChat: func(e training.Example) any { return messagesLine{conversation(e)} },
			fromText: func(good, _ chat.Pair, _ bool) any {
				return segmentsLine{[]segment{{false, good.Prompt}, {true, good.Completion}}}
			},
		},
		{
			Name: "axolotl-preference", What: "Axolotl: preferences, for DPO", Teaches: Preferences, Chat: "axolotl-preference",
			Held: held, Run: "axolotl train config.yaml", configs: []document{{"config.yaml", "axolotl.yaml"}},
			fromChat: func(e training.Example) any {
				return axolotlPreference{e.Prompt, answer(e.Completion)[0], answer(e.Rejected)[0]}
			},
		},
		{
			Name: "llama-factory", What: "LLaMA-Factory: conversations", Chat: "messages", Held: held,
			Run: "llamafactory-cli train train.yaml", configs: llamaFactory,
			fromChat: func(e training.Example) any { return messagesLine{conversation(e)} },
		},
		{
			Name: "llama-factory-preference", What: "LLaMA-Factory: preferences, for DPO", Teaches: Preferences,
			Chat: "llama-factory-preference", Held: held,
			Run: "llamafactory-cli train train.yaml", configs: llamaFactory, fromChat: sharegptPreference,
		},
		{
			Name: "unsloth", What: "Unsloth: conversations, or text", Chat: "conversations", Text: "text", Held: held,
			Run: "python train.py", configs: []document{{"train.py", "unsloth.py"}},
			fromChat: func(e training.Example) any { return conversationsLine{conversation(e)} },
			fromText: func(good, _ chat.Pair, _ bool) any { return textLine{good.Prompt + good.Completion} },
		},
		{
			Name: "mlx", What: "MLX: conversations, or text", Chat: "messages", Text: "text", Held: "valid.jsonl",
			Run: "mlx_lm.lora --config config.yaml", configs: []document{{"config.yaml", "mlx.yaml"}},
			fromChat: func(e training.Example) any { return messagesLine{conversation(e)} },
			fromText: func(good, _ chat.Pair, _ bool) any { return textLine{good.Prompt + good.Completion} },
		},
	}
}

// Named returns a format by its name.
func Named(name string) (Format, error) {
	var names []string
	for _, f := range Formats() {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return Format{}, fmt.Errorf("unknown format %q; formats are %s", name, strings.Join(names, ", "))
}

// Line types. Their fields have a fixed order. A T is a text, or the messages of a conversation.
type (
	messagesLine struct {
		Messages []training.Message `json:"messages"`
	}
	conversationsLine struct {
		Conversations []training.Message `json:"conversations"`
	}
	promptCompletion[T any] struct {
		Prompt     T `json:"prompt"`
		Completion T `json:"completion"`
	}
	preference[T any] struct {
		Prompt   T `json:"prompt"`
		Chosen   T `json:"chosen"`
		Rejected T `json:"rejected"`
	}
	unpaired[T any] struct {
		Prompt     T    `json:"prompt"`
		Completion T    `json:"completion"`
		Label      bool `json:"label"`
	}
	messages = []training.Message
	segment  struct {
		Label bool   `json:"label"`
		Text  string `json:"text"`
	}
	segmentsLine struct {
		Segments []segment `json:"segments"`
	}
	textLine struct {
		Text string `json:"text"`
	}
	axolotlPreference struct {
		Messages []training.Message `json:"messages"`
		Chosen   training.Message   `json:"chosen"`
		Rejected training.Message   `json:"rejected"`
	}
	turn struct {
		From  string `json:"from"`
		Value string `json:"value"`
	}
	sharegptLine struct {
		Conversations []turn `json:"conversations"`
		Chosen        turn   `json:"chosen"`
		Rejected      turn   `json:"rejected"`
	}
)

func answer(text string) []training.Message {
	return []training.Message{{Role: "assistant", Content: text}}
}

func conversation(e training.Example) []training.Message {
	return append(e.Prompt[:len(e.Prompt):len(e.Prompt)], answer(e.Completion)...)
}

func sharegptPreference(e training.Example) any {
	names := map[string]string{"system": "system", "user": "human", "assistant": "gpt"}
	line := sharegptLine{Chosen: turn{"gpt", e.Completion}, Rejected: turn{"gpt", e.Rejected}}
	for _, m := range e.Prompt {
		line.Conversations = append(line.Conversations, turn{names[m.Role], m.Content})
	}
	return line
}
