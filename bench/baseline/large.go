package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omg-dds-go/dds/bench/internal/result"
)

// Large messages without a copy into each reader, in the two ways that there are
// (docs/adr/0018-samples-are-lent-from-the-ring.md).
//
// lent: the message is built in a ring, in which each reader looks at it, and the place is free again when all have
// said how far they are.
// pool: it is built in a chunk of a pool, the ring has the number of the chunk, and each reader counts the chunk down;
// who counts to zero frees it. The sender takes the chunk that was freed last, which is likely to be in its cache
// still.
//
// Both have as many bytes. The bells are those of ring.

// The lines and bytes of the memory. Those of lines below ringLines are as in ring.
const (
	numberLines = 64   // from here: the chunk of message n, at n modulo the number of chunks
	mostChunks  = 4096 // numbers, and then as many counts
	largeData   = (numberLines + 2*mostChunks) * cacheLine
	mostLarge   = 8         // readers
	atLeast     = 8         // messages that there is room for
	ringOfDDS   = 1 << 20   // bytes; what a writer has by default, if so many messages fit
	largeSpread = cacheLine // a reader that reads all takes a word of each line
)

// largeWork is what the processes of lent and pool are told.
type largeWork struct {
	Size, Readers, Index int
	Pool                 bool // not lent
	Whole                bool // readers read all of a message, not its two ends
}

func (w largeWork) chunks() int { return min(mostChunks, max(atLeast, ringOfDDS/w.Size)) }

// stride is that of chunks, in whole lines.
func (w largeWork) stride() int { return (w.Size + cacheLine - 1) &^ (cacheLine - 1) }

func (w largeWork) chunk(m memory, i int) []byte {
	at := largeData + i*w.stride()
	return m.bytes[at : at+w.Size]
}

// numberOf is the chunk of message n; the sender writes it before it publishes n, and not again before all readers have
// let go of n.
func (w largeWork) numberOf(m memory, n int64) *atomic.Int64 {
	return m.counter(numberLines + int(n%int64(w.chunks())))
}

// holders is how many readers have chunk i still. The sender stores their number before it publishes the chunk, when it
// is 0; readers count it down.
func (w largeWork) holders(m memory, i int) *atomic.Int64 {
	return m.counter(numberLines + mostChunks + i)
}

func (w largeWork) name() string {
	if w.Pool {
		return "pool"
	}
	return "lent"
}

func (w largeWork) what() string {
	how := "lent from a ring"
	if w.Pool {
		how = "in chunks of a pool, their numbers in a ring"
	}
	read := "readers look at both ends"
	if w.Whole {
		read = "readers read a word of each cache line"
	}
	return fmt.Sprintf("%s, room for %d, %s; this reader's figure", how, w.chunks(), read)
}

func lent(o options) ([]result.Result, error) { return large(o, false) }
func pool(o options) ([]result.Result, error) { return large(o, true) }

func large(o options, pool bool) ([]result.Result, error) {
	var results []result.Result
	for _, size := range o.sizes(1 << 20) {
		for _, readers := range o.numbersOfReaders() {
			for _, whole := range []bool{false, true} {
				r, err := largeWork{Size: max(size, 16), Readers: readers, Pool: pool, Whole: whole}.run(o.duration)
				if err != nil {
					return nil, fmt.Errorf("%d readers: %w", readers, err)
				}
				results = append(results, r...)
			}
		}
	}
	return results, nil
}

// run is the sender.
func (w largeWork) run(d time.Duration) ([]result.Result, error) {
	if w.Readers > mostLarge {
		return nil, fmt.Errorf("at most %d", mostLarge)
	}
	m, f, err := newMemory(largeData + w.chunks()*w.stride())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	defer func() { _ = unix.Munmap(m.bytes) }()
	m.counter(measureLine).Store(1 << 62)
	return withReaders(w.Readers, func(i int) (*exec.Cmd, error) {
		w.Index = i
		told, err := json.Marshal(w)
		if err != nil {
			return nil, err
		}
		headOf(m, i).Store(-1) // it has not come yet
		return child(f, "large", string(told))
	}, func() error {
		w.produce(m, d)
		return nil
	})
}

