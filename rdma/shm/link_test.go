package shm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/omg-dds-go/dds/rdma"
)

// node is one end of a link in a test: it exports what it has and notes what happens.
type node struct {
	mu       sync.Mutex
	memories map[rdma.Key]*Memory
	offers   bool // of memories, of which each has this package's shape
	messages chan string
	opened   chan opened
	down     chan down
}

type opened struct {
	key rdma.Key
	r   *rdma.Region
	err error
}

type down struct {
	died bool
	err  error
}

func newNode() *node {
	return &node{
		memories: map[rdma.Key]*Memory{}, messages: make(chan string, 10000),
		opened: make(chan opened, 100), down: make(chan down, 10),
	}
}

func (n *node) LinkUp(rdma.Link)                      {}
func (n *node) Scanned()                              {}
func (n *node) Refused(rdma.PeerInfo, error)          {}
func (n *node) Dying(rdma.Link)                       {}
func (n *node) Resumed(rdma.Link)                     {}
func (n *node) Message(_ rdma.Link, msg []byte)       { n.messages <- string(msg) }
func (n *node) LinkDown(_ rdma.Link, d bool, e error) { n.down <- down{d, e} }
func (n *node) Opened(_ rdma.Link, k rdma.Key, r *rdma.Region, err error) {
	n.opened <- opened{k, r, err}
}

func (n *node) Want(l *Link, key rdma.Key, shape rdma.Shape) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if m := n.memories[key]; m != nil {
		l.Export(key, m, nil)
	} else {
		l.Export(key, nil, fmt.Errorf("nothing of %d cells here", shape.Cells))
	}
}

func (n *node) Offer(l *Link, key rdma.Key) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if m := n.memories[key]; m != nil && n.offers {
		l.Offer(key, shape, m)
	}
}

// patience bounds what a test waits for; nothing waits that long unless it fails.
const patience = time.Minute

func get[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal("never: ", what)
		panic(0)
	}
}

// socketPair is a connected pair; the ends are as a listener and a dialler would have them.
func socketPair(t testing.TB) (a, b *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	return os.NewFile(uintptr(fds[0]), "a"), os.NewFile(uintptr(fds[1]), "b")
}

func unixConn(f *os.File) (*net.UnixConn, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	return c.(*net.UnixConn), nil
}

func mustConn(t testing.TB, f *os.File) *net.UnixConn {
	t.Helper()
	c, err := unixConn(f)
	require.NoError(t, err)
	return c
}

func bellFor(t testing.TB) *BellMemory {
	t.Helper()
	b, err := NewBell()
	require.NoError(t, err)
	t.Cleanup(b.Close)
	return b
}

// linked is a running link between two nodes of this process.
func linked(t testing.TB) (na, nb *node, la, lb *Link) {
	t.Helper()
	fa, fb := socketPair(t)
	na, nb = newNode(), newNode()
	self := rdma.PeerInfo{PID: uint32(os.Getpid()), Name: "self"}
	la = NewLink(mustConn(t, fa), self, bellFor(t), na, na)
	lb = NewLink(mustConn(t, fb), self, bellFor(t), nb, nb)
	go la.Run()
	go lb.Run()
	t.Cleanup(func() { la.Close(); lb.Close() })
	return na, nb, la, lb
}

var (
	key   = rdma.Key{Subgroup: 3, Epoch: 4}
	shape = rdma.Shape{Cells: 24, Ring: 4096}
)

func TestOpenSharesTheMemory(t *testing.T) {
	na, nb, la, lb := linked(t)
	m, err := Create(shape.Size())
	require.NoError(t, err)
	own := RegionOver(shape, m)
	nb.mu.Lock()
	nb.memories[key] = m
	nb.mu.Unlock()
	own.Cell(5).Store(55)
	la.Open(key, shape)
	o := get(t, "opened", na.opened)
	require.NoError(t, o.err)
	require.Equal(t, key, o.key)
	require.Equal(t, uint64(55), o.r.Cell(5).Load())
	own.Ring()[99] = 9
	own.Cell(0).Store(1)
	require.Equal(t, uint64(1), o.r.Cell(0).Load(), "without any post")
	require.Equal(t, byte(9), o.r.Ring()[99])
	require.True(t, la.Aliased())

	la.Open(rdma.Key{Subgroup: 9}, shape)
	o = get(t, "refused", na.opened)
	require.ErrorContains(t, o.err, "nothing of 24 cells here")

	nb.mu.Lock() // it does not answer yet
	la.Open(rdma.Key{Subgroup: 9}, shape)
	la.Release(rdma.Key{Subgroup: 9})
	nb.mu.Unlock()
	la.Send([]byte("after"))
	require.Equal(t, "after", get(t, "message", nb.messages))
	lb.Send([]byte("back")) // behind the answer to the released request
	require.Equal(t, "back", get(t, "message", na.messages))
	require.Empty(t, na.opened, "what was released is not answered")
}

