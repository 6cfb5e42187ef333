package patterns

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// record holds fields of one line of ast-grep's --json=stream. Other fields are ignored, so a newer version may add
// some.
type record struct {
	File  string `json:"file"`
	Text  string `json:"text"`
	Range struct {
		Start place `json:"start"`
		End   place `json:"end"`
	} `json:"range"`
	Rule        string  `json:"ruleId"`
	Severity    string  `json:"severity"`
	Message     string  `json:"message"`
	Note        *string `json:"note"`
	Replacement *string `json:"replacement"`
	Offsets     *struct {
		Start int `json:"start"`
		End   int `json:"end"`
	} `json:"replacementOffsets"`
	Vars struct {
		Single map[string]struct {
			Text string `json:"text"`
		} `json:"single"`
	} `json:"metaVariables"`
}

// place counts lines and characters from 0, as the program does.
type place struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

func (r record) capture(name string) string { return r.Vars.Single[name].Text }

// parseStream parses one record per line. Any other line is an error, because a partial answer is not usable.
func parseStream(out []byte) ([]record, error) {
	var all []record
	for n := 1; len(out) > 0; n++ {
		var line []byte
		line, out, _ = bytes.Cut(out, []byte("\n"))
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		r, err := parseRecord(line)
		if err != nil {
			return nil, fmt.Errorf("read ast-grep's answer, line %d: %w", n, err)
		}
		all = append(all, r)
	}
	return all, nil
}

func parseRecord(line []byte) (record, error) {
	var r record
	if line[0] != '{' {
		return r, fmt.Errorf("not a JSON object: %q", firstLine(string(line)))
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return r, err
	}
	switch {
	case r.File == "":
		return r, errors.New(`it has no "file"`)
	case r.Rule == "":
		return r, errors.New(`it has no "ruleId"`)
	case r.Range.Start.Line < 0 || r.Range.Start.Column < 0:
		return r, errors.New("its position is negative")
	}
	return r, nil
}
