package storage

import (
	"fmt"
	"testing"
)

// BenchmarkSync appends a batch of 10 KB records and syncs it.
func BenchmarkSync(b *testing.B) {
	for _, count := range []int{1, 16, 100, 1000} {
		b.Run(fmt.Sprintf("batch=%d", count), func(b *testing.B) {
			l, _, err := Open(b.TempDir(), Options{})
			noError(b, err)
			r := Record{Payload: make([]byte, 10_000)}
			b.SetBytes(int64(count * len(r.Payload)))
			b.ReportAllocs()
			batch := func() {
				for range count {
					r.Seq++
					if err := l.Append(&r); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := l.Sync(); err != nil {
					b.Fatal(err)
				}
			}
			batch() // both buffers grow to their size
			batch()
			for b.Loop() {
				batch()
			}
			noError(b, l.Close())
		})
	}
}

// BenchmarkAppend is what the polling thread pays.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{128, 10_000} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			o := memOptions()
			o.SegmentBytes, o.BatchBytes = 64<<20, 1<<30
			l, _, err := Open("log", o)
			noError(b, err)
			r := Record{Payload: make([]byte, size)}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				r.Seq++
				if err := l.Append(&r); err != nil {
					b.Fatal(err)
				}
				if l.filling.Bytes() > 8<<20 { // what Sync does, without the disk
					l.filling.Reset()
				}
			}
		})
	}
}