// Who opens a region offers its own: the other end opens that without asking.
func TestOffer(t *testing.T) {
	na, nb, la, lb := linked(t)
	na.offers = true
	offer := func(key rdma.Key) *rdma.Region {
		m, err := Create(shape.Size())
		require.NoError(t, err)
		na.mu.Lock()
		na.memories[key] = m
		na.mu.Unlock()
		la.Open(key, shape)
		require.Error(t, get(t, "answer", na.opened).err, "b has none")
		la.Send([]byte("behind the offer"))
		get(t, "message", nb.messages)
		return RegionOver(shape, m)
	}
	whole, cells := rdma.Key{Subgroup: 1}, rdma.Key{Subgroup: 2}
	own := offer(whole)
	own.Cell(5).Store(55)
	own.Ring()[99] = 9
	lb.Open(whole, shape)
	require.Len(t, nb.opened, 1, "at once")
	o := <-nb.opened
	require.NoError(t, o.err)
	require.Equal(t, whole, o.key)
	require.Equal(t, uint64(55), o.r.Cell(5).Load())
	require.Equal(t, byte(9), o.r.Ring()[99])

	own = offer(cells)
	own.Cell(5).Store(56)
	lb.Open(cells, rdma.Shape{Cells: shape.Cells})
	require.Len(t, nb.opened, 1)
	o = <-nb.opened
	require.Equal(t, uint64(56), o.r.Cell(5).Load())
	require.Empty(t, o.r.Ring())

	// An offer that does not fit is none, and neither is one that was released: b asks.
	other, released := rdma.Key{Subgroup: 3}, rdma.Key{Subgroup: 4}
	offer(other)
	lb.Open(other, rdma.Shape{Cells: shape.Cells + 1, Ring: shape.Ring})
	require.Empty(t, nb.opened)
	get(t, "answer", nb.opened)
	offer(released)
	lb.Release(released)
	lb.Open(released, shape)
	require.NoError(t, get(t, "answer", nb.opened).err)
}

// An offer that comes behind the request answers it, and the answer that follows is dropped.
func TestOfferBehindTheRequest(t *testing.T) {
	na, nb, la, lb := linked(t)
	na.offers = true
	lb.Send([]byte("ready"))
	get(t, "message", na.messages)
	m, err := Create(shape.Size())
	require.NoError(t, err)
	own := RegionOver(shape, m)
	na.mu.Lock()
	na.memories[key] = m
	lb.Open(key, shape) // a can not answer while its lock is held
	lb.Send([]byte("behind the request"))
	la.Offer(key, shape, m)
	require.NoError(t, get(t, "opened", nb.opened).err)
	na.mu.Unlock()
	get(t, "message", na.messages)
	la.Send([]byte("behind the answer"))
	get(t, "message", nb.messages)
	require.Empty(t, nb.opened)
	require.Zero(t, own.Cell(0).Load())
}

// offering is a link to a peer that the test plays by hand, which has offered regions when offer returns: each time the
// same memory.
func offering(t *testing.T) (n *node, l *Link, memory file, offer func(keys ...rdma.Key)) {
	t.Helper()
	n, l, peer := hostile(t)
	m, err := Create(shape.Size())
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return n, l, fileOf(t, m.fd), func(keys ...rdma.Key) {
		t.Helper()
		for _, k := range keys {
			_, _, err := peer.WriteMsgUnix(shape.Append(k.Append([]byte{msgOffer})), unix.UnixRights(m.fd), nil)
			require.NoError(t, err)
		}
		_, err := peer.Write([]byte{msgControl})
		require.NoError(t, err)
		select {
		case <-n.messages:
		case d := <-n.down:
			t.Fatal("the link is down: ", d.err)
		}
	}
}

