package llmtest

import (
	"hash/fnv"
	"net/http"
	"regexp"
	"strings"
)

// dimensions is the length of vectors that no script defines.
const dimensions = 16

// embed answers with one vector for each text.
func (s *Server) embed(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
	}
	if _, err := s.note(r, &req); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	if _, ok := s.model(req.Model); !ok {
		refuse(w, http.StatusNotFound, "model '"+req.Model+"' not found")
		return
	}
	all := make([][]float32, len(req.Input))
	for i, text := range req.Input {
		v := s.vector(text)
		if v.Delay > 0 && !pass(r, v.Delay) || v.Fault != "" && s.refused(w, Answer{Fault: v.Fault}, req.Model) {
			return
		}
		all[i] = v.Vector
	}
	reply(w, http.StatusOK, map[string]any{"model": req.Model, "embeddings": all, "total_duration": 1, "load_duration": 1,
		"prompt_eval_count": len(all)})
}

// vector returns the scripted vector of a text, else one in which each word counts in one dimension.
func (s *Server) vector(text string) Vector {
	s.mu.Lock()
	defer s.mu.Unlock()
	delay := 0
	for i, v := range s.script.Vectors {
		if v.Times > 0 && s.faults[i] >= v.Times || !regexp.MustCompile(v.Match).MatchString(text) {
			continue
		}
		if s.faults[i]++; v.Vector != nil || v.Fault != "" {
			return v
		}
		delay = max(delay, v.Delay)
	}
	out := make([]float32, dimensions)
	for _, word := range strings.Fields(strings.ToLower(text)) {
		h := fnv.New32a()
		_, _ = h.Write([]byte(word))
		out[h.Sum32()%dimensions]++
	}
	return Vector{Vector: out, Delay: delay}
}
