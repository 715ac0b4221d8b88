package dcps

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// patience bounds what a test waits for; nothing waits that long unless it fails.
const patience = time.Minute

func patiently(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// domain is a domain of participants in one process: on the bus, or over the real core.
type domain struct {
	bus      *bus // nil over the real core
	id       DomainID
	settings Settings
	nodes    []*node
}

func onBus(t testing.TB) *domain { return &domain{bus: newBus()} }

var lastDomain atomic.Uint32

// onCore makes a domain over the real core that no other test process has.
func onCore(t testing.TB, s Settings) *domain {
	return &domain{id: DomainID(uint32(os.Getpid())<<10 | lastDomain.Add(1)&1023), settings: s}
}

// virtually runs a test on a bus of its own, in virtual time.
func virtually(t *testing.T, test func(t *testing.T, d *domain)) {
	synctest.Test(t, func(t *testing.T) {
		stopTicks(t)
		d := onBus(t)
		test(t, d)
		for _, n := range d.nodes {
			require.NoError(t, n.p.Close())
		}
	})
}

// stopTicks has samples get their timestamps by time alone, as ticks go on while it stands still.
func stopTicks(t *testing.T) {
	at := time.Now()
	sampleClock.anchor.Store(&anchor{moment: moment{at: at}, ns: at.UnixNano()})
	t.Cleanup(func() { sampleClock.anchor.Store(nil) })
}

// pass lets time pass.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// node is a participant with a publisher and a subscriber.
type node struct {
	p   *DomainParticipant
	pub *Publisher
	sub *Subscriber
}

func (d *domain) node(t testing.TB, opts ...ParticipantOption) *node {
	t.Helper()
	first := []ParticipantOption{WithSettings(d.settings)}
	if d.bus != nil {
		first = append(first, d.bus.join())
	}
	opts = slices.Concat(first, opts, []ParticipantOption{smallSegments})
	p, err := NewDomainParticipant(patiently(t), d.id, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	n := &node{p: p}
	n.pub, err = p.NewPublisher()
	require.NoError(t, err)
	n.sub, err = p.NewSubscriber()
	require.NoError(t, err)
	d.nodes = append(d.nodes, n)
	return n
}

// smallSegments has logs that are read in no time, as far as the test does not say how large their files are: the race detector
// takes seconds for one of the default size.
func smallSegments(c *participantConfig) {
	if c.settings.LogSegmentBytes == 0 {
		c.settings.LogSegmentBytes = 1 << 20
	}
}

// nodeAt is node with its logs in a directory.
func (d *domain) nodeAt(t testing.TB, dir string, opts ...ParticipantOption) *node {
	s := d.settings
	s.Dir = dir
	return (&domain{id: d.id, settings: s}).node(t, opts...)
}

// crash takes a participant out of the domain without the farewell of its writers.
func (d *domain) crash(n *node) {
	_ = n.p.core.Leave(context.Background())
	d.nodes = slices.DeleteFunc(d.nodes, func(o *node) bool { return o == n })
}

// settle waits until all that was done has arrived everywhere.
func (d *domain) settle(t testing.TB) {
	t.Helper()
	if d.bus != nil {
		d.bus.settle(t)
		d.marked()
		d.bus.settle(t)
		return
	}
	if d.groups() { // a mark is acknowledged like what is written
		d.tellAll(t)
		d.marked()
	}
	for _, n := range d.nodes {
		for w := range n.p.writers.all() {
			if w.batch.endless() {
				continue // what a suspended Publisher holds does not arrive
			}
			require.NoError(t, w.p.core.WaitAcked(patiently(t), w.at.sg))
		}
	}
	d.tellAll(t)
	// What comes while a history is on its way is acknowledged, and put off until the history is there.
	for _, n := range d.nodes {
		for r := range n.p.readers.all() {
			require.NoError(t, r.await(patiently(t), "settle", func() bool { return r.complete || n.p.outage.Load() != nil }))
		}
	}
}

// endless tells whether messages wait until a Publisher resumes.
func (b *batch) endless() bool {
	if b == nil { // the writer is not enabled
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting) > 0 && b.due.Load() == 0
}

// tellAll waits until all nodes have heard of all that was announced before: an endpoint of its own tells a node so.
func (d *domain) tellAll(t testing.TB) {
	t.Helper()
	for _, n := range d.nodes {
		const barrier = 1 << 30
		info := (&announcement{topic: "barrier", typeName: "barrier", topicQos: qos.DefaultTopic(), reader: readerQos(), sub: qos.DefaultSubscriber()}).encode()
		require.NoError(t, n.p.core.AddEndpoint(patiently(t), derecho.Endpoint{ID: barrier, Channel: 1, Info: info}))
		require.NoError(t, n.p.core.RemoveEndpoint(patiently(t), barrier))
	}
}

// groups tells whether there are coherent sets or an order of groups.
func (d *domain) groups() bool {
	for _, n := range d.nodes {
		for w := range n.p.writers.all() {
			if p := &w.pub.present; p.group && (p.coherent || p.ordered) {
				return true
			}
		}
	}
	return false
}

// marked waits until the marks that writers were asked for have their place; there is room for them.
func (d *domain) marked() {
	for _, n := range d.nodes {
		for w := range n.p.writers.all() {
			w.marked()
		}
	}
}

func (w *writer) marked() {
	for w.marking.Load() {
		runtime.Gosched()
	}
	w.changing.Lock() // one that is under way has it
	defer w.changing.Unlock()
}

func (n *node) topic(t testing.TB) *Topic[track] {
	t.Helper()
	tp, err := NewTopic[track](n.p, "Track")
	require.NoError(t, err)
	return tp
}

func (n *node) writer(t testing.TB, q qos.DataWriter, opts ...WriterOption) *DataWriter[track] {
	t.Helper()
	w, err := NewDataWriter(n.pub, n.topic(t), append([]WriterOption{WithWriterQos(q)}, opts...)...)
	require.NoError(t, err)
	return w
}

func (n *node) reader(t testing.TB, q qos.DataReader, opts ...ReaderOption) *DataReader[track] {
	t.Helper()
	r, err := NewDataReader(n.sub, n.topic(t), append([]ReaderOption{WithReaderQos(q)}, opts...)...)
	require.NoError(t, err)
	return r
}

func writerQos(change ...func(*qos.DataWriter)) qos.DataWriter {
	q := qos.DefaultDataWriter()
	for _, f := range change {
		f(&q)
	}
	return q
}

func readerQos(change ...func(*qos.DataReader)) qos.DataReader {
	q := qos.DefaultDataReader()
	q.Reliability.Kind = qos.ReliabilityReliable
	q.History = qos.History{Kind: qos.HistoryKeepAll, Depth: 1}
	for _, f := range change {
		f(&q)
	}
	return q
}

func write(t testing.TB, w *DataWriter[track], id, value int32) {
	t.Helper()
	require.NoError(t, w.Write(patiently(t), &track{ID: id, Value: value}))
}

// text prints what was taken, one sample a line.
func text(s *Samples[track]) string {
	var lines []string
	for _, x := range s.All() {
		line := x.Info.String() + " "
		if d := x.Data(); d != nil {
			line += fmt.Sprintf("%d:%d", d.ID, d.Value)
		} else {
			line += "-"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// values takes n samples, waiting for them, and gives "id:value ..." of those with data.
func values(t testing.TB, r *DataReader[track], n int) string {
	t.Helper()
	var out []string
	ctx := patiently(t)
	for sample, err := range r.Stream(ctx) {
		require.NoError(t, err)
		if d := sample.Data(); d != nil {
			out = append(out, fmt.Sprintf("%d:%d", d.ID, d.Value))
		}
		if len(out) >= n {
			return strings.Join(out, " ")
		}
	}
	t.Fatalf("only %d of %d samples came: %v", len(out), n, out)
	return ""
}

// takeText takes everything, "no data" if there is nothing.
func takeText(t testing.TB, r *DataReader[track], opts ...ReadOption) string {
	t.Helper()
	s, err := r.Take(opts...)
	if errors.Is(err, ErrNoData) {
		return "no data"
	}
	require.NoError(t, err)
	defer s.Close()
	return text(s)
}

// Clauses: 2.2.2.2.1.1, 2.2.2.2.1.3, 2.2.2.4.1.5-6, 2.2.2.4.2.11, 2.2.2.5.2.5-6, 2.2.2.5.3.9
func TestWriteAndTake(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	w, r := a.writer(t, writerQos()), b.reader(t, readerQos())
	require.NoError(t, w.WaitForMatch(patiently(t), 1))
	require.NoError(t, r.WaitForMatch(patiently(t), 1))
	for i := range int32(3) {
		write(t, w, i, i*10)
	}
	require.Equal(t, "0:0 1:10 2:20", values(t, r, 3))
	require.NoError(t, w.Close())
	require.NoError(t, w.Close(), "closing twice has no effect")
	require.ErrorIs(t, w.Write(context.Background(), &track{}), ErrAlreadyDeleted)
	d.bus.settle(t)
	require.Equal(t, int32(0), r.SubscriptionMatchedStatus().CurrentCount)
	require.NoError(t, r.Close())
	_, err := r.Take()
	require.ErrorIs(t, err, ErrAlreadyDeleted)
}
