package blueprint

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/knowledge/summary"
	"github.com/runplan/runplan/patterns"
)

const pythonUnit = `unit: orders
intent: {purpose: takes orders, cognitive_role: the counter}
interfaces:
  - type: http_rest
    endpoints: [{method: GET, path: "/v1/orders/{id}"}, {method: POST, path: /v1/orders}]
  - {type: direct_call, functions: [Book.add]}
dependencies:
  services: [{name: billing, client: shop_common.clients.BillingClient, calls: [charge]}]
  shared: [shop_common.models]
failure_modes:
  - {condition: billing is late, response: "504", exception: httpx.TimeoutException, status: 504}
  - {condition: no such order, response: "404", status: 404}
source_files:
  - {path: orders/router.py, role: router}
  - {path: orders/book.py, role: core}
contract:
  enums: [{name: State, members: [OPEN = open]}]
  constants: [{name: LIMIT, value: "10"}]
  models: [{name: Order, fields: [id]}]
meta: {confidence: {contract: 1}}
`

const pythonRouter = `"""Routes of the orders."""
import httpx
from fastapi import APIRouter, FastAPI, HTTPException
from shop_common.clients import BillingClient
from shop_common.models import Base
from .book import Book, State

router = APIRouter(prefix="/orders")
app = FastAPI()
app.include_router(router, prefix="/v1")
billing_client = BillingClient()
book = Book()


@router.get("/{id}")
async def show(id: int) -> dict:
    """Shows one."""
    if id not in book.orders:
        raise HTTPException(status_code=404)
    return {}


@router.post("")
async def take(order: dict) -> dict:
    """Takes one."""
    try:
        billing_client.charge(order)
    except httpx.TimeoutException as e:
        raise HTTPException(504) from e
    return {}
`

const pythonBook = `"""The book of orders."""
from enum import Enum

LIMIT = 10


class State(Enum):
    """Where an order stands."""
    OPEN = "open"


class Order:
    """One order."""
    id: int


class Book:
    """All of them."""

    def add(self, order: Order, *more: Order) -> None:
        """Adds one."""
`

func astGrep(t *testing.T) patterns.Program {
	t.Helper()
	tools, err := filepath.Abs("../../bin/tools")
	if err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"))
	p, err := patterns.Find(context.Background(), env, "")
	if err != nil {
		t.Skipf("ast-grep: %v; to install it: make tools", err)
	}
	p.Env = env
	return p
}

// The same promises are checked in Python: mounted routers, exceptions, clients, types.
func TestPython(t *testing.T) {
	p := astGrep(t)
	for _, c := range []struct {
		name, file, old, with string
		want                  []string // rules of errors
	}{
		{"as promised", "", "", "", nil},
		{"wrong path", "router", `"/{id}"`, `"/one/{id}"`, []string{RuleEndpoint, RuleUndeclared}},
		{"other parameter", "router", `"/{id}"`, `"/{number}"`, []string{RuleEndpoint, RuleUndeclared}},
		{"wrong method", "router", `router.post("")`, `router.put("")`, []string{RuleEndpoint, RuleUndeclared}},
		{"not mounted", "router", `, prefix="/v1"`, ``, []string{RuleEndpoint, RuleEndpoint, RuleUndeclared, RuleUndeclared}},
		{"another exception", "router", `except httpx.TimeoutException`, `except ValueError`, []string{RuleFailure}},
		{"another answer", "router", `HTTPException(504)`, `HTTPException(500)`, []string{RuleResponse}},
		{"no guard", "router", `status_code=404`, `status_code=410`, []string{RuleFailure}},
		{"only in a comment", "router", `raise HTTPException(504) from e`, "pass  # HTTPException(504)",
			[]string{RuleResponse}},
		{"by hand", "router", `billing_client.charge(order)`,
			`billing_client.charge(order); httpx.post("http://billing/charge", json=order)`, []string{RuleRawHTTP}},
		{"another unit", "router", `from .book`, "from stock.core import Stock\nfrom .book", []string{RuleImport}},
		{"another client", "router", `billing_client.charge(order)`, `stock_client.take(order)`, []string{RuleDependency}},
		{"no types", "router", `take(order: dict) -> dict`, `take(order)`, []string{RuleUntyped}},
		{"renamed", "book", `def add(`, `def append(`, []string{RuleInterface}},
		{"another value", "book", `OPEN = "open"`, `OPEN = "o"`, []string{RuleContract}},
		{"no field", "book", `    id: int`, `    number: int`, []string{RuleContract}},
		{"another limit", "book", `LIMIT = 10`, `LIMIT = 11`, []string{RuleContract}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			texts := map[string]string{"router": pythonRouter, "book": pythonBook}
			if c.file != "" && !strings.Contains(texts[c.file], c.old) {
				t.Fatalf("no %q", c.old)
			}
			texts[c.file] = strings.Replace(texts[c.file], c.old, c.with, 1)
			put(t, root, "orders/router.py", texts["router"])
			put(t, root, "orders/book.py", texts["book"])
			put(t, root, "shop_common/clients.py", "class BillingClient: ...\n")
			put(t, root, "stock/core.py", "class Stock: ...\n")
			put(t, root, PathOf("orders", Candidate), pythonUnit)
			b, err := Load(root, "orders", Candidate)
			if err != nil {
				t.Fatal(err)
			}
			res, err := Check(context.Background(), b, Candidate,
				summary.Options{Root: root, Program: p, Own: summary.Own(os.DirFS(root))})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range res.Findings {
				if f.Severity == gates.Error {
					got = append(got, f.Rule)
				}
			}
			slices.Sort(got)
			if d := cmp.Diff(slices.Sorted(slices.Values(c.want)), got); d != "" || len(res.Unseen) > 0 {
				t.Errorf("%s\n%+v\nunseen %v", d, res.Findings, res.Unseen)
			}
		})
	}
}
