package outline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// signatures returns the symbols as lines with extent, name and signature.
func (o Outline) signatures() string {
	list := strings.Split(strings.TrimSuffix(o.list(), "\n"), "\n")
	for i, s := range o.Symbols {
		list[i] += " | " + s.Signature
	}
	return strings.Join(list, "\n") + "\n"
}

// A function that is the value of a property, or of a key of an object, has all of its lines, and one name.
func TestAssignedFunctions(t *testing.T) {
	o := of(t, "a.js", `/**
 * Reads.
 */
exports.h = async () => {
  return 1;
};
Foo.prototype.bar = function () {
  return 1 +
    2;
};
req.get = req.header = function header(name) {
  return name;
};
module.exports.a = function* (
  a,
) {
  return a;
};
obj['x-y'] ??= (a) => {
  return a;
};
const api = {
  close: async () => {
    return 1;
  },
  open() {
    return 1;
  },
  'q-r': function q() {
    return 1;
  },
  one: () => 1,
};
module.exports = function create() {
  return 1;
};
const two = function named() {
  return 1;
};
`)
	want := `4-6 function h | exports.h = async ()
7-10 function bar | Foo.prototype.bar = function ()
11-13 function header | req.header = function header(name)
14-18 function a | module.exports.a = function* ( a, )
19-21 function x-y | obj['x-y'] ??= (a)
22-33 variable api | const api = {
23-25 function close | close: async ()
26-28 method open | open()
29-31 function q-r | 'q-r': function q()
34-36 function create | function create()
37-39 function two | two = function named()
`
	if d := cmp.Diff(want, o.signatures()); d != "" {
		t.Error(d)
	}
	if len(o.Docs) != 1 || o.Docs[0].Symbol != 0 {
		t.Errorf("%+v", o.Docs)
	}
}

// A signature without a body ends where it ends, with or without a semicolon, and is shown as it is written.
func TestSignaturesOverSeveralLines(t *testing.T) {
	o := of(t, "a.ts", `export function over(
  a: string,
): string
export function over(
  a: number
): Promise<{
  ok: boolean
}>;
export function over(a: any): any {
  return a
}
abstract class Q<in out T> {
  abstract run(
    a: T,
  ): Promise<void>;
  once(
    x: string
  ): void
  once(x: any): { a: number } {
    return x
  }
}
interface I {
  find(
    a: string
  ): Promise<string>
}
declare function amb(
  a: string,
): void;
type Opt<in T, out U> = { a: T };
function gen<T extends { a: 1 }>(x: T): { b: number } {
  return x
}
`)
	want := `1-3 function over | function over( a: string, ): string
4-8 function over | function over( a: number ): Promise<{ ok: boolean }>
9-11 function over | function over(a: any): any
12-22 class Q | abstract class Q<in out T>
13-15 method Q.run | run( a: T, ): Promise<void>
16-18 method Q.once | once( x: string ): void
19-21 method Q.once | once(x: any): { a: number }
23-27 interface I | interface I
24-26 method I.find | find( a: string ): Promise<string>
28-30 function amb | function amb( a: string, ): void
31-31 type_alias Opt | type Opt<in T, out U> = { a: T }
32-34 function gen | function gen<T extends { a: 1 }>(x: T): { b: number }
`
	if d := cmp.Diff(want, o.signatures()); d != "" {
		t.Error(d)
	}
}
