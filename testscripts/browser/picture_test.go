package browser

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"maps"
	"slices"
	"testing"
)

// small returns a PNG of a picture with a palette of at most 256 colors. All other colors become the nearest one: a
// page has few colors except at the edges of its letters.
func small(t *testing.T, file []byte) []byte {
	t.Helper()
	from, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	area, count := from.Bounds(), map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(from.At(x, y)).(color.RGBA) }
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			count[at(x, y)]++
		}
	}
	palette := paletteOf(count)
	index := map[color.RGBA]uint8{}
	for c := range count {
		index[c] = uint8(palette.Index(c))
	}
	to := image.NewPaletted(area, palette)
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			to.SetColorIndex(x, y, index[at(x, y)])
		}
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, to); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// paletteOf chooses up to 256 colors one after the other: always the one whose pixels are furthest from the chosen
// colors.
func paletteOf(count map[color.RGBA]int) color.Palette {
	colors := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	far := make([]int, len(colors)) // square of the distance to the nearest chosen color
	for i := range far {
		far[i] = 3 * 255 * 255
	}
	var palette color.Palette
	for next := 0; len(palette) < 256 && far[next] > 0; {
		c := colors[next]
		palette = append(palette, c)
		next = 0
		for i, o := range colors {
			r, g, b := int(c.R)-int(o.R), int(c.G)-int(o.G), int(c.B)-int(o.B)
			if far[i] = min(far[i], r*r+g*g+b*b); far[i]*count[o] > far[next]*count[colors[next]] {
				next = i
			}
		}
	}
	return palette
}

func TestSmallReducesColors(t *testing.T) {
	page := image.NewRGBA(image.Rect(0, 0, 40, 40))
	for i := range 40 * 40 {
		page.Set(i%40, i/40, color.RGBA{uint8(i % 40), uint8(i / 40), 9, 255}) // 1600 colors
	}
	for x := range 40 {
		page.Set(x, 0, color.White)
	}
	var file bytes.Buffer
	if err := png.Encode(&file, page); err != nil {
		t.Fatal(err)
	}
	got, err := png.Decode(bytes.NewReader(small(t, file.Bytes())))
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := got.(*image.Paletted); !ok || len(p.Palette) != 256 || got.Bounds() != page.Bounds() {
		t.Fatalf("it is %T of %v", got, got.Bounds())
	}
	if r, g, b, _ := got.At(7, 0).RGBA(); r != 0xffff || g != 0xffff || b != 0xffff {
		t.Errorf("the most frequent color became %x %x %x", r, g, b)
	}
}
