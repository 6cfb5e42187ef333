package curate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/folder"
)

// write writes the files of the dataset into its temporary folder.
func (b *builder) write(ctx context.Context, held map[*record]bool) error {
	rest := left(b.all)
	slices.SortFunc(rest, func(x, y *record) int { return cmp.Or(cmp.Compare(x.unix, y.unix), cmp.Compare(x.id, y.id)) })
	for i, side := range []struct {
		name  string
		count *Side
	}{{TrainFile, &b.m.Train}, {ValidationFile, &b.m.Validation}} {
		err := b.file(side.name, func(w io.Writer) error {
			for _, r := range rest {
				if held[r] != (i == 1) {
					continue
				}
				line, err := b.line(r)
				if err == nil {
					_, err = w.Write(line)
				}
				if err == nil {
					err = ctx.Err()
				}
				if err != nil {
					return err
				}
				b.tell(r, side.count)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := b.file(OutFile, folder.Lines(b.leftOut())); err != nil {
		return err
	}
	text := b.PlanText
	if len(text) == 0 {
		var err error
		if text, err = b.Plan.Encode(nil); err != nil {
			return err
		}
	}
	if err := b.file(PlanFile, folder.Text(string(text))); err != nil {
		return err
	}
	return b.file(ManifestFile, folder.JSON(b.m))
}

// tell counts a used example.
func (b *builder) tell(r *record, s *Side) {
	s.add(r.positive, r.pair, r.source, r.kind)
	b.m.Licenses[r.license]++
	b.m.Repos[r.repo]++
	at := time.UnixMicro(r.unix).UTC()
	if b.m.First.IsZero() || at.Before(b.m.First) {
		b.m.First = at
	}
	if at.After(b.m.Last) {
		b.m.Last = at
	}
}

// Add counts an example.
func (s *Side) Add(e training.Example) { s.add(e.Positive, e.Rejected != "", e.Source, e.Kind) }

func (s *Side) add(positive, pair bool, source training.Source, kind training.Kind) {
	s.Examples++
	s.Positive += one(positive && !pair)
	s.Negative += one(!positive && !pair)
	s.Preferences += one(pair)
	s.Logged += one(source == training.Logged)
	s.Synthetic += one(source == training.Synthetic)
	s.Forward += one(kind == training.Forward)
	s.Retroactive += one(kind == training.Retroactive)
}

func (b *builder) leftOut() []Out {
	all := slices.Clone(b.others)
	for _, r := range b.all {
		if r.out != "" {
			all = append(all, Out{r.id, r.out, r.note})
		}
	}
	order := Reasons()
	slices.SortFunc(all, func(x, y Out) int {
		return cmp.Or(cmp.Compare(slices.Index(order, x.Reason), slices.Index(order, y.Reason)), cmp.Compare(x.ID, y.ID),
			cmp.Compare(x.Note, y.Note))
	})
	return all
}

// file writes one file of the dataset.
func (b *builder) file(name string, fill func(io.Writer) error) error {
	if err := b.out.File(name, fill); err != nil {
		return fmt.Errorf("make the dataset: %w", err)
	}
	b.m.Files = b.out.Sums
	return nil
}

// verify checks the finished files independently.
func (b *builder) verify() error {
	var files [2]*os.File
	for i, name := range []string{TrainFile, ValidationFile} {
		f, err := os.Open(b.out.Path(name))
		if err != nil {
			return fmt.Errorf("check the dataset: %w", err)
		}
		defer f.Close()
		if err := b.Canary.Scan(name, f); err != nil {
			return err
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("check the dataset: %w", err)
		}
		files[i] = f
	}
	return CheckLeaks(files[0], files[1], b.m.Measure)
}

// publish moves the dataset into place, without temporary files.
func (b *builder) publish() error {
	if err := errors.Join(b.spool.Close(), os.Remove(b.spool.Name())); err != nil {
		return fmt.Errorf("make the dataset: %w", err)
	}
	return b.out.Publish()
}

// Load reads the manifest of a dataset and verifies the hashes of its files.
func Load(dir string) (Manifest, error) {
	var m Manifest
	if err := atomicfile.ReadJSON(filepath.Join(dir, ManifestFile), &m); err != nil {
		return m, fmt.Errorf("read the dataset %s: %w", dir, err)
	}
	if m.Version != 1 {
		return m, fmt.Errorf("read the dataset %s: its version is %d, but this runplan supports only 1", dir, m.Version)
	}
	for _, name := range []string{TrainFile, ValidationFile} {
		got, err := atomicfile.Sum(filepath.Join(dir, name))
		if err != nil {
			return m, fmt.Errorf("read the dataset: %w", err)
		}
		if got != m.Files[name] {
			return m, fmt.Errorf("%s: %w", filepath.Join(dir, name), ErrChanged)
		}
	}
	return m, nil
}
