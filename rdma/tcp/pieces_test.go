package tcp

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
)

// turns is a link without a writer: the test makes the turns, and a reader gets what they are.
type turns struct {
	*node
	*Link
	t     turn
	peer  net.Conn        // the reader's end is behind it
	there *Link           // the reader
	news  *node           // its node
	row   *rdma.Region    // the reader's copy of key
	beats *rdma.Region    // and of beats
	own   [2]*rdma.Region // what both are copies of
}

var beatKey = rdma.Key{Epoch: 9}

const pieceRing = 1 << 20

// newTurns has a large region and one of heartbeats, both opened.
func newTurns(t *testing.T) *turns {
	t.Helper()
	idle, far := net.Pipe()
	t.Cleanup(func() { idle.Close(); far.Close() })
	s := &turns{node: newNode()}
	s.Link = NewLink(idle, s.config("peer"))
	shapes := [2]rdma.Shape{{Cells: 24, Ring: pieceRing}, {Cells: 24}}
	for i, k := range []rdma.Key{key, beatKey} {
		s.own[i] = rdma.NewHeapRegion(shapes[i])
		s.Export(k, s.own[i], i == 0, nil)
	}
	for i := range s.own[0].Ring() {
		s.own[0].Ring()[i] = byte(i * 7 >> 4)
	}
	s.connect(t, func() { s.there.opening[key], s.there.opening[beatKey] = shapes[0], shapes[1] })
	s.give(t, s.make(t))
	for range 2 {
		if o := get(t, "opened", s.news.opened); o.key == key {
			s.row = o.r
		} else {
			s.beats = o.r
		}
	}
	return s
}

// connect makes the reader, of what it knows.
func (s *turns) connect(t *testing.T, know func()) {
	t.Helper()
	here, peer := loopback(t)
	t.Cleanup(func() { peer.Close() })
	s.peer, s.news = peer, newNode()
	s.there = NewLink(here, s.news.config("writer"))
	know()
	go s.there.Run()
	go func() { _, _ = io.Copy(io.Discard, peer) }()
}

// make is one turn: the frames that it sends.
func (s *turns) make(t *testing.T) []byte {
	t.Helper()
	require.NoError(t, s.collect(&s.t, true))
	s.commit(&s.t)
	b := bytes.Join(s.t.vec, nil)
	clear(s.t.captured)
	return b
}

// give lets the reader have a turn, and waits until it has it.
func (s *turns) give(t *testing.T, b []byte) {
	t.Helper()
	_, err := s.peer.Write(append(b, append(frame(frameControl, 1), 'm')...))
	require.NoError(t, err)
	get(t, "the end of a turn", s.news.messages)
}

type writeFrame struct {
	kind  byte
	key   rdma.Key
	pos   uint64
	bytes int
	cells map[uint32]uint64
}

func writes(b []byte) (all []writeFrame) {
	for ; len(b) > 0; b = b[4+int(binary.LittleEndian.Uint32(b)):] {
		if kind := b[4]; kind != frameWrite && kind != frameQuiet && kind != frameAhead {
			continue
		}
		f := writeFrame{
			kind: b[4], key: rdma.ParseKey(b[5:]), pos: binary.LittleEndian.Uint64(b[13:]),
			bytes: int(binary.LittleEndian.Uint32(b[21:])), cells: map[uint32]uint64{},
		}
		for i := range binary.LittleEndian.Uint32(b[25:]) {
			c := b[writeHeader+i*cellBytes:]
			f.cells[binary.LittleEndian.Uint32(c)] = binary.LittleEndian.Uint64(c[4:])
		}
		all = append(all, f)
	}
	return all
}

// publish stores a tail, and cells that speak of what is below it.
func (s *turns) publish(tail uint64) {
	s.own[0].Cell(rdma.TailCell).Store(tail)
	s.own[0].Cell(1).Store(tail)
	s.own[0].Cell(20).Store(tail)
	s.Post(key)
}

