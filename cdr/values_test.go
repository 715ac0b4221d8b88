package cdr

import "testing"

func TestValues(t *testing.T) {
	little := Sample{body: unhex(t, "03000000 01000000 feffffff 00000080"), v2: true}
	big := Sample{body: unhex(t, "00000003 00000001 fffffffe 80000000"), v2: true, big: true}
	for _, s := range []Sample{little, big} {
		v := SequenceValues[int32](s, 0)
		want := []int32{1, -2, -1 << 31}
		equal(t, want, v.AppendTo(nil))
		equal(t, append([]int32{9}, want...), v.AppendTo([]int32{9}))
		for i, x := range v.All() {
			equal(t, want[i], x)
		}
		equal(t, 3, v.Len())
		equal(t, int32(0), v.At(3))
		equal(t, int32(0), v.At(-1))
	}
}

// TestSampleStaysInside reads at offsets and lengths that do not fit.
func TestSampleStaysInside(t *testing.T) {
	body := unhex(t, "ffffffff 7fffffff 04000000 61620000")
	for _, s := range []Sample{{}, {body: body}, {body: body, v2: true}, {body: body, big: true}} {
		for _, at := range []int32{Missing, -1 << 31, 0, 1, 4, 8, 12, 13, 15, 16, 17, 1<<31 - 1} {
			_ = s.Bool(at)
			_ = s.Int8(at)
			_ = s.Int16(at)
			_ = s.Int64(at)
			_ = s.Float32(at)
			_ = s.Float64(at)
			_ = s.Enum(at, 1, 0)
			_ = s.Enum(at, 2, 0)
			_ = s.Enum(at, 4, 0)
			_ = s.String(at)
			_ = s.WideString(at).String()
			_ = TrimWideString(s.WideString(at), 1).Is("x")
			_ = s.Bytes(at)
			_ = s.ArrayBytes(at, 3)
			_ = SequenceValues[uint64](s, at).AppendTo(nil)
			_ = ArrayValues[uint64](s, at, 2).At(1)
			_ = SequenceLongDoubles(s, at).At(1)
			_ = ArrayLongDoubles(s, at, 2).At(1)
			_ = SequenceBools(s, at).At(0)
			_ = SequenceEnums[int32](s, at, 4).At(0)
			_ = ArrayEnums[int32](s, at, 9, 4).At(8)
			_ = SequenceStrings(s, at).At(1)
			_ = ArrayStrings(s, at, 3).At(2)
			var d Decoder
			_ = s.Elements(at, &fixLayout).Seek(&d, 1)
			_ = s.ArrayElements(at, 2, &fixLayout).Seek(&d, 1)
			_ = s.Pairs(at, true).Seek(&d, 1)
		}
	}
	s := Sample{body: body}
	equal(t, "ab\x00", s.String(8))
}

var fixLayout = Layout{Align: [2]int{8, 4}, Size: [2]int{9, 9}, Stride: [2]int{16, 12}}
