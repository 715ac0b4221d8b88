package derecho

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/rdma/mem"
	"github.com/omg-dds-go/dds/rdma/shm"
)

// recorder is a Handler that notes everything.
type recorder struct {
	mu        sync.Mutex
	changed   chan struct{} // closed at every upcall, replaced
	got       []got
	endpoints []string
	infos     []string // of the endpoints that were added
	nodes     []NodeID
	awaited   []ChannelID
	kept      []uint32 // epochs from which on it keeps a state
	loaded    []string
	failed    error
	leftOut   []string
	lost      []NodeID // that failed
	views     []View
	isolated  error
	excluded  int
	entered   []NodeID // IDs that this node had
	onDeliver func(batch []Message)
	onReclaim func()
	onRemoved func(ep Endpoint)
}

type got struct {
	sender  NodeID
	channel ChannelID
	epoch   uint32
	seq     uint64
	text    string
}

func newRecorder() *recorder { return &recorder{changed: make(chan struct{})} }

func (r *recorder) note(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *recorder) EndpointChanged(ep Endpoint) {
	r.note(func() { r.endpoints = append(r.endpoints, fmt.Sprintf("=%s/%d %s", ep.Node, ep.ID, ep.Info)) })
}

func (r *recorder) EndpointAdded(ep Endpoint) {
	r.note(func() {
		r.endpoints = append(r.endpoints, fmt.Sprintf("+%s/%d", ep.Node, ep.ID))
		r.infos = append(r.infos, string(ep.Info))
	})
}
func (r *recorder) EndpointRemoved(ep Endpoint) {
	if r.onRemoved != nil {
		r.onRemoved(ep)
	}
	r.note(func() { r.endpoints = append(r.endpoints, fmt.Sprintf("-%s/%d", ep.Node, ep.ID)) })
}
func (r *recorder) NodeJoined(id NodeID)              { r.note(func() { r.nodes = append(r.nodes, id) }) }
func (r *recorder) NodeLeft(NodeID)                   {}
func (r *recorder) Viewed(v View)                     { r.note(func() { r.views = append(r.views, v) }) }
func (r *recorder) Entered(id NodeID)                 { r.note(func() { r.entered = append(r.entered, id) }) }
func (r *recorder) Silence(NodeID, time.Duration)     {}
func (r *recorder) NodeFailed(id NodeID)              { r.note(func() { r.lost = append(r.lost, id) }) }
func (r *recorder) Isolated(err error)                { r.note(func() { r.isolated = err }) }
func (r *recorder) Undelivered(SubgroupID, []Message) {}
func (r *recorder) Excluded(error)                    { r.note(func() { r.excluded++ }) }
func (r *recorder) Deliver(_ SubgroupID, batch []Message) {
	r.note(func() {
		for _, m := range batch {
			r.got = append(r.got, got{m.Sender, m.Channel, m.Epoch, m.Seq, string(m.Payload)})
		}
	})
	if r.onDeliver != nil {
		r.onDeliver(batch)
	}
}
func (r *recorder) Reclaim(SubgroupID) {
	if r.onReclaim != nil {
		r.onReclaim()
	}
}
func (r *recorder) AwaitState(_ SubgroupID, ch ChannelID, from uint32, pending bool) {
	r.note(func() {
		if from != 0 {
			r.kept = append(r.kept, from)
		}
		if pending {
			r.awaited = append(r.awaited, ch)
		}
	})
}

// SaveState is everything delivered so far on the channel.
func (r *recorder) SaveState(_ SubgroupID, ch ChannelID) func() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []byte
	for _, s := range r.loaded {
		all = append(all, s...)
	}
	for _, g := range r.got {
		if g.channel == ch {
			all = append(append(all, g.text...), ' ')
		}
	}
	return func() []byte { return all }
}
func (r *recorder) ReadState(_ SubgroupID, _ ChannelID, state []byte) func() bool {
	return func() bool {
		r.note(func() { r.loaded = append(r.loaded, string(state)) })
		return true
	}
}
func (r *recorder) LogFailed(_ SubgroupID, _ NodeID, err error) { r.note(func() { r.failed = err }) }
func (r *recorder) LeftOut(_ SubgroupID, ch ChannelID, w EndpointID, upTo uint64) {
	r.note(func() { r.leftOut = append(r.leftOut, fmt.Sprintf("%d of writer %d on %d", upTo, w, ch)) })
}
func (r *recorder) Failed(err error) { r.note(func() { r.failed = err }) }

