package adapters

import (
	"bytes"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/training"
)

var (
	overridesHeader = lazyre.New(`^\s*\[\s*models\s*\.\s*overrides\s*\]\s*(#.*)?$`)
	anyHeader       = lazyre.New(`^\s*\[`)
)

// SetOverride sets the model of a stage in the text of a settings file; "" removes the line. All other text stays,
// including comments. It returns an error if it does not understand the present form.
func SetOverride(file string, text []byte, stage training.Stage, tag string) ([]byte, error) {
	lines := bytes.SplitAfter(text, []byte("\n"))
	header, at := -1, -1
	for i, l := range lines {
		switch line := strings.TrimRight(string(l), "\r\n"); {
		case overridesHeader.MatchString(line):
			header = i
		case header >= 0 && anyHeader.MatchString(line):
			lines = splice(lines, i) // the following lines belong to another table
		case header >= 0 && strings.HasPrefix(strings.TrimSpace(line), string(stage)):
			if key, _, ok := strings.Cut(line, "="); ok && strings.TrimSpace(key) == string(stage) {
				at = i
			}
		}
		if header >= 0 && len(lines) == i+1 {
			break
		}
	}
	entry := []byte(fmt.Sprintf("%s = %s\n", stage, strconv.Quote(tag)))
	var out []byte
	switch {
	case at >= 0 && tag == "":
		out = bytes.Join(append(append([][]byte{}, lines[:at]...), lines[at+1:]...), nil)
	case at >= 0:
		out = bytes.Join(append(append(append([][]byte{}, lines[:at]...), entry), lines[at+1:]...), nil)
	case tag == "":
		out = text
	case header >= 0:
		head := lines[header]
		if !bytes.HasSuffix(head, []byte("\n")) {
			head = append(bytes.Clone(head), '\n')
		}
		out = bytes.Join(append(append(append([][]byte{}, lines[:header]...), head, entry), lines[header+1:]...), nil)
	default:
		out = bytes.Clone(text)
		if len(out) > 0 && out[len(out)-1] != '\n' {
			out = append(out, '\n')
		}
		if len(out) > 0 {
			out = append(out, '\n')
		}
		out = append(append(out, "[models.overrides]\n"...), entry...)
	}
	if err := onlyThat(text, out, stage, tag); err != nil {
		return nil,
			fmt.Errorf("%s: the model of stage %s could not be written: %w; write it yourself, under [models.overrides]: %s",
				file, stage, err, bytes.TrimSpace(entry))
	}
	return out, config.Check(file, out)
}

// splice joins all lines after line i into one, which is then left unchanged.
func splice(lines [][]byte, i int) [][]byte {
	return append(append([][]byte{}, lines[:i]...), bytes.Join(lines[i:], nil))
}

// onlyThat checks that two texts differ only in the model of the stage, and that the new value is tag.
func onlyThat(before, after []byte, stage training.Stage, tag string) error {
	a, b := map[string]any{}, map[string]any{}
	if err := toml.Unmarshal(before, &a); err != nil {
		return err
	}
	if err := toml.Unmarshal(after, &b); err != nil {
		return err
	}
	if have, _ := take(b, stage).(string); have != tag {
		return fmt.Errorf("it would read %q", have)
	}
	take(a, stage)
	if !reflect.DeepEqual(a, b) {
		return fmt.Errorf("the line has an unsupported form")
	}
	return nil
}

// take removes the model of a stage from parsed settings, and the tables that are empty afterwards.
func take(m map[string]any, stage training.Stage) any {
	models, _ := m["models"].(map[string]any)
	overrides, _ := models["overrides"].(map[string]any)
	v := overrides[string(stage)]
	delete(overrides, string(stage))
	if len(overrides) == 0 {
		delete(models, "overrides")
	}
	if len(models) == 0 {
		delete(m, "models")
	}
	return v
}
