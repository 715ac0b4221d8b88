package roles

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"maps"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/dcps"
	"github.com/omg-dds-go/dds/examples/avionics/internal/control"
	"github.com/omg-dds-go/dds/examples/avionics/internal/latency"
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
	Qos() qos.DataReader
}

// subscription is a reader that counts, and hands on to the role.
type subscription struct {
	topic  string
	reader anyReader
	news   *dcps.ReadCondition
	look   look
	fail   func(error)
	late   bool
	trace  bool
	logDir string // of this process's log of the topic; empty if it has none

	last atomic.Uint64 // greatest number; stored with mu held

	mu        sync.Mutex
	tracker   *order.Tracker
	delays    latency.Recorder
	malformed int
	logged    hash.Hash     // over numbers and bytes, for comparison with the log
	changed   chan struct{} // closed, and made anew, whenever last may have changed
	history   bool          // a late reader has not got to the end of its history yet
	cut       uint64
	picture   map[string]uint64
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
		topic: topicName, reader: r, look: l, fail: pr.fail, late: pr.cfg.Late, trace: pr.cfg.Trace || pr.cfg.Late,
		tracker: order.NewTracker(rules), changed: make(chan struct{}),
		news: r.NewReadCondition(dcps.AnySampleState, dcps.AnyViewState, dcps.AnyInstanceState),
	}
	if s.trace {
		s.tracker.KeepTrace()
	}
	if s.late {
		s.tracker.Late()
		s.history = q.Durability.Kind > qos.DurabilityVolatile
	}
	if q.Durability.Kind == qos.DurabilityPersistent {
		s.logDir, s.logged = t.LogDir(), sha256.New()
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
	if s.trace {
		sample.Instance = icaoText(id.icao)
	}
	s.tracker.Sample(sample)
	s.last.Store(max(s.last.Load(), id.number))
	if s.history {
		return // delivered, but old when it came, and not logged here
	}
	s.delays.Record(now.Sub(info.SourceTimestamp))
	if s.logged != nil {
		LogEntry(s.logged, id.number, encoded)
	}
}

// LogEntry feeds a logged sample into a digest: of what was delivered here, of what is on disk there.
func LogEntry(h hash.Hash, number uint64, encoded []byte) {
	var head [16]byte
	binary.LittleEndian.PutUint64(head[:], number)
	binary.LittleEndian.PutUint64(head[8:], uint64(len(encoded)))
	_, _ = h.Write(head[:]) // a hash.Hash never fails
	_, _ = h.Write(encoded)
}

// endHistory waits for the history that a late reader is owed, and notes how far it reaches.
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
		s.cut = s.tracker.HistoryEnds()
		s.picture = s.tracker.PictureAt(s.cut)
	}
	return nil
}

// instances is how many instances the history had.
func (s *subscription) instances() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.picture)
}

// quiet is how long nothing comes of an unordered topic that is taken to have ended.
const quiet = 50 * time.Millisecond

// await returns when the sample with that number has come; false if it has not for too long. A sample of an unordered
// topic may never come: there it waits until no more do.
func (s *subscription) await(ctx context.Context, number uint64, timeout time.Duration) bool {
	if !s.reliable() {
		timeout, number = quiet, math.MaxUint64
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
		case <-limit.C:
			return number == math.MaxUint64 // quiet is what was waited for
		case <-ctx.Done():
			return false
		}
	}
}

// reached is the greatest number so far.
func (s *subscription) reached() uint64 { return s.last.Load() }

// reliable tells whether every sample comes.
func (s *subscription) reliable() bool {
	return s.reader.Qos().Reliability.Kind == qos.ReliabilityReliable
}

// report sums up. A late process tells the part behind its cut, the others the part that since asks for.
func (s *subscription) report(since map[string]uint64) (control.Subscription, error) {
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
		Malformed:       s.malformed, Latency: exported,
	}
	if s.logged != nil {
		r.LogDigest, r.LogFrom = hex.EncodeToString(s.logged.Sum(nil)), s.cut
	}
	if s.late {
		s.reportLate(&r)
	} else if cut, asked := since[s.topic]; asked {
		tail := s.tracker.Since(cut)
		r.Cut, r.Picture, r.Tail = cut, s.tracker.PictureAt(cut), &tail
	}
	return r, nil
}

// reportLate tells the part of the stream behind the history. A topic without history has it from the first sample on:
// if none came, there is nothing to tell. Called with mu held.
func (s *subscription) reportLate(r *control.Subscription) {
	volatile := s.reader.Qos().Durability.Kind == qos.DurabilityVolatile
	if volatile && r.First == 0 {
		return
	}
	cut := s.cut
	if volatile {
		cut = r.First - 1
	}
	tail := s.tracker.Since(cut)
	r.Cut, r.Picture, r.Tail = cut, maps.Clone(s.picture), &tail
}
