package smc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/sst"
)

// walk receives from a ring whose bytes and counters may be anything. It ends after at most one
// record per slot, and says so if it does not.
func walk(t *testing.T, ring []byte, tail, next uint64) {
	region := rdma.NewHeapRegion(rdma.Shape{Cells: 32, Ring: rdma.CellAlign})
	copy(region.Ring(), ring)
	region.Cell(sst.Tail).Store(tail)
	region.Cell(sst.Next).Store(next)
	r := NewReceiver(region)
	r.Poll()
	for n := 0; ; n++ {
		rec, err := r.Peek()
		if rec == nil || err != nil {
			return
		}
		if n > len(region.Ring())/SlotBytes {
			t.Fatal("more records than slots")
		}
		for range rec.Payload { // all of it lies in the ring
		}
		r.Take()
	}
}

func FuzzReceiver(f *testing.F) {
	e := newEnds(rdma.CellAlign)
	for _, s := range []string{"", "a", string(make([]byte, 500))} {
		e.send(f, s)
	}
	good := e.s.Region().Ring()[:e.s.Sent()]
	f.Add(append([]byte(nil), good...), e.s.Sent(), uint64(3))
	f.Add(make([]byte, 64), uint64(64), uint64(0))
	f.Add([]byte{}, ^uint64(0), sst.Forever)
	f.Fuzz(func(t *testing.T, ring []byte, tail, next uint64) {
		walk(t, ring, tail, next)
		walk(t, ring, tail%(rdma.CellAlign+SlotBytes), next)
	})
}

func TestDamagedRings(t *testing.T) {
	record := func(change func(b []byte)) []byte {
		b := make([]byte, rdma.CellAlign)
		putHeader(b, recMessage, 2, 50, &Header{})
		change(b)
		return b
	}
	for _, c := range []struct {
		name string
		ring []byte
		tail uint64
	}{
		{"tail within a slot", record(func([]byte) {}), 60},
		{"record beyond the tail", record(func([]byte) {}), 64},
		{"no slots", record(func(b []byte) { b[36] = 0 }), 128},
		{"more slots than the ring", record(func(b []byte) { b[39] = 0xff }), 128},
		{"payload beyond the record", record(func(b []byte) { b[0] = 200 }), 128},
		{"huge payload", record(func(b []byte) { b[3] = 0xff }), 128},
		{"unknown kind", record(func(b []byte) { b[32] = 99 }), 128},
		{"nothing there", make([]byte, rdma.CellAlign), 64},
		{"tail a ring too far", record(func([]byte) {}), rdma.CellAlign + 64},
		{"tail at the end of the world", record(func([]byte) {}), ^uint64(63)},
	} {
		t.Run(c.name, func(t *testing.T) {
			region := rdma.NewHeapRegion(rdma.Shape{Cells: 32, Ring: rdma.CellAlign})
			copy(region.Ring(), c.ring)
			region.Cell(sst.Tail).Store(c.tail)
			r := NewReceiver(region)
			r.Poll()
			rec, err := r.Peek()
			require.Error(t, err)
			require.Nil(t, rec)
			_, err = r.Peek()
			require.Error(t, err, "the error is final")
		})
	}
}

func TestIndicesAscend(t *testing.T) {
	e := newEnds(rdma.CellAlign)
	e.send(t, "a")
	e.send(t, "b")
	putIndex(e.s.Region().Ring()[SlotBytes:], 0)
	e.r.Poll()
	_, err := e.r.Peek()
	require.NoError(t, err)
	e.r.Take()
	_, err = e.r.Peek()
	require.ErrorContains(t, err, "index 0 after 1")
}