func (w largeWork) produce(m memory, d time.Duration) {
	tail, bell := m.counter(tailLine), m.word(producerLine)
	from := make([]byte, w.Size) // what an application has, and writes
	waitFor(bell, func() bool { return slowest(m, w.Readers) >= 0 })
	chunks := &freeChunks{w: w, m: m}
	for i := range w.chunks() {
		chunks.free = append(chunks.free, i)
	}
	start, measured := time.Now(), false
	for n := int64(0); ; n++ {
		switch elapsed := time.Since(start); {
		case elapsed >= d+d/5:
			tail.Store(-1 - n)
			ringBells(m, w.Readers)
			return
		case elapsed >= d/5 && !measured:
			measured = true
			m.counter(measureLine).Store(n)
		}
		at := int(n % int64(w.chunks()))
		if w.Pool {
			waitFor(bell, chunks.any)
			at = chunks.take()
			w.holders(m, at).Store(int64(w.Readers))
			w.numberOf(m, n).Store(int64(at))
		} else {
			waitFor(bell, func() bool { return n < slowest(m, w.Readers)+int64(w.chunks()) })
		}
		to := w.chunk(m, at)
		copy(to, from)
		binary.LittleEndian.PutUint64(to, uint64(n))
		to[len(to)-1] = byte(n)
		tail.Store(n + 1)
		ringBells(m, w.Readers)
	}
}

// freeChunks are those of the pool. They belong to the sender; that a chunk was freed it sees by its count.
type freeChunks struct {
	w    largeWork
	m    memory
	free []int // the last one is taken first
	used []int // the oldest first
}

// any collects what was freed, and says whether there is something: of the oldest ones, as far as they are free, and of
// all where that does not suffice, since they are freed in any order.
func (c *freeChunks) any() bool {
	oldest := 0
	for oldest < len(c.used) && c.held(c.used[oldest]) == 0 {
		oldest++
	}
	c.free = append(c.free, c.used[:oldest]...)
	c.used = append(c.used[:0], c.used[oldest:]...)
	if len(c.free) > 0 {
		return true
	}
	kept := c.used[:0]
	for _, i := range c.used {
		if c.held(i) == 0 {
			c.free = append(c.free, i)
		} else {
			kept = append(kept, i)
		}
	}
	c.used = kept
	return len(c.free) > 0
}

func (c *freeChunks) held(i int) int64 { return c.w.holders(c.m, i).Load() }

func (c *freeChunks) take() int {
	i := c.free[len(c.free)-1]
	c.free = c.free[:len(c.free)-1]
	c.used = append(c.used, i)
	return i
}

// largeChild is a reader.
func largeChild(args []string) error {
	if len(args) != 1 {
		return errors.New("needs to be told the work")
	}
	var w largeWork
	if err := json.Unmarshal([]byte(args[0]), &w); err != nil {
		return err
	}
	m, err := inherited()
	if err != nil {
		return err
	}
	r, err := w.consume(m)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

func (w largeWork) consume(m memory) (result.Result, error) {
	head, bell, producer := headOf(m, w.Index), bellOf(m, w.Index), m.word(producerLine)
	n, sent := int64(0), published{tail: m.counter(tailLine)}
	first, count, before := int64(0), int64(0), unix.Rusage{}
	ready := func() bool { return sent.beyond(n) }
	head.Store(0)
	ringBell(producer)
	for {
		waitFor(bell, ready)
		if n == sent.count {
			break // and last
		}
		for ; n < sent.count; n++ {
			if n >= m.counter(measureLine).Load() {
				if count++; count == 1 {
					first = monotonic()
					_ = unix.Getrusage(unix.RUSAGE_SELF, &before) // fails for arguments that do not exist only
				}
			}
			at := int(n % int64(w.chunks()))
			if w.Pool {
				at = int(w.numberOf(m, n).Load())
			}
			if err := w.check(w.chunk(m, at), n); err != nil {
				return result.Result{}, err
			}
			if w.Pool && w.holders(m, at).Add(-1) == 0 {
				ringBell(producer)
			}
			if !w.Pool {
				head.Store(n + 1)
				ringBell(producer)
			}
		}
	}
	var after unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &after)
	r := result.Result{Role: w.name(), Impl: "baseline", Size: w.Size, Readers: w.Readers, What: w.what()}
	r.SetThroughput(count, time.Duration(monotonic()-first))
	r.CPUUser, r.CPUSys = secondsOf(after.Utime)-secondsOf(before.Utime), secondsOf(after.Stime)-secondsOf(before.Stime)
	return r, nil
}

func secondsOf(t unix.Timeval) float64 { return time.Duration(t.Nano()).Seconds() }

// check looks at message n.
func (w largeWork) check(b []byte, n int64) error {
	if got := binary.LittleEndian.Uint64(b); got != uint64(n) || b[len(b)-1] != byte(n) {
		return fmt.Errorf("message %d, which ends in %d, where %d was due", got, b[len(b)-1], n)
	}
	if !w.Whole {
		return nil
	}
	sum := uint64(0)
	for at := largeSpread; at+8 < len(b); at += largeSpread {
		sum |= binary.LittleEndian.Uint64(b[at:])
	}
	if sum != 0 {
		return fmt.Errorf("message %d has bytes that were not written", n)
	}
	return nil
}
