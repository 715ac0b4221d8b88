package idlc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/cdr"
	tt "github.com/omg-dds-go/dds/idlc/internal/testtypes"
)

// upToNames is a builder whose members before the sequence of names are set.
func upToNames(buf []byte) tt.CollectionsBuilder {
	b := tt.NewCollectionsBuilder(buf)
	b.SetID(1)
	b.SetBlob(nil)
	b.SetDoubles(nil)
	b.SetFlags(nil)
	b.SetSwitches(&[3]bool{})
	b.SetMac(&[6]byte{})
	b.SetGrid(&[2][3]int32{})
	b.SetMatrix(&tt.Matrix{})
	return b
}

// TestElementsAreAddedOneByOne: that the bytes are those of the encoder is what TestGenerated shows for all types.
func TestElementsAreAddedOneByOne(t *testing.T) {
	buf := make([]byte, 1<<10)
	require.Zero(t, testing.AllocsPerRun(10, func() {
		b := upToNames(buf)
		b.BeginNames(3)
		b.AddNames("one")
		b.AddNames("two")
		b.AddNames("three")
		b.SetLabels(&[2]string{"a", "b"})
		b.SetWides(nil)
		b.SetColors(nil)
		b.SetTinies(&[3]tt.Tiny{tt.TinyFive, tt.TinyFive, tt.TinyFive})
		b.SetSmalls(nil)
		b.BeginPoints(2)
		for i := range 2 {
			b.AddPoints(&tt.Point{Quality: byte(i)})
		}
	}))
	for _, c := range []struct {
		name string
		add  func(b *tt.CollectionsBuilder)
		text string
	}{
		{"too few", func(b *tt.CollectionsBuilder) { b.BeginNames(3); b.AddNames("a") }, "names: 2 of its 3 elements are not added"},
		{"too few before the next", func(b *tt.CollectionsBuilder) { b.BeginNames(1); b.SetLabels(&[2]string{}) }, "names: 1 of its 1 elements are not added"},
		{"too many", func(b *tt.CollectionsBuilder) { b.BeginNames(1); b.AddNames("a"); b.AddNames("b") }, "names: an element more than it was begun with"},
		{"not begun", func(b *tt.CollectionsBuilder) { b.AddNames("a") }, "names: an element more than it was begun with"},
		{"of another", func(b *tt.CollectionsBuilder) { b.BeginNames(1); b.AddPoints(&tt.Point{}) }, "points: an element more than it was begun with"},
		{"above the bound", func(b *tt.CollectionsBuilder) { b.BeginNames(5) }, "names: sequence of 5 elements exceeds its bound of 4"},
		{"negative", func(b *tt.CollectionsBuilder) { b.BeginNames(-1) }, "names: sequence of -1 elements exceeds 4294967295"},
		{"an element above its bound", func(b *tt.CollectionsBuilder) { b.BeginNames(2); b.AddNames("a"); b.AddNames("123456789") },
			"names[1]: string of 9 bytes exceeds its bound of 8"},
		{"begun twice", func(b *tt.CollectionsBuilder) { b.BeginNames(0); b.BeginNames(0) }, "names: set twice; a member of variable size is set once"},
		{"out of order", func(b *tt.CollectionsBuilder) { b.BeginPoints(0) },
			"points: set too early; members of variable size before it come first, in the order of their declaration"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := upToNames(make([]byte, 256))
			c.add(&b)
			_, err := b.Finish()
			require.EqualError(t, err, "cdr: build testtypes::Collections."+c.text)
		})
	}
	var zero tt.CollectionsBuilder
	zero.BeginNames(1)
	zero.AddNames("a")
	_, err := zero.Finish()
	require.ErrorIs(t, err, cdr.ErrMember)
}
