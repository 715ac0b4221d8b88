package dcps

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/storage"
	"github.com/stretchr/testify/require"
)

// situation is what a process may be in, or what is in it, when something is asked of it.
type situation struct {
	name       string
	disabled   bool // nothing is enabled
	persistent bool
	enter      func(s *scene)
	// closes tells that Close of what there is has no error.
	closes bool
	// outage is what is told of what could not be agreed on.
	outage error
	// gone is what does not exist any more, by the beginnings of the names of calls.
	gone []string
}

// scene is a process in a situation, and another one.
type scene struct {
	t     *testing.T
	d     *domain
	ill   *illCore
	n     *node
	peer  *node
	tp    *Topic[track]
	cf    *ContentFilteredTopic[track]
	w     *DataWriter[track]
	r     *DataReader[track]
	rc    *ReadCondition
	qc    *QueryCondition
	guard GuardCondition
	ws    *WaitSet
	loan  Loan
	lent  LoanedSamples
}

// illCore answers as derecho does where the bus does not get into the situation.
type illCore struct {
	core
	inner *busNode
	// waits: what has to be agreed on is not, before ctx ends.
	waits bool
	// err is that of everything; notSender that of what is to be sent, if not nil.
	err, notSender error
	recovering     error // AddEndpoint and what is to be sent wait for logs
}

func (c *illCore) agree(ctx context.Context, do func() error) error {
	switch {
	case c.err != nil:
		return c.err
	case c.waits:
		<-ctx.Done()
		return fmt.Errorf("%w: %w", derecho.ErrTimeout, ctx.Err())
	}
	return do()
}

func (c *illCore) AddEndpoint(ctx context.Context, ep derecho.Endpoint) error {
	if c.recovering != nil && ep.Replica {
		<-ctx.Done()
		return fmt.Errorf("%w: %w; %w", derecho.ErrTimeout, ctx.Err(), c.recovering)
	}
	return c.agree(ctx, func() error { return c.core.AddEndpoint(ctx, ep) })
}

func (c *illCore) ChangeEndpoint(ctx context.Context, id derecho.EndpointID, info []byte) error {
	return c.agree(ctx, func() error { return c.core.ChangeEndpoint(ctx, id, info) })
}

func (c *illCore) RemoveEndpoint(ctx context.Context, id derecho.EndpointID) error {
	return c.agree(ctx, func() error { return c.core.RemoveEndpoint(ctx, id) })
}

func (c *illCore) Upcall(ctx context.Context, f func()) error {
	return c.agree(ctx, func() error { return c.core.Upcall(ctx, f) })
}

func (c *illCore) reserve(ctx context.Context, sg derecho.SubgroupID, ch derecho.ChannelID, size int, deadline time.Time) (slot, error) {
	switch {
	case c.err != nil:
		return slot{}, c.err
	case c.notSender != nil:
		return slot{}, c.notSender
	case c.recovering != nil && ch != 0:
		return slot{}, c.recovering
	}
	return c.core.reserve(ctx, sg, ch, size, deadline)
}

func (c *illCore) WaitAcked(ctx context.Context, sg derecho.SubgroupID) error {
	if c.notSender != nil {
		return nil
	}
	return c.agree(ctx, func() error { return c.core.WaitAcked(ctx, sg) })
}

func (c *illCore) WaitDurable(ctx context.Context, sg derecho.SubgroupID, ch derecho.ChannelID) error {
	if c.recovering != nil {
		return c.recovering
	}
	return c.WaitAcked(ctx, sg)
}

func (c *illCore) Leave(ctx context.Context) error {
	err := c.agree(ctx, func() error { return nil })
	return errors.Join(err, c.core.Leave(ctx))
}

