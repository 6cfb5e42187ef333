package stream

import (
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
)

var (
	aiderTokensRE = lazyre.New(`^Tokens: ([\d.,]+)([kM]?) sent(?:, ([\d.,]+)([kM]?) cache write)?(?:, ([\d.,]+)([kM]?) cache hit)?, ([\d.,]+)([kM]?) received\.`)
	aiderCostRE   = lazyre.New(`Cost: \$([\d.,]+) message, \$([\d.,]+) session\.`)
	aiderModelRE  = lazyre.New(`^(?:Main model|Model): (\S+)`)
	// The errors of the provider's library that aider prints when a call failed.
	aiderErrorRE = lazyre.New(`^(?:litellm\.)?(?:\w+\.)?(AuthenticationError|RateLimitError|NotFoundError|BadRequestError|APIConnectionError|ServiceUnavailableError|InternalServerError|ContextWindowExceededError|PermissionDeniedError)\b:?`)
)

var aiderFaults = map[string]FaultKind{
	"AuthenticationError": Auth, "PermissionDeniedError": Auth, "RateLimitError": Limit, "NotFoundError": MissingModel,
	"APIConnectionError": Network, "ServiceUnavailableError": Overloaded, "InternalServerError": Server,
	"ContextWindowExceededError": Context,
}

// plainLine reads a line of a CLI that prints text for people. Only lines in the CLI's own form report errors and
// cost. Other lines may be the agent's text.
func (p *Parser) plainLine(line string) {
	p.t.Events++
	before := p.t.Text
	p.text(line)
	switch p.format {
	case Aider:
		if p.aiderLine(line) {
			p.t.Text = before
		}
	case Crush:
		// crush prints its own errors at the end and exits with 1; see FaultInText.
		p.keepStray(line)
	}
}

func (p *Parser) keepStray(line string) {
	n := len(p.out)
	p.otherLine(line)
	p.out = p.out[:n] // already emitted
}

// aiderLine reads a line in aider's own form. It reports whether the line has the token count, which comes last.
func (p *Parser) aiderLine(line string) (counted bool) {
	if m := aiderTokensRE.FindStringSubmatch(line); m != nil {
		write, read := figure(m[3], m[4]), figure(m[5], m[6])
		p.t.Tokens.add(Tokens{Input: less(less(figure(m[1], m[2]), write), read), Output: figure(m[7], m[8]),
			CacheRead: read, CacheWrite: write})
		p.t.Fault = nil // the model answered
		counted = true
	}
	if m := aiderCostRE.FindStringSubmatch(line); m != nil {
		if v, err := strconv.ParseFloat(strings.ReplaceAll(m[2], ",", ""), 64); err == nil {
			p.t.CostUSD = &v // total of the session
		}
	}
	if m := aiderModelRE.FindStringSubmatch(line); m != nil {
		p.t.Model = phrase.CutBytes(m[1], 100)
	}
	if m := aiderErrorRE.FindStringSubmatch(line); m != nil {
		f := p.faultOf(0, "", line)
		if kind, ok := aiderFaults[m[1]]; ok && f.Kind != Quota {
			f.Kind = kind
			f.readTime(line, p.now())
		}
		p.fail(f)
	}
	return counted
}

// figure parses a number such as "1.2k". It returns nil for an empty text.
func figure(s, unit string) *int64 {
	if s == "" {
		return nil
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
	if err != nil {
		return nil
	}
	switch unit {
	case "k":
		v *= 1e3
	case "M":
		v *= 1e6
	}
	n := int64(v)
	return &n
}
