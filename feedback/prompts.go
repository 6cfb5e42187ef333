package feedback

import (
	"embed"
	"io/fs"

	"github.com/runplan/runplan/internal/prompt"
)

//go:embed prompts/*.md
var promptFiles embed.FS

// LoadPrompts reads the prompts of this package; files of the same name in the given layers take their place (FIX-31).
func LoadPrompts(more ...prompt.Layer) (prompt.Set, error) {
	own, err := fs.Sub(promptFiles, "prompts")
	if err != nil {
		return prompt.Set{}, err
	}
	return prompt.Load(append([]prompt.Layer{{Dir: "feedback/prompts", FS: own}}, more...)...)
}