// This node may know that all are done with an epoch, and release it, before the peer's offer has arrived.
func TestOfferBehindTheRelease(t *testing.T) {
	n, l, memory, offer := offering(t)
	for i := range uint32(maxOffers + 1) {
		k := rdma.Key{Subgroup: 1, Epoch: i}
		l.Release(k)
		offer(k)
	}
	require.Equal(t, 1, memory.mappings(t), "the peer's own")

	// Epochs need not be released in their order.
	old, last, next := rdma.Key{Subgroup: 2, Epoch: 6}, rdma.Key{Subgroup: 2, Epoch: 7}, rdma.Key{Subgroup: 2, Epoch: 8}
	offer(old, next)
	require.Equal(t, 3, memory.mappings(t))
	l.Release(last)
	l.Release(old)
	require.Equal(t, 2, memory.mappings(t))
	offer(last)
	require.Equal(t, 2, memory.mappings(t))
	l.Open(next, shape)
	require.Len(t, n.opened, 1, "at once")
	<-n.opened
	l.Open(old, shape)
	require.Empty(t, n.opened)
	offer(old)
	require.NoError(t, get(t, "answer", n.opened).err, "it is taken if it was asked for")
}

func TestOffersThatNobodyOpens(t *testing.T) {
	n, l, memory, offer := offering(t)
	keys := make([]rdma.Key, maxOffers+10)
	for i := range keys {
		keys[i] = rdma.Key{Subgroup: 1, Epoch: uint32(i)}
	}
	offer(keys...)
	require.Equal(t, 1+maxOffers, memory.mappings(t))
	l.Open(keys[maxOffers], shape)
	require.Empty(t, n.opened, "it was not taken")
	offer(keys[maxOffers])
	require.NoError(t, get(t, "answer", n.opened).err)
	l.Open(keys[0], shape)
	require.Len(t, n.opened, 1, "at once")
}

// An offer, for which nobody has asked, can not be taken. The link goes on, and asks.
func TestOfferThatCanNotBeTaken(t *testing.T) {
	whole, err := Create(shape.Size())
	require.NoError(t, err)
	defer whole.Close()
	small, err := Create(4096)
	require.NoError(t, err)
	defer small.Close()
	for _, c := range []struct {
		name        string
		fd          int
		descriptors uint64 // that this process may have when it arrives, fewer than it has; 0: enough
	}{
		{"no descriptor is free", whole.fd, 3},
		{"it can not be mapped", small.fd, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, l, peer := halted(t)
			_, _, errOffer := peer.WriteMsgUnix(shape.Append(key.Append([]byte{msgOffer})), unix.UnixRights(c.fd), nil)
			_, errMessage := peer.Write([]byte{msgControl, 'x'})
			var limit unix.Rlimit
			errLimit := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
			few := limit
			if c.descriptors > 0 {
				few.Cur = c.descriptors
			}
			errFew := unix.Setrlimit(unix.RLIMIT_NOFILE, &few)
			go l.Run()
			var end down
			select {
			case <-n.messages:
			case end = <-n.down:
			}
			require.NoError(t, errors.Join(errOffer, errMessage, errLimit, errFew, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)))
			require.NoError(t, end.err, "the link is down")
			l.Open(key, shape)
			asked := make([]byte, 100)
			size, err := peer.Read(asked)
			require.NoError(t, err)
			require.Equal(t, shape.Append(key.Append([]byte{msgOpen})), asked[:size])
		})
	}
}

// What this process has asked for comes when it has no descriptor to spare: the link ends, and says why.
func TestRowWithoutADescriptor(t *testing.T) {
	row, err := Create(shape.Size())
	require.NoError(t, err)
	defer row.Close()
	n, l, peer := halted(t)
	l.Open(key, shape)
	_, _, errRow := peer.WriteMsgUnix(key.Append([]byte{msgOpened}), unix.UnixRights(row.fd), nil)
	var limit unix.Rlimit
	errLimit := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	errFew := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: limit.Max})
	go l.Run()
	end := <-n.down
	require.NoError(t, errors.Join(errRow, errLimit, errFew, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)))
	require.ErrorIs(t, end.err, unix.EMFILE)
	require.ErrorContains(t, end.err, "raise the limit of open files")
	require.Empty(t, n.opened)
}