// A range of any length holds up heartbeats by one turn, which is short. Nothing that speaks of it is seen before its last
// byte is there, and then what was so when it was captured, whatever was posted since.
func TestHeartbeatsPassLongRanges(t *testing.T) {
	s := newTurns(t)
	size := uint64(pieceRing - 5)
	s.publish(size)
	var pos, beats uint64
	for pos < size {
		beats++
		s.own[1].Cell(beat).Store(beats)
		s.PostQuiet(beatKey)
		if beats == 3 {
			s.publish(size + 5)
		}
		b := s.make(t)
		require.LessOrEqual(t, len(b), firstTurn+1000)
		require.True(t, s.t.more, "nobody has to ask for the next turn")
		all := writes(b)
		require.Len(t, all, 2, "the piece, and the heartbeat")
		for _, f := range all {
			if f.key == beatKey {
				require.Equal(t, map[uint32]uint64{beat: beats}, f.cells, "the newest")
				continue
			}
			require.Equal(t, pos, f.pos)
			if pos += uint64(f.bytes); pos < size {
				require.Equal(t, byte(frameAhead), f.kind)
				require.Empty(t, f.cells)
			} else {
				require.Equal(t, byte(frameWrite), f.kind)
				require.Equal(t, map[uint32]uint64{0: size, 1: size, 20: size}, f.cells)
			}
		}
		if pos < size {
			s.give(t, b)
			for _, cell := range []int{rdma.TailCell, 1, 20} {
				require.Zero(t, s.row.Cell(cell).Load(), "nothing speaks of what is not there yet")
			}
		} else {
			s.give(t, b)
		}
		require.Equal(t, beats, s.beats.Cell(beat).Load())
	}
	require.GreaterOrEqual(t, beats, uint64(pieceRing/firstTurn))
	require.Equal(t, size, s.row.Cell(20).Load())
	s.give(t, s.make(t))
	require.False(t, s.t.more)
	require.Equal(t, uint64(pieceRing), s.row.Cell(20).Load())
	require.Equal(t, s.own[0].Ring(), s.row.Ring())
	require.Empty(t, writes(s.make(t)), "everything was sent")
}

// Whatever comes between the pieces, the range is whole in the end: a raised fence, after which it is captured anew, a
// withdrawal, and a new connection, on which it begins with the tail that the peer has.
func TestPiecesAreGivenUp(t *testing.T) {
	s := newTurns(t)
	s.publish(300_000)
	s.give(t, s.make(t))
	require.NoError(t, s.collect(&s.t, true))
	s.t.undo()
	s.publish(400_000)
	for s.t.more = true; s.t.more; {
		s.give(t, s.make(t))
		require.Contains(t, []uint64{0, 400_000}, s.row.Cell(20).Load(), "captured behind the fence")
	}
	require.Equal(t, uint64(400_000), s.row.Cell(20).Load())

	s.publish(800_000)
	s.give(t, s.make(t))
	s.publish(900_000)
	s.Withdraw(key)
	had := position{received: 2 /* both were opened */, tails: map[rdma.Key]uint64{key: 400_000, beatKey: 0}}
	row, beats := s.row, s.beats
	s.peer.Close()
	get(t, "down", s.news.down)
	require.Equal(t, had.tails[key], s.there.position().tails[key], "the peer tells of what it can see")
	require.NoError(t, s.goBack(had))
	s.connect(t, func() { s.there.copies[key], s.there.copies[beatKey] = row, beats })
	kinds := []byte{}
	for i := 0; i == 0 || s.t.more; i++ {
		b := s.make(t)
		if i == 0 {
			for _, f := range writes(b) {
				require.True(t, f.key == beatKey || f.pos == 400_000)
			}
		}
		kinds = append(kinds, frames(t, b)...)
		s.give(t, b)
		require.Contains(t, []uint64{400_000, 900_000}, row.Cell(20).Load(), "captured for the new connection")
	}
	require.Equal(t, byte(frameWithdrawn), kinds[len(kinds)-1], "behind the last state")
	require.Equal(t, uint64(900_000), row.Cell(20).Load())
	require.Equal(t, s.own[0].Ring()[:900_000], row.Ring()[:900_000])
}

