package adapters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/training"
)

// ErrNotActive reports that a stage has no active adapter.
var ErrNotActive = errors.New("no adapter is active")

// Rollback deactivates the adapter of a stage and activates the previously deployed version, after a test call
// succeeds. Without such a version, or with toBase, the model of the role is used again. If the server has lost the
// earlier model, it is created again from its file. If the test fails, nothing changes.
func (d Deployer) Rollback(ctx context.Context, stage training.Stage, toBase bool,
	agree func(subject string) error) (Changed, error) {
	out := Changed{Stage: stage, Removed: []string{}}
	now, err := d.active(ctx, stage)
	if err != nil {
		return out, err
	}
	if now.Tag == "" {
		return out, fmt.Errorf("stage %s: %w", stage, ErrNotActive)
	}
	out.Before = now.Tag
	target, found, err := d.previous(ctx, stage, now)
	if err != nil {
		return out, err
	}
	if toBase || !found {
		if err := agree(fmt.Sprintf("stage %s without an adapter, instead of %s", stage, now.Tag)); err != nil {
			return out, err
		}
		return out, errors.Join(d.Curated.DeactivateAdapters(ctx, string(stage)), d.deployed(ctx, now.Tag, false))
	}
	if err := d.fits(ctx, target); err != nil {
		return out, err
	}
	if err := agree(fmt.Sprintf("%s as %s for stage %s, instead of %s", target.Name(), target.Tag, stage,
		now.Tag)); err != nil {
		return out, err
	}
	out.Tag, out.Version = target.Tag, target.Name()
	out.Answer, err = d.test(ctx, target)
	if _, gone := errors.AsType[*llm.NotFoundError](err); gone {
		out.Answer, err = d.made(ctx, target, now.Tag)
	}
	if err != nil {
		out.Tag, out.Version = now.Tag, ""
		return out, err
	}
	return out, d.activate(ctx, target)
}

// previous returns the version to roll back to: among the versions below the active one, the one deployed last.
func (d Deployer) previous(ctx context.Context, stage training.Stage, now store.Adapter) (Version, bool, error) {
	rows, err := d.Curated.Adapters(ctx)
	if err != nil {
		return Version{}, false, err
	}
	all, err := d.Registry.All()
	if err != nil {
		return Version{}, false, err
	}
	slices.SortStableFunc(rows, func(a, b store.DeployedAdapter) int { return cmp.Compare(a.DeployedAt, b.DeployedAt) })
	for _, a := range slices.Backward(rows) {
		if a.Stage != string(stage) || a.Active || a.Version >= now.Version {
			continue
		}
		if v, ok := byTag(all, a.Tag); ok {
			return v, true, nil
		}
	}
	return Version{}, false, nil
}