func TestMessagesInOrderUpToTheEnd(t *testing.T) {
	const n = 2000
	big := make([]byte, rdma.MaxMessage)
	var nb *node
	for took, try := lingerTime, 0; took >= lingerTime && try < 10; try++ { // Close waits no longer for a peer, which a busy machine may not run
		var la *Link
		_, nb, la, _ = linked(t)
		for i := range n {
			la.Send(fmt.Append(nil, i))
		}
		la.Send(big)
		begin := time.Now()
		la.Close()
		took = time.Since(begin)
	}
	d := get(t, "down at the peer", nb.down)
	require.False(t, d.died, "an orderly end is no death")
	for i := range n {
		require.Equal(t, fmt.Sprint(i), get(t, "message", nb.messages))
	}
	require.Len(t, get(t, "message", nb.messages), rdma.MaxMessage)
	require.Len(t, nb.down, 0, "down once")
}

// A link that is dropped ends at once on both sides, and nobody takes it for a death.
func TestDrop(t *testing.T) {
	var na, nb *node
	var la, lb *Link
	for took, try := deathTime, 0; took >= deathTime; try++ { // what else the machine does only makes it later
		require.Less(t, try, 10, "it waits for a death")
		na, nb, la, lb = linked(t)
		begin := time.Now()
		la.Drop(errors.New("silent for too long"))
		la.Drop(errors.New("once more"))
		d := get(t, "down", na.down)
		require.False(t, d.died)
		require.ErrorContains(t, d.err, "silent for too long")
		d = get(t, "down", nb.down)
		require.False(t, d.died)
		took = time.Since(begin)
	}
	la.Send([]byte("lost"))
	la.Drop(errors.New("late"))
	lb.Drop(errors.New("late"))
	require.Empty(t, na.down)
	require.Empty(t, nb.down)
}

// The link may end while both live: as long as it is kept the fence of the peer can be raised, which holds the peer up.
func TestFenceBehindAnEndedLink(t *testing.T) {
	bell := bellFor(t) // of the peer
	fence := rdma.NewFence(bell.FenceWord())
	fd, err := unix.FcntlInt(uintptr(bell.page.fd), unix.F_DUPFD_CLOEXEC, 0)
	require.NoError(t, err)
	mapped, err := MapBell(fd)
	require.NoError(t, err)
	file, other := socketPair(t)
	defer other.Close()
	n := newNode()
	l := NewLink(mustConn(t, file), rdma.PeerInfo{PID: uint32(os.Getpid())}, mapped, n, n)
	go l.Run()
	l.Drop(errors.New("a row can not be mapped"))
	require.False(t, get(t, "down", n.down).died)
	runtime.GC() // which unmaps what nothing refers to
	require.False(t, fence.Raised())
	l.RaiseFence()
	require.True(t, fence.Raised())
}

func TestCloseAtBothEndsAtOnce(t *testing.T) {
	begin := time.Now()
	for range 20 {
		na, nb, la, lb := linked(t)
		var wg sync.WaitGroup
		wg.Go(la.Close)
		wg.Go(lb.Close)
		wg.Wait()
		require.False(t, get(t, "down", na.down).died)
		require.False(t, get(t, "down", nb.down).died)
		la.Close() // again
		require.Empty(t, na.down)
	}
	require.Less(t, time.Since(begin), 20*lingerTime, "no end waits for the other's time-out")
}

// A peer that takes nothing does not keep Close, nor memory or descriptors.
func TestCloseWithAPeerThatDoesNotRead(t *testing.T) {
	fa, fb := socketPair(t)
	defer fb.Close()
	n := newNode()
	m, err := Create(shape.Size())
	require.NoError(t, err)
	defer m.Close()
	l := NewLink(mustConn(t, fa), rdma.PeerInfo{PID: uint32(os.Getpid())}, bellFor(t), n, n)
	go l.Run()
	for range 300 {
		l.Send(make([]byte, 4096))
		l.Export(key, m, nil)
	}
	before := descriptors(t)
	l.Close()
	get(t, "down", n.down)
	l.Export(key, m, nil) // too late
	require.Less(t, descriptors(t), before-100, "descriptors that were queued are closed")
}

// hostile is a link of this node to a peer that the test plays by hand.
func hostile(t *testing.T) (*node, *Link, *net.UnixConn) {
	t.Helper()
	n, l, peer := halted(t)
	go l.Run()
	return n, l, peer
}

// halted is such a link that the test has to run: the peer may send before.
func halted(t *testing.T) (*node, *Link, *net.UnixConn) {
	t.Helper()
	fa, fb := socketPair(t)
	n, peer := newNode(), mustConn(t, fb)
	l := NewLink(mustConn(t, fa), rdma.PeerInfo{PID: uint32(os.Getpid()), Name: "hostile"}, bellFor(t), n, n)
	t.Cleanup(func() { peer.Close(); l.Close() })
	return n, l, peer
}

