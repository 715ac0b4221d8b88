package dcps

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// onBoth runs a test on the bus and over the real core.
func onBoth(t *testing.T, test func(t *testing.T, d *domain)) {
	t.Run("bus", func(t *testing.T) { test(t, onBus(t)) })
	t.Run("core", func(t *testing.T) { test(t, onCore(t, Settings{})) })
}

// within fails if f takes longer than a test is patient.
func within(t testing.TB, f func() error) error {
	t.Helper()
	result := make(chan error, 1)
	go func() { result <- f() }()
	select {
	case err := <-result:
		return err
	case <-patiently(t).Done():
		require.Fail(t, "it takes too long")
		return nil
	}
}

// A loan that nobody ends holds up what follows it; closing its writer lets the others go on.
func TestCloseDiscardsLoans(t *testing.T) {
	onBoth(t, func(t *testing.T, d *domain) {
		a, b := d.node(t, WithName("a")), d.node(t, WithName("b"))
		w, other := a.writer(t, writerQos(blocking(patience))), a.writer(t, writerQos(blocking(patience)))
		r := b.reader(t, readerQos())
		require.NoError(t, w.WaitForMatch(patiently(t), 1))
		require.NoError(t, r.WaitForMatch(patiently(t), 2))

		published, err := w.Loan(patiently(t), 100)
		require.NoError(t, err)
		encoded, err := cdr.Marshal(&track{ID: 1, Value: 1}, w.enc)
		require.NoError(t, err)
		require.NoError(t, published.Publish(copy(published.Bytes(), encoded)))
		first, err := w.Loan(patiently(t), 100)
		require.NoError(t, err)
		second, err := w.Loan(patiently(t), 200)
		require.NoError(t, err)
		again := second
		write(t, other, 2, 2)

		require.NoError(t, within(t, w.Close))
		require.Equal(t, "1:1 2:2", values(t, r, 2))
		for _, l := range []*Loan{&first, &second, &again} {
			require.Nil(t, l.Bytes())
			require.ErrorIs(t, l.Publish(len(encoded)), ErrAlreadyDeleted)
			require.ErrorIs(t, l.Publish(-1), ErrAlreadyDeleted)
			require.ErrorIs(t, l.Discard(), ErrAlreadyDeleted)
		}
		require.ErrorIs(t, published.Publish(len(encoded)), ErrPreconditionNotMet)
		require.NoError(t, published.Discard())
		_, err = w.Loan(patiently(t), 100)
		require.ErrorIs(t, err, ErrAlreadyDeleted)

		// Nothing is left of them: others lend, publish and are acknowledged.
		l, err := other.Loan(patiently(t), 100)
		require.NoError(t, err)
		require.NoError(t, l.Publish(copy(l.Bytes(), encoded)))
		require.NoError(t, other.WaitForAcknowledgments(patiently(t)))
		require.Equal(t, "1:1", values(t, r, 1))
		_, err = other.Loan(patiently(t), 100)
		require.NoError(t, err)
		require.NoError(t, within(t, a.p.Close), "closing the participant closes its writers")
	})
}

// On the unordered path a discarded loan is no loss, and one that never had room is as closed as the others.
func TestCloseDiscardsBestEffortLoans(t *testing.T) {
	d := onBus(t)
	d.bus.capacity = 1
	n := d.node(t)
	bestEffort := func(q *qos.DataWriter) { q.Reliability.Kind = qos.ReliabilityBestEffort }
	w := n.writer(t, writerQos(bestEffort))
	r := n.reader(t, readerQos(func(q *qos.DataReader) { q.Reliability.Kind = qos.ReliabilityBestEffort }))
	d.bus.settle(t)
	l, err := w.Loan(patiently(t), 100)
	require.NoError(t, err)
	roomless, err := w.Loan(patiently(t), 100)
	require.NoError(t, err)
	require.Len(t, roomless.Bytes(), 100)
	d.bus.during(&d.bus.committing, func() { // the first loan's number: from then on there is no room for the farewell
		d.bus.mu.Lock()
		defer d.bus.mu.Unlock()
		d.bus.capacity = 0
	})
	require.NoError(t, within(t, w.Close))
	d.bus.settle(t)
	require.ErrorIs(t, l.Publish(50), ErrAlreadyDeleted)
	require.ErrorIs(t, roomless.Publish(50), ErrAlreadyDeleted)
	require.Nil(t, roomless.Bytes())
	require.Zero(t, r.SampleLostStatus().TotalCount, "the first loan's number was sent, the other's followed nothing")
}