func newScene(t *testing.T, d *domain, at *situation) *scene {
	s := &scene{t: t, d: d, ill: &illCore{}, ws: NewWaitSet()}
	settings := Settings{}
	if at.persistent {
		settings = Settings{Dir: t.TempDir(), LogSegmentBytes: 64 << 10}
	}
	wrap := wrapCore(func(c core) core {
		s.ill.core, s.ill.inner = c, c.(*busNode)
		return s.ill
	})
	s.peer = d.node(t, WithName("peer"))
	f := NewDomainParticipantFactory(d.bus.join(), WithSettings(settings), WithName("here"), wrap)
	if at.disabled {
		require.NoError(t, f.SetQos(createdDisabled))
	}
	p, err := f.NewDomainParticipant(patiently(t), d.id)
	require.NoError(t, err)
	s.n = &node{p: p}
	s.n.pub, err = p.NewPublisher()
	require.NoError(t, err)
	s.n.sub, err = p.NewSubscriber()
	require.NoError(t, err)
	s.tp, err = NewTopic[track](p, "Track", WithTypeDescription(trackDescription))
	require.NoError(t, err)
	s.cf, err = NewContentFilteredTopic(s.tp, "Filtered", "value > 1")
	require.NoError(t, err)
	s.w = s.n.writer(t, storedWriterQos(settings.Dir), withBlocking)
	s.r = s.n.reader(t, storedReaderQos(settings.Dir))
	s.peer.writer(t, storedWriterQos(""))
	s.peer.reader(t, storedReaderQos(""))
	s.rc = s.r.NewReadCondition(0, 0, 0)
	s.qc, err = s.r.NewQueryCondition(0, 0, 0, "value > %0", "1")
	require.NoError(t, err)
	if !at.disabled {
		write(t, s.w, 1, 1)
		d.bus.settle(t)
		s.lent, err = s.r.ReadLoan()
		require.NoError(t, err)
	}
	if at.enter != nil {
		at.enter(s)
	}
	return s
}

// withBlocking has what waits for room do so for a moment.
var withBlocking = writerOption(func(c *writerOptions) { c.qos.Reliability.MaxBlockingTime = 100 * time.Millisecond })

var errFailed = errors.New("no shared memory is left")

