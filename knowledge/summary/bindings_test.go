package summary

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Calls to other units are recognized by the type of a variable and by imports, not by the name of the variable
// (BP-26).
func TestClientCallsByType(t *testing.T) {
	p := program(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"constructed.py": "from app.clients.billing import BillingClient\n\nasync def pay(id):\n    billing = " +
			"BillingClient()\n    await billing.refund(id)\n",
		"function.py": "from app.clients import call_mcp\n\nasync def pay(id):\n    return await call_mcp('billing', id)\n",
		"with.py": "import httpx\n\nasync def pay(url):\n    async with httpx.AsyncClient() as c:\n        await " +
			"c.get(url)\n",
		"field.py": "from app.clients import StockClient\n\nclass Orders:\n    def __init__(self):\n        " +
			"self.stock = StockClient()\n\n    def take(self):\n        self.stock.reserve(1)\n",
		"parameter.py": "from app.clients import StockClient\n\ndef take(stock: StockClient):\n    stock.reserve(1)\n",
		"library.py":   "from redis import RedisClient\n\ndef take():\n    cache = RedisClient()\n    cache.fetch(1)\n",
		"other.py":     "from app.shop import Cart\n\ndef take():\n    cart = Cart()\n    cart.add(1)\n",
		"constructed.go": "package a\n\nimport \"example.org/app/billing\"\n\nfunc Pay() {\n\tb := " +
			"billing.NewClient()\n\tb.Refund(1)\n}\n",
		"field.go": "package a\n\nimport \"example.org/app/billing\"\n\ntype S struct {\n\tpay " +
			"*billing.Client\n}\n\nfunc (s *S) Pay() { s.pay.Refund(1) }\n",
		"constructed.ts": "import { BillingClient } from './clients/billing';\n\nexport async function pay(id: string) {\n " +
			" const b = new BillingClient();\n  await b.refund(id);\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string][]string{
		"constructed.py": {"client BillingClient refund"},
		"function.py":    {"client call_mcp call_mcp"},
		"with.py":        {"http  AsyncClient", "http url GET"},
		"field.py":       {"client StockClient reserve"},
		"parameter.py":   {"client StockClient reserve"},
		"constructed.go": {"client billing Refund"},
		"field.go":       {"client billing Refund"},
		"constructed.ts": {"client BillingClient refund"},
	}
	for _, f := range summarize(t, dir, Options{Program: p, Own: []string{"app", "example.org/app"}}) {
		var got []string
		for _, c := range f.HTTPCalls {
			got = append(got, c.Kind+" "+c.Target+" "+c.Method)
		}
		if diff := cmp.Diff(want[f.Path], got); diff != "" {
			t.Errorf("%s: %s", f.Path, diff)
		}
	}
}
