package plan

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Encode formats a plan as a commented file that [Parse] reads back unchanged. why becomes the comment at the top.
func (p Plan) Encode(why []string) []byte {
	var b bytes.Buffer
	b.WriteString(
		"# A training plan: the stage, the examples and the goals. Edit it as needed; then\n#\n#   runplan " +
			"training curate --plan THIS --in DIR --out DIR\n")
	if len(why) > 0 {
		b.WriteString("#\n")
		for _, w := range why {
			for line := range strings.Lines(w) {
				fmt.Fprintf(&b, "# %s\n", strings.TrimSpace(line))
			}
		}
	}
	b.WriteString("\n")
	w := writer{&b}
	w.set("stage", quote(string(p.Stage)), "")
	w.set("base", quote(string(p.Base)), "kind of model; it follows from the stage")
	w.set("seed", strconv.FormatUint(p.Seed, 10), "random seed of the plan")
	d := p.Data
	b.WriteString("\n[data]\n")
	w.set("sources", list(d.Sources), "logged, synthetic")
	w.set("min_quality", float(d.MinQuality), "positive examples below it are omitted")
	w.set("unknown_quality", quote(d.UnknownQuality), "keep or drop")
	w.set("repos", list(d.Repos), "empty: all")
	w.set("licenses", list(d.Licenses), "SPDX ids; empty: all, also unknown ones")
	if !d.Since.IsZero() {
		w.set("since", d.Since.UTC().Format(time.RFC3339Nano), "")
	}
	w.set("max_tokens", strconv.Itoa(d.MaxTokens), "of prompt and completion, by estimate; 0: any")
	w.set("max_examples", strconv.Itoa(d.MaxExamples), "the newest; 0: all")
	w.set("negative_ratio", float(d.NegativeRatio), "negative examples for each positive one, at most")
	w.set("trim_positive", strconv.FormatBool(d.TrimPositive),
		"omit positive ones if there are too few negative ones")
	w.set("near_duplicate", float(d.NearDuplicate), "minimum share of common word groups of duplicates")
	w.set("shingle", strconv.Itoa(d.Shingle), "words in such a group")
	w.set("validation_split", float(d.ValidationSplit), "")
	h := p.Hyperparameters
	b.WriteString("\n[hyperparameters]\n")
	w.set("rank", strconv.Itoa(h.Rank), "")
	w.set("alpha", strconv.Itoa(h.Alpha), "")
	w.set("dropout", float(h.Dropout), "")
	w.set("target_modules", list(h.TargetModules), "")
	w.set("batch_size", strconv.Itoa(h.BatchSize), "")
	w.set("gradient_accumulation_steps", strconv.Itoa(h.GradientAccumulation), "")
	w.set("learning_rate", float(h.LearningRate), "")
	w.set("max_steps", strconv.Itoa(h.MaxSteps), "")
	w.set("max_sequence_length", strconv.Itoa(h.MaxSequenceLength),
		"in tokens; longer examples are reported, not cut")
	w.set("quantization_bits", strconv.Itoa(h.QuantizationBits), "of the base model while it is trained; 0: none")
	w.set("beta", float(h.BetaOfPreferences), "of preference training")
	w.set("eval_steps", strconv.Itoa(h.EvaluateEverySteps), "")
	w.set("save_total_limit", strconv.Itoa(h.SaveCheckpointsToKeep), "")
	for _, t := range p.Improvements {
		b.WriteString("\n[[improvement]]\n")
		w.set("metric", quote(t.Metric), "")
		if t.Now != nil {
			w.set("now", float(*t.Now), "")
		}
		w.set("target", float(t.Target), "")
		w.set("rests_on", quote(t.Rests), "")
	}
	return b.Bytes()
}

type writer struct{ b *bytes.Buffer }

func (w writer) set(key, value, what string) {
	line := key + " = " + value
	if what != "" {
		line = fmt.Sprintf("%-36s # %s", line, what)
	}
	fmt.Fprintln(w.b, line)
}

// float formats a number such that it is read back exactly and as a float.
func float(v float64) string {
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

func list[T ~string](all []T) string {
	parts := make([]string, len(all))
	for i, s := range all {
		parts[i] = quote(string(s))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// quote formats a TOML string. It escapes invalid characters.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, "\\u%04X", r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
