package blueprint

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/rooted"
)

// maxFile limits the size of a blueprint.
const maxFile = 1 << 20

// Parse reads a blueprint. Messages call it name. The error is [FileErrors] with all problems.
func Parse(name string, src []byte) (*Blueprint, error) {
	d := &decoder{path: name, lines: map[string]int{}}
	b := &Blueprint{lines: d.lines, file: name}
	switch {
	case len(src) > maxFile:
		d.errorf(1, "the file has %d KiB; the limit is %d", len(src)>>10, maxFile>>10)
	case !utf8.Valid(src) || strings.ContainsRune(string(src), 0):
		d.errorf(1, "not UTF-8 text")
	default:
		if m := d.mapping(strings.TrimPrefix(string(src), "\ufeff")); m != nil {
			d.fill(reflect.ValueOf(b).Elem(), m, "", 0)
			if len(d.errs) == 0 {
				d.judge(b)
			}
		}
	}
	if len(d.errs) > 0 {
		slices.SortFunc(d.errs, func(a, b *FileError) int {
			return cmp.Or(a.Line-b.Line, strings.Compare(a.Message, b.Message))
		})
		return nil, d.errs
	}
	return b, nil
}

var (
	unitName     = lazyre.New(`^[a-z0-9][a-z0-9._-]*$`)
	endpointPath = lazyre.New(`^/\S*$`)
)

// ErrUnitName says that a name of a unit is invalid.
var ErrUnitName = errors.New("not a valid unit name")

// ValidUnit checks whether a name can be the name of a unit, which becomes part of file names.
func ValidUnit(name string) error {
	if !unitName.MatchString(name) || strings.Contains(name, "..") || len(name) > 100 {
		return fmt.Errorf("%q is %w; use lower-case letters, digits, -, _ and single dots, such as order-service",
			phrase.Cut(name, 60), ErrUnitName)
	}
	return nil
}

// judge finds values of the right type that are invalid.
func (d *decoder) judge(b *Blueprint) {
	at := func(key, format string, args ...any) { d.errorf(b.Line(key), format, args...) }
	if err := ValidUnit(b.Unit); err != nil {
		at("unit", "unit: %v", err)
	}
	for key, text := range map[string]string{"intent.purpose": b.Intent.Purpose,
		"intent.cognitive_role": b.Intent.CognitiveRole} {
		if strings.TrimSpace(text) == "" {
			at(key, "%s is empty", key)
		}
	}
	d.judgeInterfaces(b, at)
	for i, v := range b.Dependencies.Volumes {
		if !slices.Contains([]string{"", "ro", "rw"}, v.Mode) {
			at(fmt.Sprintf("dependencies.volumes[%d].mode", i), "dependencies.volumes[%d].mode is %q; use ro or rw", i, v.Mode)
		}
	}
	for i, f := range b.FailureModes {
		key := fmt.Sprintf("failure_modes[%d]", i)
		if f.Status != 0 && (f.Status < 100 || f.Status > 599) {
			at(key+".status", "%s.status is %d; an HTTP status is 100 to 599", key, f.Status)
		}
		if f.Interface != "" && !slices.ContainsFunc(b.Endpoints(),
			func(e Endpoint) bool { return e.Name() == f.Interface }) {
			at(key+".interface", "%s.interface is %q, which no interface declares", key, f.Interface)
		}
	}
	seen := map[string]bool{}
	for i, f := range b.SourceFiles {
		key := fmt.Sprintf("source_files[%d].path", i)
		if err := SafePath(f.Path); err != nil {
			at(key, "%s: %v", key, err)
		}
		if seen[f.Path] {
			at(key, "%s: %s occurs twice", key, f.Path)
		}
		seen[f.Path] = true
	}
	for _, s := range b.Meta.Confidence.sections() {
		if key := "meta.confidence." + s.name; s.value != nil && !(*s.value >= 0 && *s.value <= 1) {
			at(key, "%s is %v; it must be 0 to 1", key, *s.value)
		}
	}
}

