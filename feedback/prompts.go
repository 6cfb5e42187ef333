package feedback

import (
	"embed"

	"github.com/runplan/runplan/internal/prompt"
)

//go:embed prompts/*.md
var promptFiles embed.FS

// LoadPrompts reads the prompts of this package. Files of the same name in the given layers override them (FIX-31).
func LoadPrompts(more ...prompt.Layer) (prompt.Set, error) {
	return prompt.LoadEmbedded("feedback", promptFiles, more...)
}