// patience bounds what a test waits for; nothing waits that long unless it fails.
const patience = time.Minute

// wait blocks until cond holds, looked at after every upcall.
func (r *recorder) wait(t testing.TB, what string, cond func() bool) {
	t.Helper()
	limit := time.After(patience)
	for {
		r.mu.Lock()
		ok, changed := cond(), r.changed
		n := len(r.got)
		failed := r.failed
		r.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("timed out waiting for %s; %d messages, failure %v", what, n, failed)
		}
	}
}

func (r *recorder) snapshot() []got {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]got(nil), r.got...)
}

// cluster makes nodes of one domain over one kind of fabric.
type cluster struct {
	t    testing.TB
	cfg  Config
	recs []*recorder
	node []*Node
}

// eachFabric runs a test over memory of one process, shared memory and tcp.
func eachFabric(t *testing.T, f func(t *testing.T, c *cluster)) {
	domain := rand.Uint32()
	t.Run("mem", func(t *testing.T) {
		var net mem.Network
		f(t, &cluster{t: t, cfg: Config{fabric: func(cfg *Config, id uint64, bell *shm.BellMemory, ev rdma.Events) (startable, error) {
			return net.Attach(rdma.PeerInfo{ID: id, PID: uint32(os.Getpid()), Name: cfg.Name, Fingerprint: cfg.Fingerprint}, bell.Bell(), ev), nil
		}}})
	})
	t.Run("shm", func(t *testing.T) { f(t, &cluster{t: t, cfg: Config{Domain: domain}}) })
	t.Run("tcp", func(t *testing.T) {
		thePoller.mu.Lock()
		thePoller.shared = false // as in a process that never had another transport
		thePoller.mu.Unlock()
		f(t, &cluster{t: t, cfg: Config{Domain: domain + 1, Transport: TransportTCP}})
	})
	require.Zero(t, thePoller.lives.Load(), "nodes that nobody has ended")
}

func (c *cluster) join() (*Node, *recorder) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r := newRecorder()
	cfg := c.cfg
	cfg.Name = fmt.Sprintf("node%d", len(c.node))
	n, err := Join(ctx, cfg, r)
	require.NoError(c.t, err)
	c.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(c.t, n.Leave(ctx))
	})
	c.node, c.recs = append(c.node, n), append(c.recs, r)
	return n, r
}

// pair is a writer and a reader of channel 7, and what the reader is handed. prepare, unless it is nil, comes before anything is.
func (c *cluster) pair(prepare func(*recorder)) (w, r *Node, rec *recorder) {
	c.t.Helper()
	w, _ = c.join()
	r, rec = c.join()
	if prepare != nil {
		prepare(rec)
	}
	r.mustAdd(c.t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{ordered}})
	w.mustAdd(c.t, Endpoint{ID: 1, Channel: 7, Writes: ordered})
	return w, r, rec
}

// die ends a node at once, as if its process had ended.
func die(t testing.TB, n *Node) {
	t.Helper()
	l := n.life.Load()
	thePoller.remove(l)
	l.baton.Lock() // a pass may be under way: the next would take the end of its links for the death of the others
	if k, is := l.fabric.(*mem.Fabric); is {
		k.Kill()
		return
	}
	require.NoError(t, l.fabric.Close())
}

// settle waits until every node knows of so many endpoints: what is written then reaches all.
func (c *cluster) settle(endpoints int) {
	for _, r := range c.recs {
		r.wait(c.t, "endpoints", func() bool { return len(r.endpoints) >= endpoints })
	}
}

