package app

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/trust"
)

// deployedAdapters returns the adapter rows of the index. Without an index there are none.
func (p *project) deployedAdapters(ctx context.Context) ([]store.DeployedAdapter, error) {
	db, err := store.OpenCuratedReader(ctx, curatedFile(p.repo))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer db.Close()
	return db.Adapters(ctx)
}

// trainerExecutable returns the trainer if the repository's own settings name it.
func (p *project) trainerExecutable() []trust.Executable {
	c, file := p.config, p.layout.Config()
	if len(c.Training.Trainer) == 0 || c.Source("training.trainer") != file && c.Source("training.pass_env") != file {
		return nil
	}
	what := trust.Words(c.Training.Trainer)
	if len(c.Training.PassEnv) > 0 {
		what += " (sees " + strings.Join(c.Training.PassEnv, ", ") + ")"
	}
	return []trust.Executable{{Where: "trainer", What: what}}
}
