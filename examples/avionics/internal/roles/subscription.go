package roles

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/dcps"
	"github.com/omg-dds-go/dds/examples/avionics/internal/control"
	"github.com/omg-dds-go/dds/examples/avionics/internal/latency"
	"github.com/omg-dds-go/dds/examples/avionics/internal/ledger"
	"github.com/omg-dds-go/dds/examples/avionics/internal/order"
	"github.com/omg-dds-go/dds/qos"
)

// batch is how many samples are taken at once.
const batch = 256

// identity is what counting needs of a sample.
type identity struct {
	number uint64
	icao   uint32 // key of the topics that are keyed by address
}

// look reads a sample through its view: who it is, and for the role what is in it.
type look func(info *dcps.SampleInfo, encoded []byte) (identity, error)

// anyReader is what a subscription needs of a DataReader.
type anyReader interface {
	TakeLoan(opts ...dcps.ReadOption) (dcps.LoanedSamples, error)
	NewReadCondition(samples dcps.SampleState, views dcps.ViewState, instances dcps.InstanceState) *dcps.ReadCondition
	WaitForMatch(ctx context.Context, n int) error
	WaitForHistoricalData(ctx context.Context) error
	SampleLostStatus() dcps.SampleLostStatus
	SampleRejectedStatus() dcps.SampleRejectedStatus
	RequestedDeadlineMissedStatus() dcps.RequestedDeadlineMissedStatus
}

// subscription is a reader that counts, and hands on to the role.
type subscription struct {
	topic  string
	reader anyReader
	news   *dcps.ReadCondition
	look   look
	fail   func(error)
	late   bool
	all    bool   // reliable: every sample comes
	logDir string // of this process's log of the topic; empty if it has none

	last atomic.Uint64 // greatest number; stored with mu held

	mu        sync.Mutex
	tracker   *order.Tracker
	delays    latency.Recorder
	malformed int
	changed   chan struct{} // closed, and made anew, whenever last may have changed
	history   bool          // a late reader has not got to the end of its history yet
	given     uint64        // how many samples were history
	instances map[uint32]struct{}
	untold    []byte // packed entries
	reached   control.Reached
}

// subscribe makes the reader of a topic with the QoS of a profile.
func subscribe[T any, PT cdr.Type[T]](pr *process, topicName string, l look) (*subscription, error) {
	t, err := dcps.NewTopic[T, PT](pr.p, topicName)
	if err != nil {
		return nil, err
	}
	q, err := pr.qos.DataReader("Avionics::"+topicName, topicName)
	if err != nil {
		return nil, err
	}
	r, err := dcps.NewDataReader(pr.sub, t, dcps.WithReaderQos(q))
	if err != nil {
		return nil, err
	}
	rules := order.Total
	if q.Reliability.Kind != qos.ReliabilityReliable {
		rules = order.PerWriter
	}
	s := &subscription{
		topic: topicName, reader: r, look: l, fail: pr.fail, late: pr.cfg.Late,
		all: q.Reliability.Kind == qos.ReliabilityReliable, instances: make(map[uint32]struct{}),
		tracker: order.NewTracker(rules), changed: make(chan struct{}),
		news: r.NewReadCondition(dcps.AnySampleState, dcps.AnyViewState, dcps.AnyInstanceState),
	}
	if s.late {
		s.tracker.Late()
		s.history = q.Durability.Kind > qos.DurabilityVolatile
	}
	if q.Durability.Kind == qos.DurabilityPersistent {
		s.logDir = t.LogDir()
	}
	pr.subscriptions = append(pr.subscriptions, s)
	return s, nil
}

// run takes samples as they come until ctx ends.
func (s *subscription) run(ctx context.Context) {
	for {
		if err := s.takeAll(); err != nil {
			s.fail(fmt.Errorf("taking %s: %w", s.topic, err))
			return
		}
		select {
		case <-s.news.Ready():
		case <-ctx.Done():
			return
		}
	}
}

