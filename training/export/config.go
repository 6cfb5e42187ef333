package export

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/phrase"
)

// yamlFile collects lines of YAML. It writes strings as JSON, which YAML reads in the same way.
type yamlFile struct{ strings.Builder }

func (y *yamlFile) note(text string) { fmt.Fprintf(y, "# %s\n", text) }

func (y *yamlFile) set(key string, v any) { fmt.Fprintf(y, "%s: %s\n", key, inline(v)) }

func inline(v any) string {
	switch x := v.(type) {
	case float64:
		s := strconv.FormatFloat(x, 'f', -1, 64) // some YAML parsers read 1e-4 as a string
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	case []string:
		return "[" + phrase.Join(x, ", ", quoted) + "]"
	case string:
		return quoted(x)
	}
	return fmt.Sprint(v)
}

func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // strings can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}

// lengths describes the token limits of the trainer.
func (j job) lengths() string {
	if n := len(j.m.TooLong); n > 0 && j.TooLong == Keep {
		return fmt.Sprintf("%d example(s) are longer than this, and are cut by the trainer (%s)", n, j.counted())
	}
	return "no example is longer than this (" + j.counted() + ")"
}

const seedBits = 1<<31 - 1 // the range that all trainers accept

func (j job) seed() uint64 { return j.plan.Seed & seedBits }

// trlConfig returns the configuration for the command line of TRL, with LoRA from PEFT.
func trlConfig(method string) func(job) []document {
	return func(j job) []document {
		h := j.plan.Hyperparameters
		var y yamlFile
		y.note(j.format.Run)
		y.set("model_name_or_path", j.base)
		y.set("dataset_name", ".")
		y.set("dataset_train_split", "train")
		y.set("dataset_test_split", "validation")
		y.set("output_dir", "adapter")
		y.set("use_peft", true)
		y.set("lora_r", h.Rank)
		y.set("lora_alpha", h.Alpha)
		y.set("lora_dropout", h.Dropout)
		y.set("lora_target_modules", h.TargetModules)
		switch h.QuantizationBits {
		case 4:
			y.set("load_in_4bit", true)
		case 8:
			y.set("load_in_8bit", true)
		}
		y.set("per_device_train_batch_size", h.BatchSize)
		y.set("gradient_accumulation_steps", h.GradientAccumulation)
		y.set("learning_rate", h.LearningRate)
		y.set("max_steps", h.MaxSteps)
		y.note(j.lengths())
		y.set("max_length", j.limit)
		switch method {
		case "sft":
			y.set("packing", false)
			if j.schema == "messages" {
				y.note(
					"set this to true if the model's template marks the answers with {% generation %}; otherwise the prompts are " +
						"learned, " +
						"too")
				y.set("assistant_only_loss", false)
			} else {
				y.set("completion_only_loss", true)
			}
		default:
			y.note("older versions of TRL cut prompts at max_prompt_length, 512 tokens; set it to max_length there")
			y.set("beta", h.BetaOfPreferences)
		}
		y.set("eval_strategy", "steps")
		y.set("eval_steps", h.EvaluateEverySteps)
		y.set("save_steps", h.EvaluateEverySteps)
		y.set("save_total_limit", h.SaveCheckpointsToKeep)
		y.set("logging_steps", 10)
		y.set("bf16", true)
		y.set("gradient_checkpointing", true)
		y.set("report_to", "none")
		y.set("seed", j.seed())
		return []document{{method + ".yaml", y.String()}}
	}
}

func axolotlConfig(j job) []document {
	h := j.plan.Hyperparameters
	var y yamlFile
	y.note(j.format.Run)
	y.set("base_model", j.base)
	set := func(key, file string) {
		// the only split of a file of JSON lines
		fmt.Fprintf(&y, "%s:\n  - path: %s\n    ds_type: json\n    data_files: [%s]\n    split: train\n", key, file, file)
		switch {
		case j.format.Teaches == Preferences:
			fmt.Fprint(&y,
				"    type: chat_template.default\n    field_messages: messages\n    field_chosen: chosen\n    field_rejected: "+
					"rejected\n")
			fmt.Fprint(&y,
				"    message_property_mappings:\n      role: role\n      content: content\n    roles:\n      system: [system]\n  "+
					"    user: [user]\n      assistant: [assistant]\n")
		case j.schema == "segments":
			fmt.Fprint(&y, "    type: input_output\n")
		default:
			fmt.Fprint(&y,
				"    type: chat_template\n    field_messages: messages\n    message_property_mappings:\n      role: role\n      "+
					"content: content\n    roles_to_train: [assistant]\n    train_on_eos: turn\n")
		}
	}
	if j.format.Teaches == Preferences {
		y.set("rl", "dpo")
		y.set("rl_beta", h.BetaOfPreferences)
	}
	if j.schema != "segments" {
		y.set("chat_template", "tokenizer_default")
	}
	set("datasets", "train.jsonl")
	set("test_datasets", j.format.Held)
	y.set("train_on_inputs", false)
	y.set("output_dir", "./adapter")
	switch h.QuantizationBits {
	case 4:
		y.set("adapter", "qlora")
		y.set("load_in_4bit", true)
	case 8:
		y.set("adapter", "lora")
		y.set("load_in_8bit", true)
	default:
		y.set("adapter", "lora")
	}
	y.set("lora_r", h.Rank)
	y.set("lora_alpha", h.Alpha)
	y.set("lora_dropout", h.Dropout)
	y.set("lora_target_modules", h.TargetModules)
	y.note(j.lengths())
	y.set("sequence_len", j.limit)
	y.set("sample_packing", false)
	y.set("micro_batch_size", h.BatchSize)
	y.set("gradient_accumulation_steps", h.GradientAccumulation)
	y.set("learning_rate", h.LearningRate)
	y.set("max_steps", h.MaxSteps)
	y.set("optimizer", "adamw_torch")
	y.set("lr_scheduler", "cosine")
	y.set("bf16", "auto")
	y.set("gradient_checkpointing", true)
	y.set("eval_steps", h.EvaluateEverySteps)
	y.set("save_steps", h.EvaluateEverySteps)
	y.set("save_total_limit", h.SaveCheckpointsToKeep)
	y.set("logging_steps", 10)
	y.set("seed", j.seed())
	return []document{{"config.yaml", y.String()}}
}

