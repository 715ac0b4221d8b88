package smc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/sst"
)

// ends is a ring with one receiver.
type ends struct {
	s      *Sender
	r      *Receiver
	handed atomic.Uint64
}

func newEnds(ring int) *ends {
	e := &ends{}
	region := rdma.NewHeapRegion(rdma.Shape{Cells: sst.Layout{Senders: 1}.Cells(), Ring: ring})
	e.s = NewSender(region, e.handed.Load)
	e.r = NewReceiver(region)
	return e
}

func (e *ends) send(t testing.TB, payload string) {
	r, err := e.s.Reserve(len(payload))
	require.NoError(t, err)
	copy(r.Bytes(), payload)
	r.Commit(Header{Writer: 3, WriterSeq: 5, Timestamp: -7, Kind: 9, Flags: 11}, len(payload))
	e.s.Flush()
}

// receive takes all there is and gives the bytes back.
func (e *ends) receive(t testing.TB) (got []string) {
	e.r.Poll()
	for {
		rec, err := e.r.Peek()
		require.NoError(t, err)
		if rec == nil {
			e.handed.Store(e.r.Pos())
			return got
		}
		got = append(got, fmt.Sprintf("%d:%s", rec.Index, rec.Payload))
		e.r.Take()
	}
}

func TestHeaderComesThrough(t *testing.T) {
	e := newEnds(4096)
	e.send(t, "hello")
	require.True(t, e.r.Poll())
	require.False(t, e.r.Poll(), "nothing new")
	rec, err := e.r.Peek()
	require.NoError(t, err)
	require.Equal(t, &Record{
		Header:  Header{Writer: 3, WriterSeq: 5, Timestamp: -7, Kind: 9, Flags: 11},
		Payload: []byte("hello"),
	}, rec)
	require.Equal(t, uint64(1), e.r.Real())
	e.r.Take()
	e.r.Take() // nothing was shown: no effect
	e.send(t, "again")
	require.Equal(t, []string{"1:again"}, e.receive(t))
}

func TestOutOfOrderCommitsArePublishedInOrder(t *testing.T) {
	e := newEnds(4096)
	var rs [4]Reservation
	for i := range rs {
		var err error
		rs[i], err = e.s.Reserve(1)
		require.NoError(t, err)
		rs[i].Bytes()[0] = byte('a' + i)
	}
	rs[2].Commit(Header{}, 1)
	rs[1].Abort()
	require.False(t, e.s.Flush(), "the first is not filled")
	require.Empty(t, e.receive(t))
	rs[0].Commit(Header{}, 1)
	require.True(t, e.s.Flush())
	require.Equal(t, []string{"0:a", "1:c"}, e.receive(t), "an aborted record takes no index")
	rs[3].Commit(Header{}, 0) // fewer bytes than reserved
	require.True(t, e.s.Flush())
	require.Equal(t, []string{"2:"}, e.receive(t))
}

// What is committed behind a place that somebody still fills is not published; who abandons the ring gets it, and who commits
// later is told.
func TestAbandon(t *testing.T) {
	e := newEnds(4096)
	for range 30 { // the ring has gone round
		e.send(t, string(make([]byte, 300)))
		e.receive(t)
	}
	var rs [5]Reservation
	for i := range rs {
		var err error
		rs[i], err = e.s.Reserve(100 * i)
		require.NoError(t, err)
		if i > 0 {
			rs[i].Bytes()[0] = byte('a' + i)
		}
	}
	rs[0].Commit(Header{}, 0)
	e.s.Flush()
	rs[2].Commit(Header{Writer: 3, WriterSeq: 5, Timestamp: -7, Kind: 9, Flags: 11}, 1)
	rs[3].Abort()
	rs[4].Commit(Header{WriterSeq: 6}, 1)
	e.s.Flush()
	require.False(t, rs[4].Abandoned())
	e.s.Close()
	var got []Record
	e.s.Abandon(func(r Record) {
		r.Payload = bytes.Clone(r.Payload)
		got = append(got, r)
	})
	require.Equal(t, []Record{
		{Header: Header{Writer: 3, WriterSeq: 5, Timestamp: -7, Kind: 9, Flags: 11}, Payload: []byte("c")},
		{Header: Header{WriterSeq: 6}, Payload: []byte("e")},
	}, got)
	rs[1].Commit(Header{}, 1)
	require.False(t, e.s.Flush(), "nothing is published any more")
	require.True(t, rs[1].Abandoned())
	require.Equal(t, []string{"30:"}, e.receive(t))
	require.Equal(t, "b", string(rs[1].Bytes()[:1]), "and its bytes are still there")
}

