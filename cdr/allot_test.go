package cdr

import (
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// bulky is large in memory, and in a sample four bytes if its members are absent:
//
//	@appendable struct Bulky { octet blob[4096]; };
//	@final struct Bulk { sequence<sequence<Bulky>> parts; };
type bulky struct{ blob [4096]byte }

func (m *bulky) UnmarshalCDR(d *Decoder) {
	s := d.Begin(Appendable)
	DecodeArray(d, "blob", m.blob[:])
	d.End(s)
}

type bulk struct{ parts [][]bulky }

var bulkType = Define(TypeInfo{Name: "Bulk", MaxSize: -1, Text: "Bulk"})

func (*bulk) CDRType() *TypeInfo { return bulkType }

func (m *bulk) UnmarshalCDR(d *Decoder) {
	n, s := d.BeginSequence("parts", 0, 4, false)
	m.parts = GrowSequence(d, "parts", m.parts, n)
	for i := range m.parts {
		if !d.Enter() {
			break
		}
		n, s := d.BeginSequence("", 0, 4, false)
		m.parts[i] = GrowSequence(d, "", m.parts[i], n)
		for j := range m.parts[i] {
			if !d.Enter() {
				break
			}
			m.parts[i][j].UnmarshalCDR(d)
			d.LeaveElement("", j)
		}
		d.End(s)
		d.LeaveElement("parts", i)
	}
	d.End(s)
}

func (*bulk) MarshalCDR(*Encoder)                {}
func (*bulk) MarshalKeyCDR(*Encoder)             {}
func (*bulk) UnmarshalKeyCDR(*Decoder)           {}
func (*bulk) TranscodeKeyCDR(*Decoder, *Encoder) {}

// bulkSample has so many parts with so many absent elements each.
func bulkSample(parts, elements int) []byte {
	u32 := binary.LittleEndian.AppendUint32
	b := []byte{0, 7, 0, 0} // PLAIN_CDR2_LE
	b = u32(b, uint32(4+parts*(8+4*elements)))
	b = u32(b, uint32(parts))
	for range parts {
		b = u32(b, uint32(4+4*elements))
		b = u32(b, uint32(elements))
		for range elements {
			b = u32(b, 0)
		}
	}
	return b
}

// allocated is how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestSmallSampleAllocatesLittle(t *testing.T) {
	size := sizeOf[bulky]()
	for _, c := range []struct {
		name            string
		parts, elements int
		refused         string
	}{
		{"few", 1, 1000, ""},
		{"a thousand times its size", 1, 16000, "parts[0]"},
		{"in parts", 16, 1000, "parts["},
	} {
		t.Run(c.name, func(t *testing.T) {
			sample := bulkSample(c.parts, c.elements)
			limit := uint64(allotFloor + allotFactor*len(sample))
			var m bulk
			var err error
			took := allocated(func() { err = Unmarshal(sample, &m) })
			require.Less(t, took, limit+limit/4, "bytes, for a sample of %d", len(sample))
			if c.refused == "" {
				require.NoError(t, err)
				require.Len(t, m.parts[0], c.elements)
				return
			}
			require.Greater(t, uint64(c.parts*c.elements*size), limit, "or it is allowed")
			require.ErrorIs(t, err, ErrBound)
			require.ErrorContains(t, err, c.refused)
			require.ErrorContains(t, err, "of 4096 bytes in memory")
		})
	}
}

// What is there already is not allocated, and does not count.
func TestMemoryThatIsUsedAgainIsFree(t *testing.T) {
	m := bulk{parts: [][]bulky{make([]bulky, 16000)}}
	require.NoError(t, Unmarshal(bulkSample(1, 16000), &m))
	require.Len(t, m.parts[0], 16000)
}

// What is allocated is what was allotted for it, and no room for more, also where something was there.
func TestGrowAllocatesNoMore(t *testing.T) {
	for _, before := range []int{0, 1000} {
		s := make([]bulky, before)
		took := allocated(func() { s = Grow(s, 1001) })
		require.Len(t, s, 1001)
		require.Less(t, took, uint64(1010*sizeOf[bulky]()))
	}
}
