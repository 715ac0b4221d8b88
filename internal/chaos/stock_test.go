package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/dcps"
	"github.com/omg-dds-go/dds/qos"
)

// stockTopic has a history of as many samples as the test says.
const stockTopic = "Stock"

// access is what the Publisher of a stock offers, and what Subscribers ask for.
var access = map[string]qos.Presentation{
	"plain":    qos.DefaultSubscriber().Presentation,
	"coherent": {AccessScope: qos.PresentationTopic, CoherentAccess: true},
	"group":    {AccessScope: qos.PresentationGroup, CoherentAccess: true, OrderedAccess: true},
}

// stock writes samples of so many instances, all of which are kept.
func (c *child) stock(samples, instances int, offers string) error {
	topic, err := dcps.NewTopic[Note](c.p, stockTopic)
	if err != nil {
		return err
	}
	q := qos.DefaultDataWriter()
	q.Durability.Kind, q.History.Kind, q.Reliability.MaxBlockingTime = qos.DurabilityTransientLocal, qos.HistoryKeepAll, patience
	offered := qos.DefaultPublisher()
	offered.Presentation = access[offers]
	pub, err := c.p.NewPublisher(dcps.WithPublisherQos(offered))
	if err != nil {
		return err
	}
	w, err := dcps.NewDataWriter(pub, topic, dcps.WithWriterQos(q))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for i := range samples {
		if err := w.Write(ctx, &Note{Writer: strconv.Itoa(i % instances), Number: uint64(i)}); err != nil {
			return err
		}
	}
	return nil
}

// draw has a reader given all of it, and tells how long that took; then it takes what it was given, and tells how much that is.
func (c *child) draw(asks string) (string, error) {
	topic, err := dcps.NewTopic[Note](c.p, stockTopic)
	if err != nil {
		return "", err
	}
	q := qos.DefaultDataReader()
	q.Reliability.Kind, q.Durability.Kind, q.History.Kind = qos.ReliabilityReliable, qos.DurabilityTransientLocal, qos.HistoryKeepAll
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	asked := qos.DefaultSubscriber()
	asked.Presentation = access[asks]
	sub, err := c.p.NewSubscriber(dcps.WithSubscriberQos(asked))
	if err != nil {
		return "", err
	}
	begun := time.Now()
	r, err := dcps.NewDataReader(sub, topic, dcps.WithReaderQos(q))
	if err != nil {
		return "", err
	}
	if err := r.WaitForHistoricalData(ctx); err != nil {
		return "", err
	}
	took := time.Since(begun)
	if err := sub.BeginAccess(); err != nil {
		return "", err
	}
	had := make(map[uint64]bool)
	for s, err := r.Take(); ; s, err = r.Take() {
		if err != nil { // there is no more
			return fmt.Sprint(took.Nanoseconds(), " ", len(had)), sub.EndAccess()
		}
		for _, sample := range s.All() {
			if note := sample.Data(); note != nil {
				had[note.Number] = true
			}
		}
		s.Close()
	}
}

// A reader comes to a topic of which very many samples are kept: to a process that has none of them, and another one to the same
// process, which has them by then. Nobody is excluded meanwhile, and what others are handed of another topic goes on.
func TestTimeOfLargeJoin(t *testing.T) {
	const each = 1 << 30
	for name, of := range map[string]struct {
		instances int
		access    string
	}{
		"one instance": {1, "plain"}, "an instance for each": {each, "plain"},
		"coherent, an instance for each": {each, "coherent"}, "ordered in a group": {1, "group"},
	} {
		t.Run(name, func(t *testing.T) {
			brief(t, "shm")
			kept := *flagStock
			f := newFleet(t, rand.Uint32()>>1, "DDS_TRANSPORT=shm", usualLease())
			f.stops = watchProcessors(t)
			var all []*process
			for _, name := range []string{"giver", "joiner", "bystander"} {
				p := f.spawn(name, nil)
				f.joined(p)
				f.enter(p, atomicTopic, 1, 1)
				all = append(all, p)
			}
			giver, joiner := all[0], all[1]
			f.settle(atomicTopic)
			f.ask(giver, "stock %d %d %s", kept, min(kept, of.instances), of.access)
			f.ask(giver, "collect")
			f.askAll("write %d 16", pace)
			f.pass(time.Second)
			f.gaps(atomicTopic, time.Now(), time.Now(), all...)
			look := func(what string, do func() string) string {
				from := time.Now()
				said := do()
				until := time.Now()
				text := ""
				for i, gs := range f.gapsOf(atomicTopic, from, until, all...) {
					text += fmt.Sprintf(", %s %v", all[i].name, worst(gs).long.Round(10*time.Microsecond))
				}
				return fmt.Sprintf("\n  %s%s%s", what, said, text)
			}
			draw := func() string {
				words := strings.Fields(f.ask(joiner, "draw %s", of.access))
				require.Equal(t, strconv.Itoa(kept), words[1])
				took, err := strconv.ParseInt(words[0], 10, 64)
				require.NoError(t, err)
				return fmt.Sprint(time.Duration(took).Round(time.Millisecond))
			}
			text := look("nothing else happens", func() string {
				f.pass(time.Second)
				return ""
			})
			text += look("a reader comes to a process that has none of it, and is given all in ", draw)
			text += look("another one to the same process, in ", draw)
			for _, p := range f.running {
				require.Empty(t, f.ask(p, "trouble"), "%s", p.name)
			}
			t.Logf("%d samples are kept of a topic, %s; of another one each of 3 processes writes a sample every %v, and all read them: the longest time that they are handed nothing of that:%s\n  %s",
				kept, name, pace, text, machine())
			f.end()
		})
	}
}