// By source timestamp a loan's place in the ring goes with its timestamp.
func TestTimestampOfALoan(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	bySource := func(q *qos.DataWriter) { q.DestinationOrder.Kind = qos.DestinationOrderBySourceTimestamp }
	w, r := n.writer(t, writerQos(bySource)), n.reader(t, readerQos())
	encoded, err := cdr.Marshal(&track{ID: 1, Value: 1}, w.enc)
	require.NoError(t, err)
	early, late := time.Unix(1000, 1), time.Unix(1000, 2)
	l, err := w.Loan(patiently(t), 100, At(late))
	require.NoError(t, err)
	require.NoError(t, l.At(early))
	require.ErrorIs(t, l.Publish(copy(l.Bytes(), encoded)), ErrBadParameter)
	require.Nil(t, l.Bytes(), "it has ended")
	_, err = w.Loan(patiently(t), 100, At(early))
	require.ErrorIs(t, err, ErrBadParameter)
	l, err = w.Loan(patiently(t), 100, At(late))
	require.NoError(t, err)
	require.NoError(t, l.At(late))
	require.NoError(t, l.Publish(copy(l.Bytes(), encoded)))
	require.Equal(t, "1:1", values(t, r, 1))
}

// A copy of a loan is the same loan: one of them ends it, also when the writer lends the same room record again.
func TestCopiesOfALoan(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	w := n.writer(t, writerQos())
	a, err := w.Loan(patiently(t), 100)
	require.NoError(t, err)
	b := a
	require.NoError(t, a.Discard())
	c, err := w.Loan(patiently(t), 100)
	require.NoError(t, err)
	require.Nil(t, b.Bytes())
	require.ErrorIs(t, b.Publish(50), ErrPreconditionNotMet)
	require.NoError(t, b.Discard())
	require.Len(t, c.Bytes(), 100, "the stale copy did not end it")
	require.NoError(t, c.Discard())
}

// What At says is of the loan, whichever of its copies says it; once that has ended it is of no other loan of the same lease.
func TestTimestampByACopyOfALoan(t *testing.T) {
	onBoth(t, func(t *testing.T, d *domain) {
		a, b := d.node(t, WithName("a")), d.node(t, WithName("b"))
		w, r := a.writer(t, writerQos(blocking(patience))), b.reader(t, readerQos())
		require.NoError(t, w.WaitForMatch(patiently(t), 1))
		require.NoError(t, r.WaitForMatch(patiently(t), 1))
		stamp := func(l *Loan) time.Time {
			size, err := cdr.MarshalTo(l.Bytes(), &track{ID: 1}, w.enc)
			require.NoError(t, err)
			require.NoError(t, l.Publish(size))
			for s, err := range r.Stream(patiently(t)) {
				require.NoError(t, err)
				return s.Info.SourceTimestamp
			}
			return time.Time{}
		}
		lend := func() Loan {
			l, err := w.Loan(patiently(t), 100, At(time.Unix(7, 0)))
			require.NoError(t, err)
			return l
		}
		l := lend()
		again := l
		require.NoError(t, again.At(time.Unix(8, 0)))
		require.True(t, stamp(&l).Equal(time.Unix(8, 0)))
		for _, ended := range []*Loan{&l, &again} {
			l := lend()
			require.Same(t, ended.of, l.of)
			require.NoError(t, ended.At(time.Unix(9, 0)))
			require.True(t, stamp(&l).Equal(time.Unix(7, 0)), "it was lent with that")
			l = lend()
			require.NoError(t, l.At(time.Unix(10, 0)))
			require.NoError(t, ended.At(time.Unix(9, 0)))
			require.True(t, stamp(&l).Equal(time.Unix(10, 0)))
		}
	})
}

