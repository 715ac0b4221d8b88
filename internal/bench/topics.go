package bench

import (
	"fmt"

	"github.com/omg-dds-go/dds/dcps"
	"github.com/omg-dds-go/dds/topic"
)

// DefaultTopic is what pubs and subs talk about.
const DefaultTopic = "DDSPerfData"

// Neighbor is the name of a topic that shares its subgroup with the topic of this name, or does not: what happens to one
// of two topics may concern the other if they do. It is found by trying, since topics are hashed onto subgroups.
func Neighbor(name string, subgroups int, shares bool) string {
	place := topic.Placement{Subgroups: subgroups}
	own := place.Index(name + plain.name)
	for i := 0; ; i++ {
		n := fmt.Sprintf("DDSPerfNeighbor%d", i)
		if (place.Index(n+plain.name) == own) == shares || subgroups == 1 {
			return n
		}
	}
}

// idleTopics are the names of n topics besides the one of this name. As long as there are subgroups that no topic is on,
// each is on one of them.
func idleTopics(active string, n, subgroups int) []string {
	place := topic.Placement{Subgroups: subgroups}
	used := map[int]bool{place.Index(active + plain.name): true}
	var names []string
	for i := 0; len(names) < n; i++ {
		name := fmt.Sprintf("DDSPerfIdle%d", i)
		at := place.Index(name + plain.name)
		if used[at] && len(used) < subgroups {
			continue
		}
		used[at] = true
		names = append(names, name)
	}
	return names
}

// idle makes a writer and a reader for each topic that nobody uses. They go with the participant.
func idle(p *dcps.DomainParticipant, o *Options) error {
	for _, name := range idleTopics(o.Topic, o.Topics-1, o.Subgroups) {
		t, err := dcps.NewTopic[Sample](p, name+plain.name)
		if err != nil {
			return err
		}
		pub, err := p.NewPublisher()
		if err != nil {
			return err
		}
		if _, err := dcps.NewDataWriter(pub, t, dcps.WithWriterQos(writerQos(o))); err != nil {
			return err
		}
		sub, err := p.NewSubscriber()
		if err != nil {
			return err
		}
		if _, err := dcps.NewDataReader(sub, t, dcps.WithReaderQos(readerQos(o))); err != nil {
			return err
		}
	}
	return nil
}