// takeAll takes what there is.
func (s *subscription) takeAll() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		samples, err := s.reader.TakeLoan(dcps.InOrder(), dcps.MaxSamples(batch))
		if errors.Is(err, dcps.ErrNoData) {
			return nil
		}
		if err != nil {
			return err
		}
		now := time.Now()
		for info, encoded := range samples.All() {
			if info.ValidData {
				s.sample(info, encoded, now)
			}
		}
		samples.Close()
		close(s.changed)
		s.changed = make(chan struct{})
	}
}

func (s *subscription) sample(info *dcps.SampleInfo, encoded []byte, now time.Time) {
	id, err := s.look(info, encoded)
	if err != nil {
		s.malformed++
		return
	}
	sample := order.Sample{
		Writer: info.PublicationHandle, Number: id.number, Epoch: info.Epoch, Sequence: info.Sequence, Bytes: encoded,
	}
	s.tracker.Sample(sample)
	s.last.Store(max(s.last.Load(), id.number))
	if info.Epoch != s.reached.Epoch {
		s.reached = control.Reached{Epoch: info.Epoch, Since: now}
	}
	if s.reliable() {
		s.untold = ledger.Entry{
			Epoch: info.Epoch, Sequence: info.Sequence, Number: id.number, Instance: id.icao, Sum: ledger.Sum(encoded), History: s.history,
		}.Append(s.untold)
	}
	if s.history { // delivered, but old when it came
		s.given++
		s.instances[id.icao] = struct{}{}
		return
	}
	s.delays.Record(now.Sub(info.SourceTimestamp))
}

// tell gives what was taken since it was last asked.
func (s *subscription) tell() (entries []byte, reached control.Reached) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries, s.untold = s.untold, nil
	return entries, s.reached
}

// endHistory waits for the history that a late reader is owed. What was taken until then counts as history.
func (s *subscription) endHistory(ctx context.Context) error {
	if err := s.reader.WaitForHistoricalData(ctx); err != nil {
		return fmt.Errorf("waiting for the history of %s: %w", s.topic, err)
	}
	if err := s.takeAll(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.history {
		s.history = false
		s.tracker.HistoryEnds()
	}
	return nil
}

// picture is how many instances the history had.
func (s *subscription) picture() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.instances)
}

// quiet is how long nothing comes of an unordered topic that is taken to have ended.
const quiet = 50 * time.Millisecond

// await returns when the sample with that number has come; false if it has not for too long. A sample of an unordered
// topic may never come: there it waits until no more do. Nor may one that was published while the process was away:
// back ends that.
func (s *subscription) await(ctx context.Context, number uint64, timeout time.Duration, back <-chan struct{}) bool {
	if !s.reliable() {
		timeout, number, back = quiet, math.MaxUint64, nil
	}
	limit := time.NewTimer(timeout)
	defer limit.Stop()
	for {
		s.mu.Lock()
		last, changed := s.last.Load(), s.changed
		s.mu.Unlock()
		if last >= number {
			return true
		}
		select {
		case <-changed:
			if number == math.MaxUint64 {
				limit.Reset(timeout)
			}
		case <-back:
			return true
		case <-limit.C:
			return number == math.MaxUint64 // quiet is what was waited for
		case <-ctx.Done():
			return false
		}
	}
}

// greatest is the greatest number so far.
func (s *subscription) greatest() uint64 { return s.last.Load() }

// reliable tells whether every sample comes.
func (s *subscription) reliable() bool { return s.all }

// report sums up.
func (s *subscription) report() (control.Subscription, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	exported, err := s.delays.Export()
	if err != nil {
		return control.Subscription{}, err
	}
	r := control.Subscription{
		Topic: s.topic, Result: s.tracker.Result(), Lost: s.reader.SampleLostStatus().TotalCount,
		Rejected:        s.reader.SampleRejectedStatus().TotalCount,
		DeadlinesMissed: s.reader.RequestedDeadlineMissedStatus().TotalCount,
		Malformed:       s.malformed, Latency: exported, History: s.given, Instances: len(s.instances),
	}
	return r, nil
}
