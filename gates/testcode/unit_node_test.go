package testcode

import (
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