// A Loan is handed about in registers. Of five words, or five fields, the compiler makes copies in memory, at both ends
// of each call.
func TestLoanFitsRegisters(t *testing.T) {
	of := reflect.TypeFor[Loan]()
	require.LessOrEqual(t, of.NumField(), 4)
	require.LessOrEqual(t, of.Size(), 4*unsafe.Sizeof(uintptr(0)))
}

// Goroutines lend and publish while the writer is closed: what Publish accepted arrives, and nothing else.
func TestCloseWhileLending(t *testing.T) {
	onBoth(t, func(t *testing.T, d *domain) {
		a, b := d.node(t, WithName("a")), d.node(t, WithName("b"))
		w, r := a.writer(t, writerQos(blocking(patience))), b.reader(t, readerQos())
		require.NoError(t, w.WaitForMatch(patiently(t), 1))
		require.NoError(t, r.WaitForMatch(patiently(t), 1))
		var mu sync.Mutex
		accepted := make(map[string]bool)
		var wg sync.WaitGroup
		begun := make(chan struct{}, 4)
		for i := range int32(4) {
			wg.Go(func() {
				for j := int32(0); ; j++ {
					l, err := w.Loan(context.Background(), 100)
					if err == nil {
						encoded, _ := cdr.Marshal(&track{ID: i, Value: j}, w.enc)
						if room := l.Bytes(); room != nil && j%3 != 2 {
							err = l.Publish(copy(room, encoded))
							if err == nil {
								mu.Lock()
								accepted[fmt.Sprintf("%d:%d", i, j)] = true
								mu.Unlock()
							}
						} else {
							err = l.Discard()
						}
					}
					if err != nil {
						if !errors.Is(err, ErrAlreadyDeleted) {
							t.Error(err)
						}
						return
					}
					if j == 5 {
						begun <- struct{}{}
					}
				}
			})
		}
		for range 4 {
			<-begun
		}
		require.NoError(t, within(t, w.Close))
		wg.Wait()
		got := 0
		for s, err := range r.Stream(patiently(t)) {
			require.NoError(t, err)
			if v := s.Data(); v != nil {
				require.True(t, accepted[fmt.Sprintf("%d:%d", v.ID, v.Value)], "%+v", v)
				if got++; got == len(accepted) {
					break
				}
			}
		}
		require.Equal(t, len(accepted), got)
	})
}

// Who waits in vain behind a loan is told of it.
func TestTimeoutNamesLoans(t *testing.T) {
	onBoth(t, func(t *testing.T, d *domain) {
		d.settings.RingBytes = 1 << 12
		n := d.node(t)
		n.reader(t, readerQos())
		w := n.writer(t, writerQos(blocking(time.Millisecond)))
		lender := n.writer(t, writerQos(blocking(patience)))
		write(t, w, 1, 1)
		l, err := lender.Loan(patiently(t), 100)
		require.NoError(t, err)
		for err == nil {
			err = w.Write(patiently(t), &track{ID: 1})
		}
		require.ErrorIs(t, err, ErrTimeout)
		require.ErrorContains(t, err, `loans that were not published or discarded hold up what follows them: 1 of the writer of topic "Track"`)
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		err = w.WaitForAcknowledgments(ctx)
		require.ErrorIs(t, err, ErrTimeout)
		require.ErrorContains(t, err, "1 of the writer")

		require.NoError(t, l.Discard())
		require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
		require.NotContains(t, n.p.lent(w.at.sg), "writer")
	})
}

// A builder that goes on after everything was closed writes where it hurts nobody, and Publish refuses.
func TestCoreBuilderOutlivesParticipant(t *testing.T) {
	d := onCore(t, Settings{})
	p, err := NewDomainParticipant(patiently(t), d.id, WithSettings(d.settings))
	require.NoError(t, err)
	pub, err := p.NewPublisher()
	require.NoError(t, err)
	tp, err := NewTopic[track](p, "Track")
	require.NoError(t, err)
	w, err := NewDataWriter(pub, tp)
	require.NoError(t, err)
	l, err := w.Loan(patiently(t), 100)
	require.NoError(t, err)
	room := l.Bytes()
	require.NoError(t, within(t, p.Close))
	for range 5 {
		runtime.GC() // unmaps what nothing refers to
	}
	for i := range room {
		room[i] = 1
	}
	require.ErrorIs(t, l.Publish(len(room)), ErrAlreadyDeleted)
}
