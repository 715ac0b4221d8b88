package idlc

import (
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/omg-dds-go/dds/cdr"
	ct "github.com/omg-dds-go/dds/idlc/internal/testtypes/constructs"
	"github.com/stretchr/testify/require"
)

// walkNest reads all that is in a Nest, in loops and by index, and gives a sum that depends on it.
func walkNest(v ct.NestView, buf []byte) (sum int) {
	for i, row := range v.Ragged().All() {
		for _, n := range row.All() {
			sum += int(n)
		}
		sum += v.Ragged().At(i).Len()
	}
	matrix := func(m ct.MatrixViews) {
		for i, row := range m.All() {
			for j := range row.Len() {
				sum += int(m.At(i).At(j))
			}
		}
	}
	matrix(v.Matrix())
	if m, ok := v.Maybe(); ok {
		matrix(m)
	}
	for _, a := range v.Deep().All() {
		for _, b := range a.All() {
			for _, s := range b.All() {
				sum += len(s)
			}
		}
	}
	for _, m := range v.Grid().All() {
		matrix(m)
	}
	for i := range v.Triples().Len() {
		sum += int(v.Triples().At(i).At(2))
	}
	for _, p := range v.Pair().All() {
		sum += int(p.At(0))
	}
	for k, m := range v.Sheets().All() {
		sum += len(k)
		matrix(m)
	}
	if m, ok := v.Same().Get("xyz"); ok {
		matrix(m)
	}
	for _, m := range v.Maps().All() {
		for k, s := range m.All() {
			sum += int(k) + len(s)
		}
	}
	for k, s := range v.Wide().All() {
		buf = s.AppendTo(k.AppendTo(buf[:0]))
		sum += len(buf)
	}
	for _, s := range v.Wides().All() {
		sum += len(s.AppendTo(buf[:0]))
	}
	for _, s := range v.Names().All() {
		sum += len(s.AppendTo(buf[:0]))
	}
	if v.Name().Is("dü") {
		sum++
	}
	for i, p := range v.Prices().All() {
		if p == v.Prices().At(i) {
			sum++
		}
	}
	for _, row := range v.Bigs().All() {
		for _, b := range row.All() {
			sum += int(b[15])
		}
	}
	for _, path := range v.Paths().All() {
		for i, p := range path.All() {
			sum += int(p.X()) + int(path.At(i).Quality())
		}
	}
	for _, labels := range v.Labels().All() {
		for _, l := range labels.All() {
			sum += len(l.Text()) + int(l.Weight())
		}
	}
	for c, items := range v.Items().All() {
		sum += int(c)
		for _, i := range items.All() {
			sum += int(i.Discriminator())
			if words, ok := i.Words(); ok {
				sum += words.Len()
			}
		}
	}
	for _, row := range v.Access().All() {
		for _, a := range row.All() {
			sum += int(a)
		}
	}
	for _, b := range v.Blobs().All() {
		sum += len(b)
	}
	for _, b := range v.Bools().All() {
		sum += b.Len()
	}
	for _, c := range v.Colors().All() {
		for _, c := range c.All() {
			sum += int(c)
		}
	}
	return sum + int(v.Last())
}

// TestViewsOfCollectionsDoNotAllocate, whatever the encoding.
func TestViewsOfCollectionsDoNotAllocate(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 12))
	buf := make([]byte, 64)
	for range 20 {
		var n ct.Nest
		fill(rnd, reflect.ValueOf(&n).Elem(), 0)
		want := -1
		for _, enc := range encapsulations(n.CDRType()) {
			sample, err := cdr.Marshal(&n, enc)
			require.NoError(t, err)
			sum := 0
			require.Zero(t, testing.AllocsPerRun(10, func() {
				v, err := ct.NewNestView(sample)
				if err != nil {
					panic(err)
				}
				sum = walkNest(v, buf)
			}), enc)
			if want < 0 {
				want = sum
			}
			require.Equal(t, want, sum, enc)
		}
	}
}

// TestViewsOfMapsLikeDecoding: of pairs with one key, the last counts, as in the map that decoding makes.
func TestViewsOfMapsLikeDecoding(t *testing.T) {
	one, err := cdr.Marshal(&ct.LooseMaps{Numbers: map[int32]float64{1: 4, 7: 5}}, cdr.PLCDR2LE)
	require.NoError(t, err)
	for i := range one { // key 7 becomes key 1
		if i+4 <= len(one) && string(one[i:i+4]) == "\x07\x00\x00\x00" {
			one[i] = 1
			break
		}
	}
	var m ct.LooseMaps
	require.NoError(t, cdr.Unmarshal(one, &m))
	require.Equal(t, map[int32]float64{1: 5}, m.Numbers)
	v, err := ct.NewLooseMapsView(one)
	require.NoError(t, err)
	got, ok := v.Numbers().Get(1)
	require.True(t, ok)
	require.Equal(t, 5.0, got)
	require.Equal(t, 2, v.Numbers().Len())
}

// TestWritersDoNotCompareKeys: pairs with one key that a writer is given are what a decoder meets in any sample of a
// stranger, and the last counts.
func TestWritersDoNotCompareKeys(t *testing.T) {
	for _, enc := range encapsulations(new(ct.LooseMaps).CDRType()) {
		var s cdr.Stream
		buf := make([]byte, 1000)
		w := ct.NewLooseMapsWriter(&s, buf, enc)
		w.BeginNumbers(3)
		w.AddNumbers(1, 4)
		w.AddNumbers(2, 6)
		w.AddNumbers(1, 5)
		var rest ct.LooseMaps
		w.SetBits(rest.Bits)
		w.SetAccess(rest.Access)
		w.SetLarge(rest.Large)
		w.SetPacked(&rest.Packed)
		w.SetItem(&rest.Item)
		w.SetList(rest.List)
		n, err := w.Finish()
		require.NoError(t, err)
		var m ct.LooseMaps
		require.NoError(t, cdr.Unmarshal(buf[:n], &m))
		require.Equal(t, map[int32]float64{1: 5, 2: 6}, m.Numbers)
		v, err := ct.NewLooseMapsView(buf[:n])
		require.NoError(t, err)
		got, ok := v.Numbers().Get(1)
		require.True(t, ok)
		require.Equal(t, 5.0, got)
	}
}

func TestCollectionNamesClash(t *testing.T) {
	read := func(string) ([]byte, error) {
		return []byte(`struct SM { long x; }; struct S { sequence<sequence<long>> m; }; typedef sequence<sequence<long>> T; struct TViews { long x; };`), nil
	}
	_, report := Compile("clash.idl", Options{ReadFile: read})
	require.Contains(t, report.String(), "SM and S::m both need the Go name SMViews")
	require.Contains(t, report.String(), "T and TViews both need the Go name TViews")
}

// TestKeyOfSmallSampleIsSmall: elements whose members are absent take four bytes in a sample, and all of their size in its key.
func TestKeyOfSmallSampleIsSmall(t *testing.T) {
	const n = 1 << 16
	u32 := binary.LittleEndian.AppendUint32
	b := []byte{0, 9, 0, 0} // DELIMITED_CDR2_LE
	for _, x := range []uint32{8 + 4*n, 4 + 4*n, n} {
		b = u32(b, x)
	}
	b = append(b, make([]byte, 4*n)...)
	var m ct.BulkyKeys
	require.ErrorIs(t, cdr.Unmarshal(b, &m), cdr.ErrBound)
	_, err := cdr.KeyFromSample(nil, &m, b)
	require.ErrorIs(t, err, cdr.ErrBound)
	require.ErrorContains(t, err, "parts: sequence of 65536 elements of 4096 bytes in memory")
}
