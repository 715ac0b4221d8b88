package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/omg-dds-go/dds/bench/internal/result"
)

// The ring: messages of 128 bytes, copied in by one process and out by each reader. Counters are counts: message i is
// published when i < tail, and its place free again when i < head of every reader.
const (
	ringMessage = 128
	ringSlots   = 4096 // 512 KiB: within a second-level cache
	maxReaders  = 4

	tailLine     = 0 // the producer writes; -1-n when n messages are all
	measureLine  = 1 // the producer writes, once: the first message that counts
	producerLine = 2 // bell of the producer
	readerLine   = 3 // of each reader: head, which it writes, and its bell
	ringLines    = readerLine + 2*maxReaders
	ringData     = pageBytes

	ringSpin = 20 * time.Microsecond // before one sleeps; less than a wake-up costs
)

// A bell is a futex word that says whether its owner sleeps. The owner stores asleep, then looks once more, then
// sleeps; the other side makes its news visible, then loads the bell. Go's atomics are sequentially consistent, so one
// of them sees the other, and no wake-up is lost.
const (
	awake  = 0
	asleep = 1
)

func ringBell(bell *atomic.Uint32) {
	if bell.Load() == asleep && bell.CompareAndSwap(asleep, awake) {
		wakeAll(bell)
	}
}

// waitFor returns when ready does: it spins, then sleeps on the bell.
func waitFor(bell *atomic.Uint32, ready func() bool) {
	for {
		limit := monotonic() + int64(ringSpin)
		for i := 1; i%spins != 0 || monotonic() < limit; i++ {
			if ready() {
				return
			}
			if i%100 == 0 {
				yield()
			}
		}
		bell.Store(asleep)
		if ready() {
			bell.Store(awake)
			return
		}
		sleepWhile(bell, asleep)
		bell.Store(awake)
	}
}

func headOf(m memory, reader int) *atomic.Int64  { return m.counter(readerLine + 2*reader) }
func bellOf(m memory, reader int) *atomic.Uint32 { return m.word(readerLine + 2*reader + 1) }

func slotOf(m memory, n int64) []byte {
	at := ringData + int(n%ringSlots)*ringMessage
	return m.bytes[at : at+ringMessage]
}

func ring(o options) ([]result.Result, error) {
	var results []result.Result
	for _, readers := range []int{1, maxReaders} {
		r, err := ringOf(readers, o.duration)
		if err != nil {
			return nil, fmt.Errorf("%d readers: %w", readers, err)
		}
		results = append(results, r...)
	}
	return results, nil
}

// ringOf is the producer.
func ringOf(readers int, d time.Duration) ([]result.Result, error) {
	m, f, err := newMemory(ringData + ringSlots*ringMessage)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return withReaders(readers, func(i int) (*exec.Cmd, error) {
		headOf(m, i).Store(-1) // it has not come yet
		return child(f, "ring", strconv.Itoa(i), strconv.Itoa(readers))
	}, func() error {
		produce(m, readers, d)
		return nil
	})
}

// slowest is how far all readers are, -1 while one is not there.
func slowest(m memory, readers int) int64 {
	least := headOf(m, 0).Load()
	for i := 1; i < readers; i++ {
		least = min(least, headOf(m, i).Load())
	}
	return least
}

func ringBells(m memory, readers int) {
	for i := range readers {
		ringBell(bellOf(m, i))
	}
}

// published is what a reader knows of the producer.
type published struct {
	tail  *atomic.Int64
	count int64
	last  bool // no more will come
}

// beyond tells whether there is something for a reader that has taken n messages.
func (p *published) beyond(n int64) bool {
	t := p.tail.Load()
	if p.last = t < 0; p.last {
		t = -1 - t
	}
	p.count = t
	return n < t || p.last
}

func produce(m memory, readers int, d time.Duration) {
	tail, bell := m.counter(tailLine), m.word(producerLine)
	m.counter(measureLine).Store(1 << 62)
	message := make([]byte, ringMessage)
	waitFor(bell, func() bool { return slowest(m, readers) >= 0 })
	n, free := int64(0), int64(ringSlots)
	const look = 256 // messages between looks at the clock
	start, measured := time.Now(), false
	for {
		if n%look == 0 {
			switch elapsed := time.Since(start); {
			case elapsed >= d/5 && !measured: // first: something is measured, however long the producer did not run
				measured = true
				m.counter(measureLine).Store(n)
			case elapsed >= d+d/5:
				tail.Store(-1 - n)
				ringBells(m, readers)
				return
			}
		}
		if n == free {
			waitFor(bell, func() bool { free = slowest(m, readers) + ringSlots; return n < free })
		}
		binary.LittleEndian.PutUint64(message, uint64(n))
		copy(slotOf(m, n), message)
		n++
		tail.Store(n)
		ringBells(m, readers)
	}
}

// ringChild is a reader.
func ringChild(args []string) error {
	if len(args) != 2 {
		return errors.New("needs the number of the reader, and of all readers")
	}
	i, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	readers, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	m, err := inherited()
	if err != nil {
		return err
	}
	r, err := consume(m, i, readers)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

func consume(m memory, i, readers int) (result.Result, error) {
	head, bell, producer := headOf(m, i), bellOf(m, i), m.word(producerLine)
	own := make([]byte, ringMessage)
	n, sent := int64(0), published{tail: m.counter(tailLine)}
	first, count := int64(0), int64(0)
	ready := func() bool { return sent.beyond(n) }
	head.Store(0)
	ringBell(producer)
	for {
		waitFor(bell, ready)
		if n == sent.count {
			break // and last
		}
		batch := sent.count - max(n, m.counter(measureLine).Load()) // what of it counts
		if batch > 0 && count == 0 {
			first = monotonic()
		}
		for ; n < sent.count; n++ {
			copy(own, slotOf(m, n))
			if got := binary.LittleEndian.Uint64(own); got != uint64(n) {
				return result.Result{}, fmt.Errorf("message %d where %d was due", got, n)
			}
		}
		count += max(0, batch)
		head.Store(n)
		ringBell(producer)
	}
	r := result.Result{Role: "ring", Impl: "baseline", Size: ringMessage, Readers: readers,
		What: "ring of one producer in shared memory, copied in and out, futex doorbells after 20 µs of spinning; this reader's figure"}
	r.SetThroughput(count, time.Duration(monotonic()-first))
	return r, nil
}
