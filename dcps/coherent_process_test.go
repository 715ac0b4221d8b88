package dcps

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// setTopics are those of a coherent set; they hash to different subgroups.
var setTopics = []string{"A", "B", "C"}

// samplesOfSet is how many each of them has in it.
const samplesOfSet = 2

// longer than patience: processes start and die, and much else may run.
const setPatience = 3 * time.Minute

// publishSets writes coherent sets over three topics, one after the other, until it is killed.
func publishSets(domain string) error {
	id, err := strconv.Atoi(domain)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), setPatience)
	defer cancel()
	p, err := NewDomainParticipant(ctx, DomainID(id), WithName("publisher"))
	if err != nil {
		return err
	}
	q := qos.DefaultPublisher()
	q.Presentation = present(qos.PresentationGroup, true, false)
	pub, err := p.NewPublisher(WithPublisherQos(q))
	if err != nil {
		return err
	}
	var writers []*DataWriter[track]
	for _, name := range setTopics {
		tp, err := NewTopic[track](p, name)
		if err != nil {
			return err
		}
		w, err := NewDataWriter(pub, tp, WithWriterQos(writerQos(blocking(setPatience))))
		if err != nil {
			return err
		}
		if err := w.WaitForMatch(ctx, 2); err != nil {
			return err
		}
		writers = append(writers, w)
	}
	for set := int32(1); ; set++ {
		if err := pub.BeginCoherentChanges(); err != nil {
			return err
		}
		for i := range int32(samplesOfSet) {
			for _, w := range writers {
				if err := w.Write(ctx, &track{ID: i, Value: set}); err != nil {
					return err
				}
			}
		}
		if err := pub.EndCoherentChanges(ctx); err != nil {
			return err
		}
	}
}

// spectator is a process's view of the sets.
type spectator struct {
	sub     *Subscriber
	readers []*DataReader[track]
	wake    *WaitSet
	seen    int32 // sets, which are numbered from 1
}

func newSpectator(t *testing.T, n *node) *spectator {
	q := qos.DefaultSubscriber()
	q.Presentation = present(qos.PresentationGroup, true, false)
	sub, err := n.p.NewSubscriber(WithSubscriberQos(q))
	require.NoError(t, err)
	s := &spectator{sub: sub, wake: NewWaitSet()}
	for _, name := range setTopics {
		r := readerOn(t, n, sub, name, readerQos())
		c := r.StatusCondition()
		c.SetEnabledStatuses(SubscriptionMatchedStatusBit | DataAvailableStatusBit)
		s.wake.Attach(c)
		s.readers = append(s.readers, r)
	}
	return s
}

// look takes what is there in one access: whole sets, in their order.
func (s *spectator) look() error {
	if err := s.sub.BeginAccess(); err != nil {
		return err
	}
	parts := map[int32]int{}
	for _, r := range s.readers {
		samples, err := r.Take()
		if errors.Is(err, ErrNoData) {
			continue
		}
		if err != nil {
			return err
		}
		for _, x := range samples.All() {
			if d := x.Data(); d != nil {
				parts[d.Value]++
			}
		}
		samples.Close()
	}
	if err := s.sub.EndAccess(); err != nil {
		return err
	}
	for range len(parts) {
		s.seen++
		if n := parts[s.seen]; n != samplesOfSet*len(setTopics) {
			return fmt.Errorf("%d samples of set %d are seen in one access, of %d; the access has %v", n, s.seen, samplesOfSet*len(setTopics), parts)
		}
	}
	return nil
}

// watch looks until the publisher is gone. It says so when it has seen enough sets.
func (s *spectator) watch(ctx context.Context, enough int32, said func()) error {
	for {
		matched, met := int32(0), int32(0) // who was not let run for long finds that all have come and gone
		for _, r := range s.readers {
			status := r.SubscriptionMatchedStatus()
			matched, met = matched+status.CurrentCount, met+status.TotalCount
		}
		before := s.seen
		if err := s.look(); err != nil {
			return err
		}
		if before < enough && s.seen >= enough {
			said()
		}
		if met == int32(len(setTopics)) && matched == 0 {
			return nil
		}
		if _, err := s.wake.Wait(ctx); err != nil {
			return err
		}
	}
}

// A publisher that is killed in the midst of its coherent sets of GROUP scope leaves whole sets at every reader: of each
// set all samples of all topics are seen in one access, or none ever is.
func TestCoreGroupSetsOfAPublisherThatIsKilled(t *testing.T) {
	for i, transport := range []string{"shm", "tcp", "shm", "shm"} {
		t.Run(fmt.Sprintf("%s %d", transport, i), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), setPatience)
			defer cancel()
			d := onCore(t, Settings{Transport: transport, Lease: noLease})
			a, b := newSpectator(t, d.node(t)), newSpectator(t, d.node(t))
			child := exec.CommandContext(ctx, os.Args[0])
			child.Env = append(os.Environ(), fmt.Sprintf("DCPS_TEST_COHERENT=%d", d.id), "DDS_TRANSPORT="+transport, "DDS_LEASE="+noLease.String())
			child.Stderr = os.Stderr
			require.NoError(t, child.Start())
			var once sync.Once
			kill := func() { once.Do(func() { _ = child.Process.Kill() }) }
			defer func() {
				kill()
				_ = child.Wait() // it was killed
			}()
			var wg sync.WaitGroup
			for _, s := range []*spectator{a, b} {
				wg.Go(func() {
					if err := s.watch(ctx, int32(20+30*i), kill); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			t.Logf("%d and %d sets were seen", a.seen, b.seen)
		})
	}
}