// Publish publishes a message that is the next, and what was done behind it; otherwise it leaves the message to whoever
// fills the gap.
func TestPublish(t *testing.T) {
	e := newEnds(1 << 12)
	var rs []Reservation
	for range 4 {
		r, err := e.s.Reserve(1)
		require.NoError(t, err)
		r.Bytes()[0] = byte('a' + len(rs))
		rs = append(rs, r)
	}
	require.False(t, rs[1].Publish(Header{WriterSeq: 1}, 1), "the first is not filled")
	rs[2].Abort()
	require.True(t, rs[0].Publish(Header{WriterSeq: 0}, 1))
	require.True(t, rs[3].Publish(Header{WriterSeq: 3}, 2), "more bytes than reserved are cut off")
	require.Equal(t, []string{"0:a", "1:b", "2:d"}, e.receive(t))
	require.False(t, e.s.Flush(), "nothing is left")
}

// A place says where the bytes of a reservation are, wherever in the ring they lie.
func TestPlace(t *testing.T) {
	e := newEnds(1 << 12)
	for n := range 200 {
		r, err := e.s.Reserve(n)
		require.NoError(t, err)
		p := r.Place()
		require.Equal(t, n, p.Len())
		require.Len(t, e.s.At(p), n)
		require.Equal(t, n, cap(e.s.At(p)), "what follows is not of this reservation")
		for i := range e.s.At(p) {
			e.s.At(p)[i] = byte(n + i)
		}
		for i, b := range r.Bytes() {
			require.Equal(t, byte(n+i), b)
		}
		require.Equal(t, r.Bytes()[:n/2], e.s.At(p.Cut(n/2)))
		r.Publish(Header{}, n)
		require.Len(t, e.receive(t), 1)
	}
}

// Each message that is committed while the ring is abandoned is published, or handed over, or its goroutine is told.
func TestAbandonLosesNothing(t *testing.T) {
	for range 200 {
		e := newEnds(1 << 16)
		var known [4 * 20]atomic.Bool
		var all sync.WaitGroup
		for who := range 4 {
			all.Go(func() {
				for k := range 20 {
					r, err := e.s.Reserve(8)
					if err != nil {
						known[20*who+k].Store(true) // closed by now
						continue
					}
					if h := (Header{WriterSeq: uint64(20*who + k)}); k%2 == 0 {
						r.Publish(h, 8)
					} else {
						r.Commit(h, 8)
						e.s.Flush()
					}
					if r.Abandoned() {
						known[20*who+k].Store(true)
					}
				}
			})
		}
		all.Go(func() {
			e.s.Close()
			e.s.Abandon(func(r Record) { known[r.WriterSeq].Store(true) })
		})
		all.Wait()
		e.r.Poll()
		for {
			rec, err := e.r.Peek()
			require.NoError(t, err)
			if rec == nil {
				break
			}
			known[rec.WriterSeq].Store(true)
			e.r.Take()
		}
		for i := range known {
			require.True(t, known[i].Load(), "message %d", i)
		}
	}
}

