package routing

import (
	"github.com/runplan/runplan/internal/condition"
	"github.com/runplan/runplan/planparse"
)

// Facts are the variables of a condition.
type Facts struct {
	Env   map[string]string `expr:"env"`
	Batch BatchFacts        `expr:"batch"`
}

// BatchFacts describes the batch that has a condition.
type BatchFacts struct {
	Number   string `expr:"number"`
	Title    string `expr:"title"`
	Tasks    int    `expr:"tasks"`
	Creates  int    `expr:"creates"`
	Modifies int    `expr:"modifies"`
	Tests    int    `expr:"tests"`
	Deletes  int    `expr:"deletes"`
	Commands int    `expr:"commands"`
	Critical bool   `expr:"critical"`
}

// FactsOf collects the facts of one batch.
func FactsOf(b *planparse.Batch, env map[string]string) Facts {
	if env == nil {
		env = map[string]string{}
	}
	return Facts{Env: env, Batch: BatchFacts{
		Number: b.Number, Title: b.Title, Tasks: len(b.Tasks), Critical: b.Critical,
		Creates: len(b.Files.Create), Modifies: len(b.Files.Modify), Tests: len(b.Files.Test), Deletes: len(b.Files.Delete),
		Commands: len(b.Commands),
	}}
}

// Holds evaluates a condition. An unknown name, or a condition whose value is not yes or no, is an error with its
// position.
func Holds(text string, f Facts) (bool, error) {
	c, err := condition.Parse[Facts](text)
	if err != nil {
		return false, err
	}
	return c.Holds(f)
}
