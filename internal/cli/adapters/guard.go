package adapters

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/license"
)

// Guard returns the guard for training data that leaves a project. It removes known secrets, and the build
// fails if one remains: a secret of the environment, the settings and copied files, or a configured canary.
func Guard(p *cli.Project) training.Guard {
	secrets := p.Redactor()
	var known []training.Secret
	for _, kv := range slices.Concat(p.Environ, p.Secrets()) {
		name, value, _ := strings.Cut(kv, "=")
		if value = strings.TrimSpace(value); redact.SecretName(name) && secrets.String(value) != value {
			known = append(known, training.Secret{Name: "the value of " + name, Value: value})
		}
	}
	for i, value := range p.Config.Training.Canaries {
		known = append(known, training.Secret{Name: fmt.Sprintf("canary %d of training.canaries", i+1), Value: value})
	}
	return training.Guard{
		Redact: func(text string) string { return redact.Clean(secrets.String(text)) },
		Canary: training.NewCanary(known),
	}
}

// Origin returns the name of the repository in examples, and its license if known.
func Origin(ctx context.Context, p *cli.Project) (name, spdx string) {
	return training.RepoName(p.Repo.Remote(ctx, "origin"), p.Repo.Root), license.Of(os.DirFS(p.Repo.Root))
}

// OpenLedger opens the journal for training records. It creates the journal if needed.
func OpenLedger(ctx context.Context, p *cli.Project) (*store.Training, error) {
	if err := p.Layout.Make(); err != nil {
		return nil, err
	}
	return training.OpenLedger(ctx, p.Layout.Journal())
}
