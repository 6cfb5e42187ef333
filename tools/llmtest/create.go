package llmtest

import (
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/ollama/ollama/api"
)

// models returns the models of the script and those created later.
func (s *Server) models() []Model {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(s.script.Models)
	for _, name := range slices.Sorted(maps.Keys(s.made)) {
		all = append(all, s.made[name])
	}
	return all
}

// blob receives a file whose name is its digest. It does not store the contents.
func (s *Server) blob(w http.ResponseWriter, r *http.Request) {
	sum := sha256.New()
	n, err := io.Copy(sum, r.Body)
	_, _ = s.note(r, nil)
	digest := r.PathValue("digest")
	switch {
	case err != nil:
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	case digest != fmt.Sprintf("sha256:%x", sum.Sum(nil)):
		refuse(w, http.StatusBadRequest, fmt.Sprintf("digest mismatch, expected %q", digest))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.blobs == nil {
		s.blobs = map[string]int{}
	}
	s.blobs[digest] = int(n)
	w.WriteHeader(http.StatusCreated)
}

// create creates a model from another model and an adapter, as far as clients can observe: it has a name and gives the
// answers of the script. As on the real server, a bad adapter shows only when the model is asked.
func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	var req api.CreateRequest
	if _, err := s.note(r, &req); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	base, ok := s.model(req.From)
	if !ok {
		// The real server would download it. Callers must not rely on that.
		refuse(w, http.StatusInternalServerError, "pull model manifest: file does not exist")
		return
	}
	if len(req.Adapters) > 1 {
		refuse(w, http.StatusBadRequest, "only one adapter is currently supported")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, digest := range req.Adapters {
		if _, there := s.blobs[digest]; !there {
			refuse(w, http.StatusBadRequest, "blob "+digest+" not found")
			return
		}
	}
	base.Name, base.adapted = req.Model, len(req.Adapters) > 0
	if s.made == nil {
		s.made = map[string]Model{}
	}
	s.made[req.Model] = base
	reply(w, http.StatusOK, map[string]string{"status": "success"})
}

// remove deletes a created model.
func (s *Server) remove(w http.ResponseWriter, r *http.Request) {
	var req api.DeleteRequest
	if _, err := s.note(r, &req); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.made[req.Model]; !ok {
		refuse(w, http.StatusNotFound, fmt.Sprintf("model '%s' not found", req.Model))
		return
	}
	delete(s.made, req.Model)
	w.WriteHeader(http.StatusOK)
}