func TestReserveBounds(t *testing.T) {
	const ring = 4096
	e := newEnds(ring)
	for _, size := range []int{-1, -1 << 40, MaxPayload(ring) + 1} {
		_, err := e.s.Reserve(size)
		require.ErrorIs(t, err, ErrTooLarge, "%d", size)
	}
	for range 20 { // two of the largest always fit, wherever the ring stands
		e.send(t, "x")
		e.receive(t)
		big := string(make([]byte, MaxPayload(ring)))
		e.send(t, big)
		require.Len(t, e.receive(t), 1)
	}
	n := 0
	for ; ; n++ {
		r, err := e.s.Reserve(1)
		if err != nil {
			require.ErrorIs(t, err, ErrFull)
			break
		}
		r.Commit(Header{}, 1)
	}
	require.Equal(t, ring/SlotBytes, n, "the whole ring is used")
	e.s.Flush()
	require.Len(t, e.receive(t), n)
	_, err := e.s.Reserve(1)
	require.NoError(t, err)
}

// Room that is reserved and not filled is never given away, whatever the receivers say: there may
// be none, and then all that was reserved counts as handed over.
func TestUnfilledRoomIsNotFree(t *testing.T) {
	region := rdma.NewHeapRegion(rdma.Shape{Cells: 32, Ring: 4096})
	var s *Sender
	s = NewSender(region, func() uint64 { return s.Sent() })
	first, err := s.Reserve(100)
	require.NoError(t, err)
	n := 0
	for ; n < 1000; n++ {
		r, err := s.Reserve(1)
		if errors.Is(err, ErrFull) {
			break
		}
		require.NoError(t, err)
		r.Commit(Header{}, 1)
		s.Flush()
	}
	require.Equal(t, 4096/SlotBytes-3, n, "the ring fills up behind the first record")
	first.Commit(Header{}, 100)
	require.True(t, s.Flush())
	require.Equal(t, s.Sent(), region.Cell(sst.Tail).Load(), "everything was published")
	_, err = s.Reserve(1)
	require.NoError(t, err)
}

func TestPromises(t *testing.T) {
	e := newEnds(4096)
	open, err := e.s.Reserve(1)
	require.NoError(t, err)
	e.s.Promise(7)
	e.s.Promise(5) // never lowers
	require.True(t, e.s.Flush())
	e.r.Poll()
	require.Equal(t, uint64(7), e.r.Next())
	require.Zero(t, e.r.Real(), "a promise is no message")
	open.Bytes()[0] = 'x'
	open.Commit(Header{}, 1)
	e.s.Flush()
	require.Equal(t, []string{"7:x"}, e.receive(t), "what was reserved before the promise comes behind it")
	require.Equal(t, uint64(8), e.r.Real())
	require.Equal(t, uint64(8), e.r.Next())
}

// What is given up behind a promise is no message either: the others would fill rounds for it that nobody has begun.
func TestRoomThatIsGivenUpIsNoMessage(t *testing.T) {
	e := newEnds(4096)
	e.send(t, "a")
	e.s.Promise(7)
	e.s.Flush()
	r, err := e.s.Reserve(1)
	require.NoError(t, err)
	r.Abort()
	require.True(t, e.s.Flush())
	require.Equal(t, []string{"0:a"}, e.receive(t))
	require.Equal(t, e.s.Sent(), e.r.Pos())
	require.Equal(t, uint64(1), e.r.Real())
	require.Equal(t, uint64(7), e.r.Next())
}

func TestClose(t *testing.T) {
	e := newEnds(4096)
	r, err := e.s.Reserve(1)
	require.NoError(t, err)
	e.s.Close()
	_, err = e.s.Reserve(1)
	require.ErrorIs(t, err, ErrClosed)
	e.s.Flush()
	e.r.Poll()
	require.NotEqual(t, sst.Forever, e.r.Next(), "a message may still come")
	r.Bytes()[0] = 'z'
	r.Commit(Header{}, 1)
	require.True(t, e.s.Flush())
	require.Equal(t, []string{"0:z"}, e.receive(t))
	require.Equal(t, sst.Forever, e.r.Next())
	e.s.Promise(100)
	require.False(t, e.s.Flush(), "nothing follows forever")
}

