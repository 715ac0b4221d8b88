package storage

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// plain writes one file after the other from front to back, as dd does: what the log is measured against.
type plain struct {
	path string
	flag int
	file *os.File
	off  int64
	buf  []byte // at a multiple of 4096, as O_DIRECT needs it
}

func newPlain(b *testing.B, name string, flag, bytes int) *plain {
	p := &plain{path: filepath.Join(b.TempDir(), name), flag: flag}
	p.buf = make([]byte, bytes+2*4096)
	p.buf = p.buf[-uintptr(unsafe.Pointer(&p.buf[0]))%4096:][:bytes]
	for i := range p.buf {
		p.buf[i] = byte(i)
	}
	if flag&syscall.O_DIRECT != 0 {
		p.buf = p.buf[:(bytes+511)&^511]
	}
	p.open(b)
	b.Cleanup(func() { p.file.Close() })
	return p
}

func (p *plain) open(b *testing.B) {
	f, err := os.OpenFile(p.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|p.flag, 0o600)
	if err != nil {
		b.Skipf("no plain writer to compare with: %v", err)
	}
	p.file, p.off = f, 0
}

// batch writes and syncs.
func (p *plain) batch(b *testing.B) {
	_, err := p.file.WriteAt(p.buf, p.off)
	noError(b, err)
	noError(b, syscall.Fdatasync(int(p.file.Fd())))
	p.off += int64(len(p.buf))
}

func (p *plain) roll(b *testing.B) {
	if p.off > defaultSegmentBytes {
		noError(b, p.file.Close())
		p.open(b)
	}
}

// BenchmarkLogAgainstPlainWriter writes batches to a log, and in turn with it as many bytes of payload to plain files, one
// buffered and one direct, with the same syncs. The figures are payload bytes per second by the median batch, and the
// log's share of the better of the two: of Write alone, as when another goroutine appends meanwhile, and of both one after
// the other.
func BenchmarkLogAgainstPlainWriter(b *testing.B) {
	for _, size := range []int{128, 1024, 10_000} {
		for _, batch := range []int{10_000, 100_000, 1_000_000, 4_000_000} {
			b.Run(fmt.Sprintf("size=%d/batch=%d", size, batch), func(b *testing.B) { compare(b, size, max(1, batch/size)) })
		}
	}
}

func compare(b *testing.B, size, count int) {
	l, _, err := Open(filepath.Join(b.TempDir(), "log"), Options{})
	noError(b, err)
	r := Record{Version: Version{Epoch: 1}, Sender: 1, Channel: 2, Writer: 3, Payload: make([]byte, size)}
	buffered, direct := newPlain(b, "buffered", 0, size*count), newPlain(b, "direct", syscall.O_DIRECT, size*count)
	var batch Batch
	fill := func() {
		batch.Reset()
		for range count {
			r.Seq++
			r.WriterSeq++
			r.Timestamp += 1000
			if err := batch.Append(&r); err != nil {
				b.Fatal(err)
			}
		}
	}
	write := func() {
		_, err := l.Write(&batch)
		noError(b, err)
	}
	const filled, written, inBuffer, onDevice = 0, 1, 2, 3
	var took [4][]time.Duration
	timed := func(way int, f func()) {
		start := time.Now()
		f()
		took[way] = append(took[way], time.Since(start))
	}
	turns := []func(){
		func() { timed(filled, fill); timed(written, write) },
		func() { timed(inBuffer, func() { buffered.batch(b) }) },
		func() { timed(onDevice, func() { direct.batch(b) }) },
	}
	fill() // the batch grows to its size
	write()
	for i := 0; b.Loop(); i++ {
		for k := range turns {
			turns[(i+k)%len(turns)]()
		}
		buffered.roll(b)
		direct.roll(b)
	}
	noError(b, l.Close())
	var median [4]float64
	for way, t := range took {
		slices.Sort(t)
		median[way] = t[len(t)/2].Seconds()
	}
	mb := float64(size*count) / 1e6
	best := min(median[inBuffer], median[onDevice])
	b.ReportMetric(mb/median[written], "log-MB/s")
	b.ReportMetric(float64(count)/median[written], "log-records/s")
	b.ReportMetric(mb/median[inBuffer], "buffered-MB/s")
	b.ReportMetric(mb/median[onDevice], "direct-MB/s")
	b.ReportMetric(100*best/median[written], "%-of-plain")
	b.ReportMetric(100*best/(median[written]+median[filled]), "%-with-append")
}