func situations() []situation {
	refused := &derecho.LogError{Member: derecho.MemberInfo{Name: "here"}, Err: storage.ErrLocked, Refused: true}
	recovering := fmt.Errorf("%w: channel 17 waits for log 4711 of member (pid 1 on host)", derecho.ErrRecovering)
	onPoller := func(s *scene, f func()) { require.NoError(s.t, s.ill.core.Upcall(patiently(s.t), f)) }
	closed := func(f func(s *scene) error) func(s *scene) {
		return func(s *scene) { require.NoError(s.t, f(s)) }
	}
	return []situation{
		{name: "not enabled", disabled: true, closes: true},
		{name: "enabled", closes: true},
		{name: "isolated", outage: derecho.ErrNoMajority, enter: func(s *scene) {
			s.d.bus.isolate(s.n, fmt.Errorf("%w: peer is not heard", derecho.ErrNoMajority))
			s.d.bus.settle(s.t)
			s.ill.waits = true
		}},
		{name: "excluded", closes: true, enter: func(s *scene) { s.d.bus.exclude(s.n) }},
		{name: "joined again", closes: true, enter: func(s *scene) {
			s.d.bus.exclude(s.n)
			s.d.bus.rejoin(s.n)
			require.NoError(s.t, s.n.p.WaitForDomain(patiently(s.t)))
		}},
		{name: "log refused", persistent: true, closes: true, enter: func(s *scene) {
			s.ill.notSender = fmt.Errorf("%w: subgroup 1", derecho.ErrNotSender)
			onPoller(s, func() {
				for _, e := range s.n.p.hub.endpoints {
					if e.writer != nil || e.reader != nil {
						s.n.p.hub.EndpointRemoved(derecho.Endpoint{Node: e.key.node, ID: e.key.id})
					}
				}
				s.n.p.hub.LogFailed(s.w.at.sg, s.n.p.core.ID(), refused)
			})
		}},
		{name: "missing logs", persistent: true, closes: true, enter: func(s *scene) { s.ill.recovering = recovering }},
		{name: "log failed here", persistent: true, closes: true, enter: func(s *scene) {
			onPoller(s, func() {
				s.n.p.hub.LogFailed(s.w.at.sg, s.n.p.core.ID(), errors.New("the disk is full"))
			})
		}},
		{name: "log failed there", persistent: true, closes: true, enter: func(s *scene) {
			onPoller(s, func() {
				s.n.p.hub.LogFailed(s.w.at.sg, s.peer.p.core.ID(), derecho.ErrLog)
			})
		}},
		{name: "domain failed", closes: true, enter: func(s *scene) {
			s.ill.err = errFailed
			onPoller(s, func() { s.n.p.hub.Failed(errFailed) })
		}},
		{name: "domain about to fail", enter: func(s *scene) { s.ill.err = errFailed }},
		{name: "suspended", closes: true, enter: func(s *scene) {
			require.NoError(s.t, s.n.pub.SuspendPublications())
			write(s.t, s.w, 1, 2)
		}},
		{name: "coherent set", closes: true, enter: func(s *scene) {
			require.NoError(s.t, s.n.pub.BeginCoherentChanges())
			write(s.t, s.w, 1, 2)
		}},
		{name: "loan out", closes: true, enter: func(s *scene) {
			var err error
			s.loan, err = s.w.Loan(patiently(s.t), 100)
			require.NoError(s.t, err)
		}},
		{name: "ring full", closes: true, enter: func(s *scene) {
			s.d.bus.mu.Lock()
			defer s.d.bus.mu.Unlock()
			s.d.bus.capacity = 0
		}},
		{name: "condition closed", closes: true, enter: closed(func(s *scene) error { return errors.Join(s.rc.Close(), s.qc.Close()) })},
		{name: "writer closed", closes: true, gone: []string{"DataWriter."}, enter: closed(func(s *scene) error { return s.w.Close() })},
		{name: "reader closed", closes: true, gone: []string{"DataReader."}, enter: closed(func(s *scene) error { return s.r.Close() })},
		{name: "publisher closed", closes: true, gone: []string{"Publisher.", "DataWriter.", "NewDataWriter"}, enter: closed(func(s *scene) error { return s.n.pub.Close() })},
		{name: "subscriber closed", closes: true, gone: []string{"Subscriber.", "DataReader.", "NewDataReader"}, enter: closed(func(s *scene) error { return s.n.sub.Close() })},
		{name: "topic closed", closes: true, gone: []string{"NewDataWriter", "NewContentFilteredTopic"}, enter: closed(func(s *scene) error { return s.tp.Close() })},
		{name: "participant closed", closes: true, gone: []string{
			"DomainParticipant.", "Publisher.", "Subscriber.", "DataWriter.", "DataReader.", "NewDataWriter", "NewDataReader", "NewTopic",
			"NewContentFilteredTopic", "NewDynamicMultiTopic", "FindTopic", "LookupTopic", "LookupContentFilteredTopic",
		}, enter: closed(func(s *scene) error { return s.n.p.Close() })},
	}
}

const (
	// ofCtx is the time that calls with a context get, and soon what others may take that wait for nobody.
	ofCtx = 2 * time.Second
	soon  = 300 * time.Millisecond
	// agreed bounds what has to be told to the domain, and has no context.
	agreed = operationTimeout + interruptedTimeout
)

// touchesLog tells whether a call has to do with writers and readers, so with logs, which cost a real disk.
func touchesLog(call string) bool {
	for _, of := range []string{"DataWriter.", "DataReader.W", "DataReader.SetQos", "NewData", "DomainParticipant.Err", "Publisher.W", "Publisher.End"} {
		if strings.HasPrefix(call, of) {
			return !strings.Contains(call, "Listener") && !strings.Contains(call, "Instance") && !strings.Contains(call, "KeyValue")
		}
	}
	return strings.HasSuffix(call, ".Close") && !strings.Contains(call, "Condition")
}

// alsoOfClosed are calls that do what they can for what is closed.
var alsoOfClosed = map[string]bool{
	"DomainParticipant.Err": true, "DomainParticipant.SetListener": true,
	"Publisher.SetListener": true, "Publisher.SetDefaultDataWriterQos": true,
	"Subscriber.SetListener": true, "Subscriber.SetDefaultDataReaderQos": true,
	"DataWriter.SetListener": true, "DataWriter.LookupInstance": true, "DataWriter.StableStatus": true, "DataWriter.KeyValue": true,
	"DataReader.SetListener": true, "DataReader.LookupInstance": true, "DataReader.KeyValue": true,
}

