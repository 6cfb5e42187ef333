package stream

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
)

// FaultKind is the kind of error that ended an agent's work.
type FaultKind string

// The kinds of faults.
const (
	Auth         FaultKind = "auth"          // not signed in, or an invalid key
	Limit        FaultKind = "limit"         // a rate limit or an exhausted window, which resets
	Quota        FaultKind = "quota"         // no credit or subscription: waiting does not help
	Overloaded   FaultKind = "overloaded"    // the provider has no capacity
	MissingModel FaultKind = "missing_model" // the model does not exist, or not for this account
	Network      FaultKind = "network"
	Server       FaultKind = "server"  // the provider failed
	Refused      FaultKind = "refused" // the model refuses
	Turns        FaultKind = "turns"   // the CLI's own limit of turns
	Budget       FaultKind = "budget"  // the CLI's own limit of money
	Context      FaultKind = "context" // too long for the model's window
	Usage        FaultKind = "usage"   // wrong arguments or settings
	Empty        FaultKind = "empty"   // the model's answer has no text and no tool call
	Loop         FaultKind = "loop"    // the CLI stopped a model that repeated itself
	Other        FaultKind = "other"
)

// Fault is an error reported by a CLI.
type Fault struct {
	Kind    FaultKind `json:"kind"`
	Message string    `json:"message,omitempty"` // one line
	Status  int       `json:"status,omitempty"`  // HTTP status, if known
	RetryAt time.Time `json:"retry_at,omitzero"`
}

// faultOf classifies an error. Fields count before its text. It is called only for text that a CLI reports as an error.
func (p *Parser) faultOf(status int, code, message string) *Fault {
	f := &Fault{Status: status, Message: phrase.CutBytes(phrase.Line(unwrap(message)), 500), Kind: Other}
	f.Message = cmp.Or(f.Message, phrase.Line(code))
	f.Status = cmp.Or(f.Status, statusIn(message))
	f.Kind = kindOf(f.Status, code, message)
	// The HTTP library of Node reports a lost connection as "terminated".
	if f.Kind == Other && strings.TrimSuffix(strings.TrimPrefix(message, "[API Error: "), "]") == "terminated" {
		f.Kind, f.Message = Network, "the connection was cut (terminated)"
	}
	f.readTime(message, p.now())
	return f
}

// unwrap returns the text of an error that a CLI prints as the provider's JSON, and any other message as it is.
func unwrap(message string) string {
	i, j := strings.IndexByte(message, '{'), strings.LastIndexByte(message, '}')
	var body struct{ Error struct{ Message string } }
	if i < 0 || j < i || json.Unmarshal([]byte(message[i:j+1]), &body) != nil || body.Error.Message == "" {
		return message
	}
	return message[:i] + body.Error.Message + message[j+1:]
}

// readTime finds the time to try again. A quota with a reset time is a limit.
func (f *Fault) readTime(message string, now time.Time) {
	if f.Kind != Limit && f.Kind != Overloaded && f.Kind != Quota {
		return
	}
	if at, ok := RetryTime(message, now); ok {
		f.RetryAt = at
		if f.Kind == Quota {
			f.Kind = Limit
		}
	}
}

// codes maps the error codes of CLIs to kinds.
var codes = map[string]FaultKind{
	"rate_limit": Limit, "rate_limit_error": Limit, "rate_limit_exceeded": Limit, "usage_limit_reached": Limit,
	"billing_error": Quota, "insufficient_quota": Quota, "credit_balance_too_low": Quota,
	"authentication_failed": Auth, "authentication_error": Auth, "permission_error": Auth, "invalid_api_key": Auth,
	"oauth_org_not_allowed": Auth, "unauthenticated": Auth, "providerautherror": Auth,
	"overloaded": Overloaded, "overloaded_error": Overloaded, "unavailable": Overloaded,
	"model_not_found": MissingModel, "not_found_error": MissingModel, "providermodelnotfounderror": MissingModel,
	"server_error": Server, "api_error": Server,
	"refusal": Refused, "content_filter": Refused, "safety": Refused,
	"error_max_turns": Turns, "error_max_budget_usd": Budget, "max_output_tokens": Context,
	"context_length_exceeded": Context,
}

func kindOf(status int, code, message string) FaultKind {
	text := Fold(message)
	kind, known := codes[strings.ToLower(code)]
	if known && kind != Server {
		return kind
	}
	switch status {
	case 401:
		return Auth
	case 402:
		return Quota
	case 429:
		if kindOfText(text) == Quota {
			return Quota
		}
		return Limit
	case 503, 529:
		return Overloaded
	}
	if k := kindOfText(text); k != Other {
		return k
	}
	switch {
	case status == 404 && strings.Contains(text, "model"):
		return MissingModel
	case known:
		return kind
	case status == 403:
		return Auth
	case status >= 500:
		return Server
	}
	return Other
}

