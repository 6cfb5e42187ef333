package adapters

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/curriculum"
)

// Data is a folder of examples that an adapter is trained on, looked through from end to end.
type Data struct {
	Name     string // as the registry calls it: relative to the repository where it lies in it
	Dir      string // absolute
	SHA256   string // of train.jsonl
	Examples int    // of train.jsonl
	Held     int    // of validation.jsonl
	Source   training.Source
	Positive int
	Negative int
	Exported bool // the lines are in a trainer's form: what they are about cannot be checked
}

// The files of a folder of data.
const (
	TrainFile      = "train.jsonl"
	ValidationFile = "validation.jsonl"
)

// ErrNoData says that there is nothing to train on.
var ErrNoData = errors.New("there is no data to train on")

// TooFewError is a corpus below the size that its curriculum asks for.
type TooFewError struct{ Have, Want int }

func (e *TooFewError) Error() string {
	return fmt.Sprintf("there are %d examples, and the curriculum asks for %d at least", e.Have, e.Want)
}

// ReadData looks through a folder. Each line has to be an example of the adapter's stage, so that no adapter crosses from one kind of
// model to the other (TRAIN-05), or a JSON object where the folder was exported for a trainer. name is how the registry calls it.
func ReadData(dir, name string, spec curriculum.Spec) (Data, error) {
	d := Data{Name: name, Dir: dir, Source: training.Logged}
	f, err := os.Open(filepath.Join(dir, TrainFile))
	if errors.Is(err, fs.ErrNotExist) {
		return d, fmt.Errorf("%s has no %s: %w", name, TrainFile, ErrNoData)
	}
	if err != nil {
		return d, fmt.Errorf("read the data: %w", err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return d, fmt.Errorf("read the data: %w", err)
	}
	d.SHA256 = hex.EncodeToString(sum.Sum(nil))
	if d.Exported, err = exported(f); err != nil {
		return d, err
	}
	if err := d.count(f, TrainFile, spec, func(e training.Example) {
		if e.Positive {
			d.Positive++
		} else {
			d.Negative++
		}
		if d.Examples == 1 {
			d.Source = e.Source
		}
	}, &d.Examples); err != nil {
		return d, err
	}
	if d.Exported {
		d.Positive = d.Examples // what is exported is to be learnt
	}
	held, err := os.Open(filepath.Join(dir, ValidationFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return d, fmt.Errorf("read the data: %w", err)
	default:
		defer held.Close()
		if err := d.count(held, ValidationFile, spec, func(training.Example) {}, &d.Held); err != nil {
			return d, err
		}
	}
	switch {
	case d.Examples == 0:
		return d, fmt.Errorf("%s: %s is empty: %w", name, TrainFile, ErrNoData)
	case d.Examples+d.Held < spec.MinimumCorpusSize:
		return d, &TooFewError{d.Examples + d.Held, spec.MinimumCorpusSize}
	}
	return d, nil
}

// exported tells by the first line whether a file is in a trainer's form: examples say which stage they are of, and where from.
func exported(f io.ReadSeeker) (bool, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	line, err := bufio.NewReaderSize(f, 64<<10).ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	var keys map[string]json.RawMessage
	if json.Unmarshal(line, &keys) != nil {
		return false, nil // the reader of examples says what is wrong with it
	}
	return keys["stage"] == nil && keys["origin"] == nil && len(keys) > 0, nil
}

func (d Data) count(f io.ReadSeeker, file string, spec curriculum.Spec, add func(training.Example), n *int) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	name := filepath.Join(d.Name, file)
	if d.Exported {
		dec := json.NewDecoder(f)
		for {
			var object map[string]json.RawMessage
			if err := dec.Decode(&object); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return fmt.Errorf("%s: object %d: %w", name, *n+1, err)
			}
			*n++
		}
	}
	for e, err := range training.Read(name, f) {
		if err != nil {
			return err
		}
		if e.Stage != spec.Stage || e.Base != spec.Base() {
			return fmt.Errorf("%s: example %s is of stage %s, and %s is for %s; an adapter never crosses", name, e.ID, e.Stage, spec.Name, spec.Stage)
		}
		*n++
		add(e)
	}
	return nil
}