func ctxFor(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func (n *Node) mustAdd(t testing.TB, ep Endpoint) {
	t.Helper()
	require.NoError(t, n.AddEndpoint(ctxFor(t), ep))
}

func (n *Node) mustSend(t testing.TB, sg Subgroup, ch ChannelID, w EndpointID, text string) {
	t.Helper()
	s, err := n.Reserve(ctxFor(t), sg.ID, ch, len(text), time.Time{})
	require.NoError(t, err)
	copy(s.Bytes(), text)
	s.Commit(Header{Writer: w}, len(text))
}

// stream sends 0, 1, 2, ... at some 10,000 messages a second until the returned function is called,
// which tells how many there were.
func (n *Node) stream(t testing.TB, sg Subgroup, ch ChannelID, w EndpointID) (finish func() int) {
	stop, count := make(chan struct{}), make(chan int)
	ctx := ctxFor(t)
	go func() {
		sent := 0
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				count <- sent
				return
			case <-tick.C:
			}
			for range 10 {
				text := fmt.Sprint(sent)
				s, err := n.Reserve(ctx, sg.ID, ch, len(text), time.Time{})
				if err != nil {
					t.Error(err)
					continue
				}
				copy(s.Bytes(), text)
				s.Commit(Header{Writer: w}, len(text))
				sent++
			}
		}
	}()
	return func() int {
		close(stop)
		return <-count
	}
}

var ordered = Subgroup{ID: 5, Mode: Ordered}

func TestOneWriterOneReader(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		a, _ := c.join()
		b, rb := c.join()
		b.mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{ordered}})
		a.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: ordered})
		for i := range 1000 {
			a.mustSend(t, ordered, 7, 1, fmt.Sprint(i))
		}
		rb.wait(t, "1000 messages", func() bool { return len(rb.got) == 1000 })
		for i, g := range rb.snapshot() {
			require.Equal(t, got{a.ID(), 7, g.epoch, uint64(i), fmt.Sprint(i)}, g)
		}
		require.NoError(t, a.WaitAcked(ctxFor(t), ordered.ID))
	})
}

// All members write and read; everybody delivers the same sequence, with the messages of each
// sender in order.
func TestTotalOrder(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		const nodes, each = 4, 500
		for range nodes {
			c.join()
		}
		for _, n := range c.node {
			n.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: ordered, Reads: []Subgroup{ordered}})
		}
		c.settle(nodes)
		var wg sync.WaitGroup
		for i, n := range c.node {
			wg.Go(func() {
				for k := range each {
					n.mustSend(t, ordered, 7, 1, fmt.Sprintf("%d:%d", i, k))
				}
			})
		}
		wg.Wait()
		for _, r := range c.recs {
			r.wait(t, "all messages", func() bool { return len(r.got) == nodes*each })
		}
		first := c.recs[0].snapshot()
		for _, r := range c.recs[1:] {
			require.Equal(t, first, r.snapshot())
		}
		next := map[NodeID]int{}
		for _, g := range first {
			var i, k int
			_, err := fmt.Sscanf(g.text, "%d:%d", &i, &k)
			require.NoError(t, err)
			require.Equal(t, next[g.sender], k)
			next[g.sender]++
		}
	})
}

// Another Info of an endpoint comes at the same place of the order at every member, and to who joins later.
func TestChangeEndpoint(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		a, ra := c.join()
		_, rb := c.join()
		a.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: ordered, Info: []byte("one")})
		require.NoError(t, a.ChangeEndpoint(ctxFor(t), 1, []byte("two")))
		a.mustAdd(t, Endpoint{ID: 2, Channel: 7, Reads: []Subgroup{ordered}})
		require.NoError(t, a.ChangeEndpoint(ctxFor(t), 1, []byte("three")))
		want := []string{"+%s/1", "=%s/1 two", "+%s/2", "=%s/1 three"}
		for i := range want {
			want[i] = fmt.Sprintf(want[i], a.ID())
		}
		for _, r := range []*recorder{ra, rb} {
			r.wait(t, "endpoints", func() bool { return len(r.endpoints) == len(want) })
			require.Equal(t, want, r.endpoints)
		}
		called := false
		require.NoError(t, a.Upcall(ctxFor(t), func() { called = true }))
		require.True(t, called)
		var late []string
		_, rc := c.join()
		rc.note(func() { late = slices.Clone(rc.infos) })
		require.Equal(t, []string{"three", ""}, late)
		require.ErrorIs(t, a.ChangeEndpoint(ctxFor(t), 9, nil), ErrConfig)
		require.NoError(t, a.RemoveEndpoint(ctxFor(t), 1))
		require.ErrorIs(t, a.ChangeEndpoint(ctxFor(t), 1, nil), ErrConfig)
		require.ErrorIs(t, a.ChangeEndpoint(ctxFor(t), 2, make([]byte, MaxInfo+1)), ErrTooLarge)
	})
}

