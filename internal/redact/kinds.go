package redact

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/literal"
	"github.com/runplan/runplan/internal/tables"
)

// Kind is a kind of secret with a known form.
type Kind struct {
	ID    string
	Re    *lazyre.Regexp
	Edge  bool
	Exact bool
	Guess bool

	lits  []literal.Lit     // each match contains one of them; nil derives them from the expression
	check func(string) bool // further condition for the secret; nil for none

	// at is a quick check of a literal at an offset, for a literal that is frequent in code: false if it is not part of a
	// match. nil accepts all.
	at func(text string, offset int) bool
}

func (k *Kind) mark() string {
	return mark(strings.ToUpper(strings.ReplaceAll(k.ID, "-", "_")))
}

func (k *Kind) needs() []literal.Lit {
	if k.lits != nil {
		return k.lits
	}
	return literal.Needs(k.Re.String())
}

const uuid = `[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}`

//go:embed kinds.toml
var kindTable string

// kinds lists the kinds in the order in which they are tried.
var kinds = sync.OnceValue(func() []Kind {
	var t struct{ Kind []Kind }
	tables.Read(kindTable, &t)
	for i := range t.Kind {
		k := &t.Kind[i]
		k.Re = lazyre.New(strings.ReplaceAll(k.Re.String(), "{uuid}", uuid))
		switch k.ID {
		case "azure-client-secret":
			k.lits = digitsBefore("Q~")
		case "datadog-key":
			k.lits = append(literal.Folded("dd_", "dd-", "dd api", "ddkey", "ddap", "datadog"),
				literal.Exactly("ddapi_", "ddapp_")...)
		case "discord-token":
			k.lits = append(base64Digits(), literal.Exactly("mfa.")...)
		case "telegram-token":
			k.lits = digitsBefore(":A")
		case "twilio-key":
			k.lits = hexBehind("SK")
		case "work-token":
			k.at = noWord
		case "openai-key":
			k.check = mixed
		case "url-password":
			k.at = password
		case "assignment":
			k.at, k.Re = assigns, assignment
		}
	}
	return t.Kind
})
