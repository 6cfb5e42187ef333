package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/runner/room"
)

// rooms measures the cost of a sealed room: to change its tree by one file, and to compare it with that tree
// afterwards. The floor is the gate without a room, the program true in a workspace.
func (b *bench) rooms() error {
	for _, files := range []int{10, 5000} {
		if err := b.room(files); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) room(files int) error {
	ctx := context.Background()
	all := map[string]string{"one.txt": "0\n"}
	for i := 1; i < files; i++ {
		all[fmt.Sprintf("src/dir%d/file%d.txt", i%100, i)] = fmt.Sprintf("file %d\n", i)
	}
	dir, err := b.place.Repo(fmt.Sprintf("room-%d", files), all)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	repo, err := git.Open(ctx, dir, b.place.Env)
	if err != nil {
		return err
	}
	base, _, err := repo.Head(ctx)
	if err != nil {
		return err
	}
	rooms := room.New(room.Config{Repo: repo, Dir: filepath.Join(b.place.Dir, fmt.Sprintf("rooms-%d", files)),
		Environ: b.place.Env})
	defer rooms.Close(ctx)
	n := b.of(31, 11)
	trees := make([]string, n+1)
	for i := range trees {
		blob, err := repo.WriteBlob(ctx, fmt.Appendf(nil, "%d\n", i))
		if err != nil {
			return err
		}
		if trees[i], err = repo.EditTree(ctx, base+"^{tree}",
			map[string]git.TreeFile{"one.txt": {Mode: "100644", Blob: blob}}, nil); err != nil {
			return err
		}
	}
	var ours, floor []float64
	for i, tree := range trees {
		began := time.Now()
		if err := b.place.Command(dir, "true").Run(); err != nil {
			return err
		}
		without := float64(time.Since(began))
		began = time.Now()
		rm, err := rooms.Take(ctx, base, tree)
		if err != nil {
			return err
		}
		if err := b.place.Command(rm.Dir, "true").Run(); err != nil {
			return err
		}
		d, err := rm.Check(ctx)
		rm.Release()
		if err != nil || !d.Empty() {
			return fmt.Errorf("the room is not as its tree: %v %w", d, err)
		}
		if i > 0 { // the first makes the room
			ours, floor = append(ours, float64(time.Since(began))), append(floor, without)
		}
	}
	v, fl := median(ours), median(floor)
	b.figures = append(b.figures, figure{
		what: fmt.Sprintf("a gate in a room, %d files (without one)", files), value: ms(v), floor: ms(fl),
		ratio: fmt.Sprintf("%.2f", v/fl),
	})
	return nil
}
