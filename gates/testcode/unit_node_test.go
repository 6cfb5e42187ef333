package testcode

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Hooks of ava and Playwright are not tests, and a test.describe of Playwright is a group.
func TestNodeHooks(t *testing.T) {
	const text = `
test.before(async t => { t.context.server = await start() })
test.serial.afterEach.always(t => { t.context.server.close() })
const same = test.macro((t, a, b) => { t.is(a, b) })
test.use({ locale: 'en' }, () => {})
test.beforeEach(async ({ page }) => { await page.goto('/') })
test('adds', t => { t.notDeepEqual(add(1, 2), [4]) })
test.describe('cart', () => {
  test('is empty', async ({ page }) => { await expect(page).toHaveTitle('x') })
})
`
	var got []string
	for _, u := range readNode(text).Units {
		got = append(got, u.Name)
		if u.Asserts == 0 {
			t.Errorf("%s: no assertion was found", u.Name)
		}
	}
	if diff := cmp.Diff([]string{"adds", "cart" + GroupMark + "is empty"}, got); diff != "" {
		t.Error(diff)
	}
}

// Functions taken from a module of assertions are assertions, under any name.
func TestNodeImportedAssertions(t *testing.T) {
	for _, head := range []string{
		"let { is, ok: same } = require('uvu/assert')", "import { is, equal as same } from 'node:assert/strict'",
		"import is, { ok } from 'tiny-assert'\nconst same = require(\"assert\")",
	} {
		u := readNode(head + "\ntest('adds', () => {\n  is(add(1, 2), 3)\n  same(add(2, 2), 4)\n  my.is(1)\n})\n").Units
		if len(u) != 1 || u[0].Asserts != 2 {
			t.Errorf("%s: %+v", head, u)
		}
	}
	if u := readNode("import { is } from './math.js'\ntest('adds', () => { is(1) })\n").Units; len(u) != 1 || u[0].Asserts != 0 {
		t.Errorf("a function of the project: %+v", u)
	}
}

// A suite of uvu, and a name for a test function that depends on the platform, make tests.
func TestNodeNamesOfTestFunctions(t *testing.T) {
	const text = `
let carts = suite(` + "`" + `${type} / carts` + "`" + `)
carts.before(() => { clear() })
carts('is empty', () => { assert.is(cart().length, 0) })
carts.run()
const slow = process.versions.node.startsWith('20.') ? test.skip : test;
slow('sends mail', async t => { t.is(await send(), 1) })
const found = /x/.test(text)
found(1, () => 2)
`
	var got []string
	for _, u := range readNode(text).Units {
		got = append(got, fmt.Sprint(u.Name, " ", u.Asserts, " ", u.Skips))
	}
	if diff := cmp.Diff([]string{"is empty 1 0", "sends mail 1 1"}, got); diff != "" {
		t.Error(diff)
	}
}

// A test that names its function checks what the function checks.
func TestNodeNamedFunctions(t *testing.T) {
	const text = `
const sum = async (t, [a, b], want) => {
  t.is(await add(a, b), want)
}
export function fails(t: Test, options: { a: number }): void {
  t.throws(() => add(options))
  t.pass()
}
const short: Macro<[number]> = (t, a) => t.is(add(a), a)
const nothing = t => { t.log('x') }
test('adds', sum, [1, 2], 3)
test('adds what a function returns', sum, () => [1, 2], 3)
test('fails', fails, {})
test('is short', short, 1)
test('checks nothing', nothing)
test('is elsewhere', other)
`
	var got []string
	for _, u := range readNode(text).Units {
		got = append(got, fmt.Sprintf("%s: %d, %v, %v", u.Name, u.Asserts, u.Hollow, u.Mute))
	}
	want := []string{"adds: 1, false, true", "adds what a function returns: 1, false, true", "fails: 1, false, true",
		"is short: 1, false, true", "checks nothing: 0, true, true", "is elsewhere: 0, false, false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
