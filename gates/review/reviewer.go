package review

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/llm"
)

// Reviewer is a model that reviews changes. Each question has a cold context: one request to a stateless server, or one
// process that ends after its answer. The model knows nothing about the session that wrote the change.
type Reviewer struct {
	Name   string        // for people
	Vendor string        // maker of the model, "" if unknown; see [VendorOf]
	Passes []int         // passes that it reviews; empty is all
	Model  llm.Model     // the model to ask
	LLM    llm.Completer // how
}

// Author is the author of the change.
type Author struct {
	Agent  string `json:"agent,omitempty"`
	Model  string `json:"model,omitempty"`
	Vendor string `json:"vendor,omitempty"` // "" where that is not known
}

// Call is one question to a reviewer.
type Call struct {
	ID               string `json:"id"`
	Reviewer         string `json:"reviewer"`
	Provider         string `json:"provider"`
	Model            string `json:"model,omitempty"`
	Vendor           string `json:"vendor,omitempty"`
	Context          string `json:"context"` // "new process" or "new session": it contains nothing from earlier calls
	PromptTokens     *int   `json:"prompt_tokens,omitempty"`
	CompletionTokens *int   `json:"completion_tokens,omitempty"` // nil is unknown, which is not 0
	Milliseconds     int64  `json:"duration_ms"`
	Error            string `json:"error,omitempty"`
}

// choose picks the reviewer of a pass. It prefers a model from another vendor than the author's.
func choose(list []Reviewer, pass int, a Author) (Reviewer, bool) {
	fit := lists.Filter(list, func(r Reviewer) bool { return len(r.Passes) == 0 || slices.Contains(r.Passes, pass) })
	if len(fit) == 0 {
		return Reviewer{}, false
	}
	for _, r := range fit {
		if a.Vendor != "" && r.Vendor != "" && r.Vendor != a.Vendor {
			return r, true
		}
	}
	return fit[0], true
}

// independence notes what is known about the vendors of author and reviewer; "" if they differ.
func independence(r Reviewer, a Author) (note string, same bool) {
	switch {
	case a.Vendor == "":
		return "", false
	case r.Vendor == "":
		return "the vendor of the reviewer is unknown", false
	case r.Vendor == a.Vendor:
		return "the reviewer and the author are from the same vendor, " + r.Vendor, true
	}
	return "", false
}

// VendorOf returns the maker of a model or a CLI by its name; "" if it is unknown.
func VendorOf(name string) string {
	name = strings.ToLower(filepath.Base(strings.TrimSpace(name)))
	for _, v := range []struct {
		vendor string
		names  []string
	}{
		{"openai", []string{"gpt", "codex", "o1", "o3", "o4", "chatgpt", "davinci"}}, // includes gpt-oss
		{"anthropic", []string{"claude", "opus", "sonnet", "haiku"}},
		{"google", []string{"gemini", "gemma", "codegemma"}},
		{"alibaba", []string{"qwen", "qwq", "codeqwen"}},
		{"meta", []string{"llama", "codellama"}},
		{"mistral", []string{"mistral", "mixtral", "codestral", "devstral", "ministral", "magistral"}},
		{"deepseek", []string{"deepseek"}},
		{"microsoft", []string{"phi"}},
		{"xai", []string{"grok"}},
		{"moonshot", []string{"kimi"}},
		{"zhipu", []string{"glm", "codegeex"}},
		{"ibm", []string{"granite"}},
	} {
		for _, n := range v.names {
			if rest, ok := strings.CutPrefix(name, n); ok && (rest == "" || !goesOn(n, rest[0])) {
				return v.vendor
			}
		}
	}
	return ""
}

// goesOn reports whether c continues a word: phillip does not match phi, and o365 does not match o3.
func goesOn(word string, c byte) bool {
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	return c >= 'a' && c <= 'z' || digit(c) && digit(word[len(word)-1])
}
