// Package orders serves orders.
package orders

import (
	"context"
	"errors"
	"net/http"

	"example.org/shop/billing"
)

type Status int

const (
	Open Status = iota
	Closed
)
const Max = 10
const (
	Big = 1 << iota
	Bigger
)

type Kind string

const (
	KA Kind = "a"
	KB      = Kind("b")
)

// Order is one.
type Order struct {
	ID int `json:"id"`
	Base
}

var ErrGone = errors.New("gone")

// Routes does.
func Routes(mux *http.ServeMux, s *Server) {
	mux.HandleFunc("GET /orders/{id}", s.get)
	r.HandleFunc("/x", s.x).Methods("POST", http.MethodPut)
	r.Get("/chi/{id}", s.chi)
}
func (s *Server) get(w http.ResponseWriter, r *http.Request) {
	localVariable := "SECRET-BODY" // secret comment
	o, err := s.store.Get(1)
	if errors.Is(err, ErrGone) {
		http.Error(w, "x", http.StatusGone)
		return
	}
	if err != nil {
		w.WriteHeader(500)
		return
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		http.Error(w, "x", http.StatusGatewayTimeout)
	}
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/x", nil)
	s.client.Do(req)
	s.billingClient.Charge(1)
}