// Whoever flushes while another goroutine is at it leaves the work to that one, which does it: when
// all have flushed, all is published.
func TestFlushLeavesNothingBehind(t *testing.T) {
	const writers, rounds = 4, 2000
	e := newEnds(4096)
	for range rounds {
		var wg sync.WaitGroup
		begin := make(chan struct{})
		for range writers {
			r, err := e.s.Reserve(1)
			require.NoError(t, err)
			wg.Go(func() {
				<-begin
				r.Commit(Header{}, 1)
				e.s.Flush()
			})
		}
		close(begin)
		wg.Wait()
		require.Len(t, e.receive(t), writers)
	}
}

const noise = 24 // goroutine u32, number u32, hash u64, length u64

func fill(b []byte, who, number int, rng *rand.Rand) {
	binary.LittleEndian.PutUint32(b, uint32(who))
	binary.LittleEndian.PutUint32(b[4:], uint32(number))
	binary.LittleEndian.PutUint64(b[16:], uint64(len(b)))
	for i := noise; i < len(b); i++ {
		b[i] = byte(rng.Uint32())
	}
	binary.LittleEndian.PutUint64(b[8:], sum(b))
}

func sum(b []byte) uint64 {
	h := fnv.New64a()
	h.Write(b[:8])
	h.Write(b[16:])
	return h.Sum64()
}

// The model of a ring is a set of lists, one per goroutine: what each has committed, in its order.
// The receiver gets the merge of them, once, whole, with ascending indices; and never learns a bound
// above an index that is still to come.
func TestRingAgainstModel(t *testing.T) {
	const writers, each, ring = 4, 1500, 1 << 13
	e := newEnds(ring)
	var committed [writers][]int
	var wg sync.WaitGroup
	var promises atomic.Uint64
	for w := range writers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(7, uint64(w)))
			held := []Reservation{} // committed later, out of order
			for i := range each {
				size := noise + rng.IntN(60)
				if rng.IntN(20) == 0 {
					size = noise + rng.IntN(MaxPayload(ring)-noise)
				}
				r, err := e.s.Reserve(size)
				for errors.Is(err, ErrFull) {
					for _, h := range held {
						h.Abort() // they may be what the ring waits for
					}
					held = held[:0]
					e.s.Flush()
					runtime.Gosched()
					r, err = e.s.Reserve(size)
				}
				if err != nil {
					t.Error(err)
					return
				}
				switch n := size - rng.IntN(size-noise+1); rng.IntN(8) {
				case 0:
					r.Abort()
				case 1:
					held = append(held, r)
					continue
				default:
					fill(r.Bytes()[:n], w, i, rng)
					if h := (Header{Writer: uint32(w), WriterSeq: uint64(i)}); rng.IntN(2) == 0 {
						r.Publish(h, n)
					} else {
						r.Commit(h, n)
					}
					committed[w] = append(committed[w], i)
				}
				if rng.IntN(3) == 0 {
					e.s.Promise(promises.Add(1))
				}
				e.s.Flush()
			}
			for _, h := range held {
				h.Abort()
			}
			e.s.Flush()
		})
	}
	go func() { wg.Wait(); e.s.Close(); e.s.Flush() }()

	var got [writers][]int
	last, known := -1, uint64(0) // index of the last message; bound below which all are known
	for {
		if !e.r.Poll() {
			runtime.Gosched()
		}
		for {
			rec, err := e.r.Peek()
			require.NoError(t, err)
			if rec == nil {
				break
			}
			if int(rec.Index) <= last || rec.Index < known {
				t.Fatalf("index %d after %d, below %d was known", rec.Index, last, known)
			}
			last = int(rec.Index)
			b := rec.Payload
			if uint64(len(b)) != binary.LittleEndian.Uint64(b[16:]) || sum(b) != binary.LittleEndian.Uint64(b[8:]) {
				t.Fatalf("message %d of writer %d is damaged", rec.WriterSeq, rec.Writer)
			}
			got[rec.Writer] = append(got[rec.Writer], int(binary.LittleEndian.Uint32(b[4:])))
			e.r.Take()
		}
		known = e.r.Next() // all below it was seen by now
		e.handed.Store(e.r.Pos())
		if known == sst.Forever {
			break
		}
	}
	require.Equal(t, committed, got)
	require.Equal(t, uint64(last+1), e.r.Real())
	require.Equal(t, e.s.Sent(), e.r.Pos())
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	e := newEnds(1 << 14)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		r, err := e.s.Reserve(128)
		if err != nil {
			t.Fatal(err)
		}
		r.Commit(Header{}, 128)
		e.s.Flush()
		e.r.Poll()
		if rec, err := e.r.Peek(); rec == nil || err != nil {
			t.Fatal(rec, err)
		}
		e.r.Take()
		e.handed.Store(e.r.Pos())
	}))
}