func TestMalformedMessages(t *testing.T) {
	keyBytes := key.Append(nil)
	openOf := func(cells, ring uint32) []byte {
		b := append([]byte{msgOpen}, keyBytes...)
		b = binary.LittleEndian.AppendUint32(b, cells)
		return binary.LittleEndian.AppendUint32(b, ring)
	}
	good, err := Create(shape.Size())
	require.NoError(t, err)
	t.Cleanup(good.Close)
	small, err := Create(4096)
	require.NoError(t, err)
	t.Cleanup(small.Close)
	unsealed, err := createShared(shape.Size())
	require.NoError(t, err)
	t.Cleanup(unsealed.Close)
	for _, c := range []struct {
		name string
		b    []byte
		fds  []int
		want string
	}{
		{"unknown kind", []byte{77, 1, 2, 3}, nil, "message 77"},
		{"short open", []byte{msgOpen, 1}, nil, "message 2"},
		{"open without shape", append([]byte{msgOpen}, keyBytes...), nil, "message 2"},
		{"open of no cells", openOf(0, 0), nil, "0 cells"},
		{"open of a huge ring", openOf(1, 1<<31), nil, "ring of"},
		{"opened without descriptor", append([]byte{msgOpened}, keyBytes...), nil, "message 3"},
		{"short opened", []byte{msgOpened, 1}, []int{good.fd}, "unexpected descriptor"},
		{"descriptor with a message", []byte{msgControl, 1}, []int{good.fd}, "unexpected descriptor"},
		{"short refusal", []byte{msgOpenFail}, nil, "message 4"},
		{"too long", make([]byte, rdma.MaxMessage+200), nil, "too long"},
		{"too long with descriptor", append([]byte{msgControl}, make([]byte, rdma.MaxMessage+200)...), []int{good.fd}, "too long"},
		{"memory too small", append([]byte{msgOpened}, keyBytes...), []int{small.fd}, "4096 bytes, want 8192"},
		{"memory not sealed", append([]byte{msgOpened}, keyBytes...), []int{unsealed.fd}, "seals"},
		{"several descriptors", append([]byte{msgControl}, keyBytes...), []int{good.fd, small.fd, good.fd}, "unexpected descriptor"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // each waits for a death that does not come
			n, l, peer := hostile(t)
			l.Open(key, shape)
			_, _, err := peer.WriteMsgUnix(c.b, rights(c.fds), nil)
			require.NoError(t, err)
			d := get(t, "down", n.down)
			require.ErrorContains(t, d.err, c.want)
			require.ErrorContains(t, d.err, "hostile", "the text names the peer")
			require.False(t, d.died)
			require.Empty(t, n.opened)
		})
	}
}

func rights(fds []int) []byte {
	if len(fds) == 0 {
		return nil
	}
	return unix.UnixRights(fds...)
}

func TestUnaskedAnswersAreDropped(t *testing.T) {
	n, _, peer := hostile(t)
	m, err := Create(shape.Size())
	require.NoError(t, err)
	defer m.Close()
	for range 10 {
		_, _, err = peer.WriteMsgUnix(key.Append([]byte{msgOpened}), unix.UnixRights(m.fd), nil)
		require.NoError(t, err)
		_, err = peer.Write(append(key.Append([]byte{msgOpenFail}), "no"...))
		require.NoError(t, err)
	}
	_, err = peer.Write([]byte{msgControl, 'x'})
	require.NoError(t, err)
	require.Equal(t, "x", get(t, "message", n.messages))
	require.Empty(t, n.opened)
	require.Equal(t, 1, fileOf(t, m.fd).descriptors(t), "its own")
}

// --- another process

