package retrieve

import (
	"embed"

	"github.com/runplan/runplan/internal/prompt"
)

//go:embed prompts/*.md
var promptFiles embed.FS

// LoadPrompts returns the prompts of this package: task_analysis, scope and precision. Files of the same name in a
// later layer, such as .runplan/prompts, override them.
func LoadPrompts(layers ...prompt.Layer) (prompt.Set, error) {
	return prompt.LoadEmbedded("knowledge/retrieve", promptFiles, layers...)
}