func llamaFactoryConfig(j job) []document {
	type tags struct {
		Role      string `json:"role_tag"`
		Content   string `json:"content_tag"`
		User      string `json:"user_tag"`
		Assistant string `json:"assistant_tag"`
		System    string `json:"system_tag"`
	}
	type columns struct {
		Messages string `json:"messages"`
		Chosen   string `json:"chosen,omitempty"`
		Rejected string `json:"rejected,omitempty"`
	}
	type entry struct {
		File       string  `json:"file_name"`
		Formatting string  `json:"formatting"`
		Ranking    bool    `json:"ranking,omitempty"`
		Columns    columns `json:"columns"`
		Tags       tags    `json:"tags"`
	}
	h := j.plan.Hyperparameters
	e := entry{Formatting: "sharegpt", Columns: columns{Messages: "messages"},
		Tags: tags{"role", "content", "user", "assistant", "system"}}
	stage := "sft"
	if j.format.Teaches == Preferences {
		e.Ranking, e.Columns, e.Tags, stage = true, columns{"conversations", "chosen", "rejected"},
			tags{"from", "value", "human", "gpt", "system"}, "dpo"
	}
	train, held := e, e
	train.File, held.File = "train.jsonl", j.format.Held
	info, _ := json.MarshalIndent(struct {
		Train entry `json:"runplan_train"`
		Held  entry `json:"runplan_validation"`
	}{train, held}, "", "  ")
	var y yamlFile
	y.note(j.format.Run)
	y.set("model_name_or_path", j.base)
	y.set("stage", stage)
	y.set("do_train", true)
	y.set("finetuning_type", "lora")
	y.set("lora_rank", h.Rank)
	y.set("lora_alpha", h.Alpha)
	y.set("lora_dropout", h.Dropout)
	y.set("lora_target", strings.Join(h.TargetModules, ","))
	if h.QuantizationBits > 0 {
		y.set("quantization_bit", h.QuantizationBits)
		y.set("quantization_method", "bnb")
	}
	if stage == "dpo" {
		y.set("pref_beta", h.BetaOfPreferences)
		y.set("pref_loss", "sigmoid")
	}
	y.set("dataset_dir", ".")
	y.set("dataset", "runplan_train")
	y.set("eval_dataset", "runplan_validation")
	y.note("without a key template, the template of the model's tokenizer is used; older versions want its name here")
	y.note(j.lengths())
	y.set("cutoff_len", j.limit)
	y.set("packing", false)
	y.set("output_dir", "adapter")
	y.set("per_device_train_batch_size", h.BatchSize)
	y.set("gradient_accumulation_steps", h.GradientAccumulation)
	y.set("learning_rate", h.LearningRate)
	y.set("max_steps", h.MaxSteps)
	y.set("lr_scheduler_type", "cosine")
	y.set("bf16", true)
	y.set("eval_strategy", "steps")
	y.set("eval_steps", h.EvaluateEverySteps)
	y.set("save_steps", h.EvaluateEverySteps)
	y.set("save_total_limit", h.SaveCheckpointsToKeep)
	y.set("logging_steps", 10)
	y.set("report_to", "none")
	y.set("seed", j.seed())
	return []document{{"dataset_info.json", string(info) + "\n"}, {"train.yaml", y.String()}}
}