// runPeer is the other process: one end of a link over descriptor 3, with one region.
func runPeer(role string) {
	conn, err := unixConn(os.NewFile(3, "link"))
	if err != nil {
		fmt.Println(err)
		os.Exit(3)
	}
	bell, err := MapBell(4)
	if err != nil {
		fmt.Println(err)
		os.Exit(3)
	}
	n := newNode()
	m, err := Create(shape.Size())
	if err != nil {
		fmt.Println(err)
		os.Exit(3)
	}
	n.memories[key] = m
	r := RegionOver(shape, m)
	copy(r.Ring(), "still here")
	r.Cell(0).Store(10)
	l := NewLink(conn, rdma.PeerInfo{PID: uint32(os.Getppid())}, bell, n, n)
	go l.Run()
	l.Send([]byte("ready"))
	for msg := range n.messages {
		switch msg {
		case "store and ring":
			r.Cell(1).Store(1)
			l.Ring()
		case "close":
			l.Close()
			os.Exit(0)
		case "die":
			for range 100 {
				l.Send([]byte("last words"))
			}
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	}
	_ = role
}

func peerProcessFor(t *testing.T) (n *node, l *Link, bell *BellMemory, wait func() error) {
	t.Helper()
	fa, fb := socketPair(t)
	bell = bellFor(t)
	bf := os.NewFile(uintptr(dup(t, bell.page.fd)), "bell")
	cmd := child(t, "peer", fb, bf)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	require.NoError(t, cmd.Start())
	fb.Close()
	bf.Close()
	n = newNode()
	// The pair was made here, so the socket would name this process as the peer; a link between
	// processes is made by listening and dialling.
	l = NewLink(mustConn(t, fa), rdma.PeerInfo{PID: uint32(cmd.Process.Pid), Name: "child"}, bellFor(t), n, n)
	l.pidfd.Close()
	fd, err := unix.PidfdOpen(cmd.Process.Pid, 0)
	require.NoError(t, err)
	l.pidfd = os.NewFile(uintptr(fd), "process")
	go l.Run()
	t.Cleanup(func() { l.Close(); _ = cmd.Process.Kill() })
	require.Equal(t, "ready", get(t, "the child", n.messages))
	return n, l, bell, cmd.Wait
}

func TestKilledProcess(t *testing.T) {
	eventually(t, "earlier tests to be collected", func() bool { c, _ := mappings(t); return c == 0 })
	fds := descriptors(t)
	t.Run("link", func(t *testing.T) {
		n, l, bell, wait := peerProcessFor(t)
		l.Open(key, shape)
		o := get(t, "opened", n.opened)
		require.NoError(t, o.err)

		sleeper := bell.Bell().Poller()
		sleeper.Prepare()
		l.Send([]byte("store and ring"))
		for o.r.Cell(1).Load() == 0 {
			sleeper.Sleep(time.Minute) // the other process wakes us
		}

		l.Send([]byte("die"))
		d := get(t, "down", n.down)
		require.True(t, d.died, "%v", d.err)
		require.ErrorContains(t, d.err, "died")
		require.Equal(t, syscall.SIGKILL, signalled(wait()))
		require.Equal(t, "still here", string(o.r.Ring()[:10]), "what it had stored can be read on")
		require.Equal(t, uint64(10), o.r.Cell(0).Load())
		l.Ring() // nobody hears it
		l.Send([]byte("to nobody"))
		l.Close()
	})
	eventually(t, "all mappings gone", func() bool { c, _ := mappings(t); return c == 0 })
	eventually(t, "all descriptors closed", func() bool { return descriptors(t) <= fds })
}

func TestProcessThatCloses(t *testing.T) {
	n, l, _, wait := peerProcessFor(t)
	l.Send([]byte("close"))
	d := get(t, "down", n.down)
	require.False(t, d.died, "it said good-bye")
	require.NoError(t, wait())
}

// Of a process that dies when its link has ended the link tells, as long as somebody asks for it; then nothing is left of it,
// whether the process has died or lives.
func TestDeathBehindTheLink(t *testing.T) {
	eventually(t, "earlier tests to be collected", func() bool { c, _ := mappings(t); return c == 0 })
	fds := descriptors(t)
	for _, dies := range []bool{false, true} {
		t.Run(fmt.Sprintf("dies %t", dies), func(t *testing.T) {
			n, l, _, wait := peerProcessFor(t)
			l.Drop(errors.New("no descriptor is left"))
			require.False(t, get(t, "down", n.down).died)
			require.False(t, l.Died(), "it lives")
			if dies {
				require.NoError(t, syscall.Kill(int(l.Peer().PID), syscall.SIGKILL))
				require.Equal(t, syscall.SIGKILL, signalled(wait()))
				require.True(t, l.Died())
				require.True(t, l.Died())
			}
		})
	}
	eventually(t, "all descriptors closed", func() bool { return descriptors(t) <= fds })
}
