package retrieve

import (
	"embed"
	"io/fs"

	"github.com/runplan/runplan/internal/prompt"
)

//go:embed prompts/*.md
var promptFiles embed.FS

// LoadPrompts returns the prompts of this package: task_analysis, scope and precision. Files of the same name in a later
// layer, such as .runplan/prompts, take their place.
func LoadPrompts(layers ...prompt.Layer) (prompt.Set, error) {
	own, err := fs.Sub(promptFiles, "prompts")
	if err != nil {
		return prompt.Set{}, err
	}
	return prompt.Load(append([]prompt.Layer{{Dir: "knowledge/retrieve/prompts", FS: own}}, layers...)...)
}
