package page

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/runplan/runplan/internal/web"
)

// runsView is the list of runs.
type runsView struct {
	Runs  []listed
	Older int
	Empty bool
}

func (s *site) runsParts(ctx context.Context) (runsView, []web.Part, error) {
	list, older, err := s.hub.runs(ctx)
	if errors.Is(err, errNoRuns) {
		list, older, err = nil, 0, nil
	}
	if err != nil {
		return runsView{}, nil, err
	}
	v := runsView{list, older, len(list) == 0}
	k := sketch{site: s}
	k.add("runs-head", "runs-head", "", v)
	for _, l := range list {
		k.add("run-"+short(l.Run), "runs-row", "runs", l)
	}
	for i := range k.parts {
		k.parts[i].Top = k.parts[i].In != ""
	}
	return v, k.parts, k.err
}

func (s *site) showRuns(w http.ResponseWriter, r *http.Request) {
	v, parts, err := s.runsParts(r.Context())
	if err != nil {
		web.Refuse(w, http.StatusInternalServerError, "The runs could not be read", err.Error())
		return
	}
	s.show(w, r, "runs", sheet{Title: "Runs", Section: "runs", Live: live(r), View: v}, parts)
}

func (s *site) liveRuns(w http.ResponseWriter, r *http.Request) {
	said := map[string]string{}
	s.stream(w, r, func(ctx context.Context, last string) (web.Look, error) {
		v, parts, err := s.runsParts(ctx)
		if err != nil {
			return web.Look{}, err
		}
		look := web.Look{Stamp: web.Version(parts), Parts: parts}
		for _, l := range v.Runs {
			if was, ok := said[l.Run]; ok && was != l.Face.Word {
				look.Said = fmt.Sprintf("%s: %s", l.Title, l.Face.Word)
			}
			said[l.Run] = l.Face.Word
		}
		return look, nil
	})
}