// A silent sender does not keep the others from delivering, and all goes quiet afterwards.
func TestSilentSender(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		for range 3 {
			c.join()
		}
		for _, n := range c.node {
			n.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: ordered, Reads: []Subgroup{ordered}})
		}
		c.settle(3)
		for k := range 100 {
			c.node[1].mustSend(t, ordered, 7, 1, fmt.Sprint(k))
			for _, r := range c.recs {
				r.wait(t, "message", func() bool { return len(r.got) == k+1 })
			}
		}
	})
}

func TestUnordered(t *testing.T) {
	sg := Subgroup{ID: 9, Mode: Unordered}
	eachFabric(t, func(t *testing.T, c *cluster) {
		a, _ := c.join()
		b, rb := c.join()
		b.mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{sg}})
		a.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: sg})
		for i := range 100 {
			a.mustSend(t, sg, 7, 1, fmt.Sprint(i))
		}
		rb.wait(t, "100 messages", func() bool { return len(rb.got) == 100 })
	})
}

// Readers join and leave while a writer writes: no gap and no duplicate for those who stay, and
// who joins sees a suffix.
func TestJoinsAndLeavesUnderLoad(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		w, _ := c.join()
		stay, rs := c.join()
		stay.mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{ordered}})
		w.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: ordered})
		finish := w.stream(t, ordered, 7, 1)
		for range 5 {
			guest, rg := c.join()
			guest.mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{ordered}})
			rg.wait(t, "a message", func() bool { return len(rg.got) > 10 })
			require.NoError(t, guest.Leave(ctxFor(t)))
			for i, g := range rg.snapshot() {
				require.Equal(t, rg.got[0].number(t)+i, g.number(t))
			}
		}
		sent := finish()
		rs.wait(t, "everything", func() bool { return len(rs.got) == sent })
		for i, g := range rs.snapshot() {
			require.Equal(t, i, g.number(t))
		}
	})
}

func (g got) number(t *testing.T) (n int) {
	t.Helper()
	_, err := fmt.Sscan(g.text, &n)
	require.NoError(t, err)
	return n
}

// Who has only received a channel, and then is the first to keep its state, is told from which epoch on it does.
func TestReaderBecomesFirstReplica(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		w, _ := c.join()
		n, r := c.join()
		w.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: ordered})
		n.mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{ordered}})
		require.Empty(t, r.kept)
		n.mustAdd(t, Endpoint{ID: 2, Channel: 7, Reads: []Subgroup{ordered}, Replica: true})
		c.settle(3)
		require.Len(t, r.kept, 1)
		// The writer keeps nothing: the state is what has come since.
		w.mustSend(t, ordered, 7, 1, "after")
		r.wait(t, "a message", func() bool { return len(r.got) == 1 })
		require.LessOrEqual(t, r.kept[0], r.snapshot()[0].epoch)
	})
}

// A replica that joins later gets the state at the cut, then what follows: nothing twice, nothing
// missing.
func TestStateTransfer(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		w, rw := c.join()
		w.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: ordered, Reads: []Subgroup{ordered}, Replica: true})
		finish := w.stream(t, ordered, 7, 1)
		rw.wait(t, "some history", func() bool { return len(rw.got) > 50 })
		late, rl := c.join()
		late.mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{ordered}, Replica: true})
		rl.wait(t, "state and messages", func() bool { return len(rl.loaded) == 1 && len(rl.got) > 50 })
		sent := finish()
		var want strings.Builder
		for i := range sent {
			fmt.Fprint(&want, i, " ")
		}
		rl.wait(t, "everything", func() bool { return len(rl.got) > 0 && rl.got[len(rl.got)-1].text == fmt.Sprint(sent-1) })
		require.Equal(t, want.String(), string(rl.SaveState(0, 7)()))
	})
}