// Whatever a process is in: every call returns in time, with nothing or with an error that says what it is about, why,
// and what to do; and everything can be closed.
func TestCallsInSituations(t *testing.T) {
	calls := callsInSituations()
	for _, at := range situations() {
		t.Run(at.name, func(t *testing.T) {
			for _, c := range calls {
				if at.persistent && !touchesLog(c.name) {
					continue
				}
				t.Run(c.name, func(t *testing.T) { callInSituation(t, &at, &c) })
			}
		})
	}
}

func callInSituation(t *testing.T, at *situation, c *callInSituationOf) {
	var dir string
	virtually(t, func(t *testing.T, d *domain) {
		s := newScene(t, d, at)
		dir = s.n.p.settings.Dir
		ctx, cancel := context.WithTimeout(context.Background(), ofCtx)
		defer cancel()
		begun := time.Now()
		err := c.call(s, ctx)
		if took := time.Since(begun); took > c.within {
			t.Errorf("it took %v, longer than %v: %v", took, c.within, err)
		}
		checkTold(t, err)
		if c.closes && at.closes {
			require.NoError(t, err)
		}
		if at.outage != nil && c.within == agreed && errors.Is(err, ErrTimeout) {
			require.ErrorIs(t, err, at.outage)
		}
		if !c.closes && !alsoOfClosed[c.name] && slices.ContainsFunc(at.gone, func(of string) bool { return strings.HasPrefix(c.name, of) }) {
			require.ErrorIs(t, err, ErrAlreadyDeleted)
		}
		begun = time.Now()
		err = s.n.p.Close()
		if took := time.Since(begun); took > agreed {
			t.Errorf("Close took %v", took)
		}
		checkTold(t, err)
		if at.closes {
			require.NoError(t, err)
		}
		s.lent.Close()
		require.NoError(t, s.peer.p.Close())
		d.nodes = nil
		synctest.Wait()
		for w := range s.n.p.writers.all() {
			t.Errorf("%s is left", w.what)
		}
		for r := range s.n.p.readers.all() {
			t.Errorf("%s is left", r.what)
		}
	}) // which fails if a goroutine is left
	if dir != "" {
		requireNoneOpen(t, dir)
	}
}

// requireNoneOpen fails if this process has a file of a directory open.
func requireNoneOpen(t *testing.T, dir string) {
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, fd := range fds {
		if at, err := os.Readlink(filepath.Join("/proc/self/fd", fd.Name())); err == nil && strings.HasPrefix(at, dir) {
			t.Errorf("%s is still open", at)
		}
	}
}

// checkTold tells whether an error is what somebody can do something with.
func checkTold(t *testing.T, err error) {
	t.Helper()
	switch joined, ok := err.(interface{ Unwrap() []error }); {
	case err == nil, err == ErrNoData: // which costs nothing
		return
	case ok && reflect.TypeOf(err).String() == "*errors.joinError":
		for _, e := range joined.Unwrap() {
			checkTold(t, e)
		}
		return
	}
	e, ok := err.(*Error)
	switch {
	case !ok:
		t.Errorf("%T is no *Error: %v", err, err)
	case e.Op == "", e.Entity == "" && e.Code != ErrBadParameter:
		t.Errorf("no operation or entity: %v", err)
	case e.Code == ErrUnspecified, strings.Contains(err.Error(), "unspecified"):
		t.Errorf("unspecified: %v", err)
	case e.Detail == "" && e.Err == nil:
		t.Errorf("no reason: %v", err)
	case e.Code == ErrPreconditionNotMet && !advises(err):
		t.Errorf("nothing to do: %v", err)
	}
}

// advises tells whether an error, or what it is of, has a detail.
func advises(err error) bool {
	for {
		e := (*Error)(nil)
		if !errors.As(err, &e) {
			return false
		}
		if e.Detail != "" {
			return true
		}
		err = e.Err
	}
}

// otherData is what has to be announced.
func otherData() qos.UserData { return qos.UserData{Value: []byte("other")} }