func BenchmarkRing(b *testing.B) {
	for _, size := range []int{128, 10 << 10} {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			e := newEnds(1 << 20)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			go func() {
				for range b.N {
					r, err := e.s.Reserve(size)
					for err != nil {
						runtime.Gosched()
						r, err = e.s.Reserve(size)
					}
					r.Bytes()[0] = 1
					r.Commit(Header{}, size)
					e.s.Flush()
				}
			}()
			for n := 0; n < b.N; {
				if !e.r.Poll() {
					runtime.Gosched()
					continue
				}
				for {
					rec, err := e.r.Peek()
					if err != nil {
						b.Fatal(err)
					}
					if rec == nil {
						break
					}
					n++
					e.r.Take()
				}
				e.handed.Store(e.r.Pos())
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msgs/s")
		})
	}
}

// What writers, who look for room, and who publishes store has cache lines of its own, apart from what is constant.
// What others are owed is among the publisher's: whoever raises it publishes next.
func TestSenderLines(t *testing.T) {
	var s Sender
	lines := []struct{ first, last uintptr }{
		{unsafe.Offsetof(s.region), unsafe.Offsetof(s.unneeded)},
		{unsafe.Offsetof(s.claimed), unsafe.Offsetof(s.claimed)},
		{unsafe.Offsetof(s.freed), unsafe.Offsetof(s.freed)},
		{unsafe.Offsetof(s.baton), unsafe.Offsetof(s.next)},
	}
	for i := 1; i < len(lines); i++ {
		require.GreaterOrEqual(t, lines[i].first, lines[i-1].last+64, "group %d", i)
	}
	require.Less(t, lines[3].last, lines[3].first+64, "who publishes stores into one line")
	require.GreaterOrEqual(t, unsafe.Sizeof(s), lines[3].last+64, "no neighbour on the heap")
}

// What is withheld goes out with one look, and who abandons the ring gets it if it did not.
func TestWithhold(t *testing.T) {
	for _, abandoned := range []bool{false, true} {
		e := newEnds(4096)
		e.s.Withhold()
		r, err := e.s.Reserve(1)
		require.NoError(t, err)
		r.Bytes()[0] = 'a'
		require.False(t, r.Publish(Header{}, 1))
		e.s.Promise(7)
		e.s.Close()
		require.False(t, e.s.Flush())
		require.Empty(t, e.receive(t))
		require.True(t, e.s.Withheld())
		if !abandoned {
			require.True(t, e.s.Release())
			require.Equal(t, []string{"0:a"}, e.receive(t))
		} else {
			var got []string
			e.s.Abandon(func(r Record) { got = append(got, string(r.Payload)) })
			require.Equal(t, []string{"a"}, got)
			require.False(t, e.s.Flush())
			require.Empty(t, e.receive(t))
		}
		require.False(t, e.s.Withheld())
	}
}