// words lists typical texts of error messages, in order of priority.
var words = []struct {
	kind FaultKind
	has  []string
}{
	{Quota, []string{"credit balance", "check your plan and billing", "insufficient_quota", "insufficient credits",
		"insufficient balance", "billing", "payment required", "out of credits"}},
	{Limit, []string{"hit your limit", "hit your usage limit", "usage limit", "session limit", "weekly limit",
		"rate limit", "rate-limit", "rate_limit", "ratelimit", "too many requests", "daily quota", "quota exceeded",
		"exceeded your current quota", "resource_exhausted", "resource exhausted", "resource has been exhausted",
		"limit reached"}},
	{Auth, []string{"not logged in", "please run /login", "invalid api key", "incorrect api key", "invalid authentication",
		"invalid auth method", "authentication", "unauthenticated", "unauthorized", "api key not valid", "api key not found",
		"bad key", "no api key", "missing api key", "api_key", "token has expired", "token expired", "login required",
		"please log in", "please sign in", "no providers configured", "set an auth method"}},
	{MissingModel, []string{"model not found", "model_not_found", "selected model", "unknown model", "no such model",
		"model does not exist", "does not exist or you do not have access", "is not a valid model", "invalid model",
		"not found for api version"}},
	{Overloaded, []string{"overloaded", "service unavailable", "at capacity", "high demand"}},
	{Context, []string{"context length", "context window", "context_length", "prompt is too long", "maximum context",
		"output token maximum", "max_output_tokens", "maximum number of tokens", "too many tokens"}},
	{Refused, []string{"usage policy", "refusal", "unable to respond to this request", "content policy", "content filter",
		"content_filter", "blocked by safety", "safeguards flagged", "safety filter", "content management policy"}},
	{Loop, []string{"loop detected", "loop detection"}},
	{Empty, []string{"empty response", "response was empty"}},
	{Turns, []string{"maximum number of turns", "max session turns", "max turns", "turn limit"}},
	{Budget, []string{"maximum budget", "budget exceeded"}},
	{Network, []string{"econnreset", "econnrefused", "enotfound", "etimedout", "eai_again", "connection refused",
		"connection reset", "connection error", "connection to the api", "could not connect", "network error",
		"network is unreachable", "stream disconnected", "fetch failed", "socket hang up", "no such host", "dns error",
		"timed out", "cannot connect to", "connection closed", "connection was closed", "connection lost",
		"connection was cut", "other side closed", "premature close", "error decoding response body",
		"error sending request"}},
	{Usage, []string{"unknown option", "unknown argument", "unexpected argument", "unrecognized arguments", "unknown flag",
		"invalid value"}},
	{Server, []string{"internal server error", "bad gateway", "gateway timeout", "server error", "in json at position",
		"unexpected end of json", "is not valid json", "json parse error", "json parsing failed", "invalid json response"}},
}

func kindOfText(text string) FaultKind {
	for _, w := range words {
		for _, s := range w.has {
			if strings.Contains(text, s) {
				return w.kind
			}
		}
	}
	return Other
}

// FaultInText classifies a failed program's lines on standard error, as the last resort if no field gives the
// reason. It returns nil if it knows none of them.
func FaultInText(lines []string, now time.Time) *Fault {
	for i := len(lines) - 1; i >= 0; i-- {
		if kind := kindOf(statusIn(lines[i]), "", lines[i]); kind != Other {
			f := &Fault{Kind: kind, Message: phrase.CutBytes(phrase.Line(lines[i]), 500), Status: statusIn(lines[i])}
			f.readTime(lines[i], now)
			return f
		}
	}
	return nil
}

var statusRE = lazyre.New(`(?i)(?:\bstatus(?:code)?["']?[ :=]+|\bcode["']?[ :=]+|\bapi error: (?:request rejected \()?|\bhttp(?:/\d\.\d)? |^|\()(4\d\d|5\d\d)\b`)

// statusIn returns the HTTP status in a message, 0 if there is none.
func statusIn(message string) int {
	if m := statusRE.FindStringSubmatch(message); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return 0
}

// Fold normalizes case, apostrophes, dashes and spaces of a text.
func Fold(s string) string {
	s = strings.NewReplacer("’", "'", "‘", "'", "ʼ", "'", "`", "'", "–", "-", "—", "-", "‑", "-", "\u00a0", " ", "\u202f",
		" ").Replace(s)
	return strings.Join(strings.Fields(strings.ToLower(s)), " ")
}