func mlxConfig(j job) []document {
	h := j.plan.Hyperparameters
	var y yamlFile
	y.note(j.format.Run)
	y.set("model", j.base)
	y.set("train", true)
	y.set("fine_tune_type", "lora")
	y.set("data", ".")
	y.set("adapter_path", "adapter")
	y.set("num_layers", -1)
	y.set("batch_size", h.BatchSize)
	y.note("older versions of MLX ignore the next line, and make a step of each batch")
	y.set("grad_accumulation_steps", h.GradientAccumulation)
	y.note(fmt.Sprintf("an iteration is one batch: %d steps of %d batches", h.MaxSteps, h.GradientAccumulation))
	y.set("iters", h.MaxSteps*h.GradientAccumulation)
	y.set("learning_rate", h.LearningRate)
	y.note(j.lengths())
	y.set("max_seq_length", j.limit)
	if j.schema == "messages" {
		y.set("mask_prompt", true)
	} else {
		y.note("MLX also learns the prompts if it gets text")
		y.set("mask_prompt", false)
	}
	y.set("grad_checkpoint", true)
	y.set("val_batches", -1)
	y.set("steps_per_report", 10*h.GradientAccumulation)
	y.set("steps_per_eval", h.EvaluateEverySteps*h.GradientAccumulation)
	y.set("save_every", h.EvaluateEverySteps*h.GradientAccumulation)
	y.set("seed", j.seed())
	if h.QuantizationBits > 0 {
		y.note(
			fmt.Sprintf(
				"MLX does not convert the model: for %d bits, give a converted model (mlx_lm.convert -q --q-bits %d)",
				h.QuantizationBits, h.QuantizationBits))
	}
	y.note("MLX multiplies with the scale itself, which is alpha divided by rank")
	fmt.Fprint(&y, "lora_parameters:\n")
	keys := make([]string, len(h.TargetModules))
	for i, m := range h.TargetModules {
		keys[i] = mlxKey(m)
	}
	fmt.Fprintf(&y, "  keys: %s\n  rank: %d\n  scale: %s\n  dropout: %s\n", inline(keys), h.Rank,
		inline(float64(h.Alpha)/float64(h.Rank)), inline(h.Dropout))
	return []document{{"config.yaml", y.String()}}
}

// mlxKey returns the MLX name of a module, prefixed by its part of the layer.
func mlxKey(module string) string {
	switch {
	case strings.Contains(module, "."):
		return module
	case module == "gate_proj", module == "up_proj", module == "down_proj":
		return "mlp." + module
	}
	return "self_attn." + module
}

// unslothConfig returns a program, because Unsloth has no configuration file.
func unslothConfig(j job) []document {
	h := j.plan.Hyperparameters
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }

	p("# python train.py")
	p("from unsloth import FastLanguageModel")
	p("from datasets import load_dataset")
	p("from trl import SFTConfig, SFTTrainer")
	p("")
	p("LENGTH = %d  # %s", j.limit, j.lengths())
	p("")
	p("model, tokenizer = FastLanguageModel.from_pretrained(")
	p("    model_name=%s, max_seq_length=LENGTH, load_in_4bit=%s, load_in_8bit=%s,", quoted(j.base),
		python(h.QuantizationBits == 4), python(h.QuantizationBits == 8))
	p(")")
	p("model = FastLanguageModel.get_peft_model(")
	p("    model, r=%d, lora_alpha=%d, lora_dropout=%s, bias=\"none\",", h.Rank, h.Alpha, inline(h.Dropout))
	p("    target_modules=[%s],", phrase.Join(h.TargetModules, ", ", quoted))
	p("    use_gradient_checkpointing=\"unsloth\", random_state=%d,", j.seed())
	p(")")
	p("data = load_dataset(\"json\", data_files={\"train\": \"train.jsonl\", \"validation\": %s})", quoted(j.format.Held))
	if j.schema == "conversations" {
		p("")
		p("")
		p("def render(rows):")
		p("    return {\"text\": [tokenizer.apply_chat_template(c, tokenize=False) for c in rows[\"conversations\"]]}")
		p("")
		p("")
		p("data = data.map(render, batched=True)")
	}
	p("trainer = SFTTrainer(")
	p("    model=model, tokenizer=tokenizer, train_dataset=data[\"train\"], eval_dataset=data[\"validation\"],")
	p("    args=SFTConfig(")
	p("        dataset_text_field=\"text\", max_length=LENGTH, packing=False,")
	p("        per_device_train_batch_size=%d, gradient_accumulation_steps=%d,", h.BatchSize, h.GradientAccumulation)
	p("        learning_rate=%s, max_steps=%d, seed=%d,", inline(h.LearningRate), h.MaxSteps, j.seed())
	p("        eval_strategy=\"steps\", eval_steps=%d, save_steps=%d, save_total_limit=%d,", h.EvaluateEverySteps,
		h.EvaluateEverySteps, h.SaveCheckpointsToKeep)
	p("        logging_steps=10, report_to=\"none\", output_dir=\"adapter\",")
	p("    ),")
	p(")")
	p("trainer.train()")
	p("model.save_pretrained(\"adapter\")")
	p("tokenizer.save_pretrained(\"adapter\")")
	return []document{{"train.py", b.String()}}
}

func python(b bool) string {
	if b {
		return "True"
	}
	return "False"
}