func (d *decoder) judgeInterfaces(b *Blueprint, at func(key, format string, args ...any)) {
	methods := []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"}
	seen := map[string]bool{}
	for i, in := range b.Interfaces {
		key := fmt.Sprintf("interfaces[%d]", i)
		paths := map[string]string{}
		switch {
		case in.Socket != nil:
			paths[key+".path"] = in.Socket.Path
		case in.Stream != nil:
			paths[key+".path"] = in.Stream.Path
		case in.Event != nil && in.Event.Direction != "publish" && in.Event.Direction != "subscribe":
			at(key+".direction", "%s.direction is %q; use publish or subscribe", key, in.Event.Direction)
		case in.HTTP != nil:
			for j, e := range in.HTTP.Endpoints {
				place := fmt.Sprintf("%s.endpoints[%d]", key, j)
				paths[place+".path"] = e.Path
				if !slices.Contains(methods, e.Method) {
					at(place+".method", "%s.method is %q; use one of %s", place, e.Method, strings.Join(methods, ", "))
				}
				if seen[e.Name()] {
					at(place, "%s: %s occurs twice", place, e.Name())
				}
				seen[e.Name()] = true
			}
		}
		for place, p := range paths {
			if !endpointPath.MatchString(p) {
				at(place, "%s is %q; it must begin with a slash and have no spaces", place, p)
			}
		}
	}
}

// SafePath accepts a path that stays in the repository: relative, with slashes, and without dot segments.
func SafePath(p string) error {
	switch {
	case p == "" || !fs.ValidPath(p) || p == ".":
		return fmt.Errorf(
			"%q is not a path below the root of the repository: write it relative to the root, with slashes and without . "+
				"or .. as folders", phrase.Cut(p, 80))
	case strings.ContainsAny(p, "\\\x00\n\r") || filepath.VolumeName(p) != "":
		return fmt.Errorf("%q has characters that are not allowed in a path", phrase.Cut(p, 80))
	}
	for part := range strings.SplitSeq(p, "/") {
		if strings.EqualFold(part, ".git") || strings.EqualFold(part, ".runplan") {
			return fmt.Errorf("%q is in %s, which contains no source", phrase.Cut(p, 80), part)
		}
	}
	return nil
}

// State is the state of a blueprint (BP-01).
type State string

// The states.
const (
	Candidate State = "candidate" // not yet validated
	Live      State = "live"      // promoted
)

// Folder is the folder of blueprints, relative to the root of a repository.
const Folder = "knowledge/blueprints"

// PathOf returns the path of a unit's blueprint, with slashes, below the root of the repository.
func PathOf(unit string, s State) string {
	if s == Candidate {
		return path.Join(Folder, "candidates", unit+".yaml")
	}
	return path.Join(Folder, unit+".yaml")
}

// MaxSource limits the size of a source file.
const MaxSource = 4 << 20

// ErrNoBlueprint reports that a unit has no blueprint in that state.
var ErrNoBlueprint = errors.New("blueprint not found")

// Load reads the blueprint of a unit in the repository at root. Its unit must match the file name.
func Load(root, unit string, s State) (*Blueprint, error) {
	b, _, err := LoadText(root, unit, s)
	return b, err
}

// LoadText reads a blueprint like [Load], and returns its text too.
func LoadText(root, unit string, s State) (*Blueprint, []byte, error) {
	if err := ValidUnit(unit); err != nil {
		return nil, nil, err
	}
	name := PathOf(unit, s)
	src, err := rooted.Read(root, name, maxFile+1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%s: %w", name, ErrNoBlueprint)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the blueprint %s: %w", name, err)
	}
	b, err := parseNamed(name, unit, src)
	return b, src, err
}

func parseNamed(name, unit string, src []byte) (*Blueprint, error) {
	b, err := Parse(name, src)
	if err == nil && b.Unit != unit {
		return nil,
			FileErrors{{name, b.Line("unit"), fmt.Sprintf("unit is %q, but the name of the file says %q", b.Unit, unit)}}
	}
	return b, err
}

// Units lists the units with a blueprint in that state, sorted.
func Units(root string, s State) ([]string, error) {
	entries, err := fs.ReadDir(os.DirFS(root), path.Dir(PathOf("x", s)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list blueprints: %w", err)
	}
	var out []string
	for _, e := range entries {
		if unit, ok := strings.CutSuffix(e.Name(), ".yaml"); ok && e.Type().IsRegular() && ValidUnit(unit) == nil {
			out = append(out, unit)
		}
	}
	return out, nil
}