// What is short does not wait for what is long, and of several that are long only as much is sent as of one.
func TestTurnsAreShared(t *testing.T) {
	idle, far := net.Pipe()
	defer far.Close()
	defer idle.Close()
	n := newNode()
	l := NewLink(idle, n.config("peer"))
	long := map[rdma.Key]*rdma.Region{}
	for i := range uint32(8) {
		r := rdma.NewHeapRegion(rdma.Shape{Cells: 8, Ring: pieceRing})
		k := rdma.Key{Subgroup: 1 + i}
		if r.Cell(rdma.TailCell).Store(pieceRing); i >= 4 {
			r.Cell(rdma.TailCell).Store(wholeBytes)
		} else {
			long[k] = r
		}
		l.Export(k, r, true, nil)
	}
	var tt turn
	sent := map[rdma.Key]int{}
	for i := 0; i == 0 || tt.more; i++ {
		require.NoError(t, l.collect(&tt, true))
		l.commit(&tt)
		of := 0
		for _, f := range writes(bytes.Join(tt.vec, nil)) {
			if sent[f.key] += f.bytes; long[f.key] != nil {
				of += f.bytes
			} else {
				require.Zero(t, i, "in the first turn")
			}
		}
		require.LessOrEqual(t, of, firstTurn)
	}
	require.Len(t, sent, 8)
	for k, n := range sent {
		if long[k] != nil {
			require.Equal(t, pieceRing, n)
		} else {
			require.Equal(t, wholeBytes, n)
		}
	}
}

// A link that is closed sends all pieces before its goodbye.
func TestCloseSendsAllPieces(t *testing.T) {
	for try := 0; ; try++ {
		require.Less(t, try, 20, "it takes its time")
		na, nb, la, lb := linked(t)
		shape := rdma.Shape{Cells: 24, Ring: pieceRing}
		own := nb.register(key, shape)
		r := open(t, na, la, key, shape)
		own.Cell(rdma.TailCell).Store(pieceRing)
		own.Cell(4).Store(44)
		lb.Post(key)
		if closes(lb) >= lingerTime {
			continue // it waits no longer for a peer, which a busy machine may not run
		}
		require.ErrorContains(t, get(t, "down", na.down), "connection closed")
		require.Equal(t, uint64(44), r.Cell(4).Load())
		require.Equal(t, uint64(pieceRing), r.Cell(rdma.TailCell).Load())
		return
	}
}

// ahead is a frame of bytes whose cells come later.
func ahead(pos uint64, data string) []byte {
	b := write(pos, nil, data)
	b[4] = frameAhead
	return b
}

// A link takes as much at a time as its line takes soon, within bounds, and stays where that is neither much nor little.
func TestPace(t *testing.T) {
	a, b := loopback(t)
	defer a.Close()
	defer b.Close()
	const notSent = 25 // TCP_NOTSENT_LOWAT
	c := &connection{Conn: a, socket: rdma.SocketOf(a)}
	unsent := func() (bytes int) {
		raw, err := a.(*net.TCPConn).SyscallConn()
		require.NoError(t, err)
		require.NoError(t, raw.Control(func(fd uintptr) {
			bytes, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, notSent)
		}))
		require.NoError(t, err)
		return bytes
	}
	p := pace{least: leastTurn, most: mostTurn}
	p.begin(c)
	require.Equal(t, firstTurn, unsent())
	for _, step := range []struct {
		took time.Duration
		want int
	}{
		{fastTurn - 1, 2 * firstTurn}, {fastTurn, 2 * firstTurn}, {0, 4 * firstTurn}, {0, mostTurn}, {0, mostTurn},
		{slowTurn, mostTurn}, {slowTurn + 1, mostTurn / 2}, {time.Second, mostTurn / 4}, {time.Second, mostTurn / 8},
		{time.Second, leastTurn}, {time.Second, leastTurn},
		{0, 2 * leastTurn},
	} {
		p.note(c, step.took)
		require.Equal(t, step.want, p.room)
		require.Equal(t, step.want, unsent())
	}
	p.begin(c)
	require.Equal(t, firstTurn, p.room)
}
