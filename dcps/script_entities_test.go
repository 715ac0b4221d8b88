package dcps

import (
	"time"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/internal/datadriven"
	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

func (s *script) addNode(args []datadriven.Arg) error {
	s.latest = s.d.node(s.t, WithName(args[0].Key))
	s.nodes[args[0].Key] = s.latest
	return nil
}

func (s *script) addTopic(args []datadriven.Arg) error {
	q := qos.DefaultTopic()
	s.setAll(policiesOfTopic(&q), args[1:])
	t, err := NewTopic[track](s.latest.p, args[0].Key, WithTopicQos(q), WithTypeDescription(trackDescription))
	s.topics[args[0].Key] = t
	return err
}

func (s *script) addPublisher(args []datadriven.Arg) (err error) {
	q := qos.DefaultPublisher()
	s.setAll(policiesOfPublisher(&q), args[1:])
	s.pubs[args[0].Key], err = s.latest.p.NewPublisher(WithPublisherQos(q))
	return err
}

func (s *script) addSubscriber(args []datadriven.Arg) (err error) {
	q := qos.DefaultSubscriber()
	s.setAll(policiesOfSubscriber(&q), args[1:])
	s.subs[args[0].Key], err = s.latest.p.NewSubscriber(WithSubscriberQos(q))
	return err
}

// asked are the options of a writer or reader that are no policies.
type asked struct {
	topic     string
	parent    string // "" for one of its own
	fromTopic bool
	filter    string
	params    []string
	policies  []datadriven.Arg
}

func ask(args []datadriven.Arg) asked {
	a := asked{topic: "Track"}
	for _, arg := range args {
		switch arg.Key {
		case "topic":
			a.topic = datadriven.Value(arg)
		case "pub", "sub":
			a.parent = datadriven.Value(arg)
		case "from-topic":
			a.fromTopic = true
		case "filter":
			a.filter = datadriven.Value(arg)
		case "params":
			a.params = arg.Vals
		default:
			a.policies = append(a.policies, arg)
		}
	}
	return a
}

// topic gives a topic of the latest node.
func (s *script) topic(name string) *Topic[track] {
	if t := s.topics[name]; t != nil && t.Participant() == s.latest.p {
		return t
	}
	t, err := NewTopic[track](s.latest.p, name, WithTypeDescription(trackDescription))
	require.NoError(s.t, err)
	return t
}

func (s *script) addWriter(args []datadriven.Arg) error {
	a := ask(args[1:])
	q := writerQos(func(q *qos.DataWriter) { q.Reliability.MaxBlockingTime = time.Millisecond })
	pub, opts := s.pubs[a.parent], []WriterOption{FromTopicQos()}
	if pub == nil {
		own := qos.DefaultPublisher()
		s.setAll(policiesOfWriter(&q, &own), a.policies)
		var err error
		pub, err = s.latest.p.NewPublisher(WithPublisherQos(own))
		require.NoError(s.t, err)
	} else {
		s.setAll(policiesOfWriter(&q, nil), a.policies)
	}
	if !a.fromTopic {
		opts = []WriterOption{WithWriterQos(q)}
	}
	w, err := NewDataWriter(pub, s.topic(a.topic), opts...)
	s.writers[args[0].Key] = w
	return err
}

func (s *script) addReader(args []datadriven.Arg) error {
	a := ask(args[1:])
	q := readerQos()
	sub, opts := s.subs[a.parent], []ReaderOption{FromTopicQos()}
	if sub == nil {
		own := qos.DefaultSubscriber()
		s.setAll(policiesOfReader(&q, &own), a.policies)
		var err error
		sub, err = s.latest.p.NewSubscriber(WithSubscriberQos(own))
		require.NoError(s.t, err)
	} else {
		s.setAll(policiesOfReader(&q, nil), a.policies)
	}
	if !a.fromTopic {
		opts = []ReaderOption{WithReaderQos(q)}
	}
	var of TopicDescription[track] = s.topic(a.topic)
	if a.filter != "" {
		f, err := NewContentFilteredTopic(s.topic(a.topic), args[0].Key+"'s", a.filter, a.params...)
		if err != nil {
			return err
		}
		s.filters[args[0].Key], of = f, f
	}
	r, err := NewDataReader(sub, of, opts...)
	s.readers[args[0].Key] = r
	return err
}

// set changes policies of an entity, or with a partition those of the writer's or reader's own parent.
func (s *script) set(args []datadriven.Arg) error {
	name := args[0].Key
	switch {
	case s.writers[name] != nil:
		w := s.writers[name]
		q, pub := w.Qos(), w.Publisher().Qos()
		s.setAll(policiesOfWriter(&q, &pub), args[1:])
		if err := w.Publisher().SetQos(pub); err != nil {
			return err
		}
		return w.SetQos(q)
	case s.readers[name] != nil:
		r := s.readers[name]
		q, sub := r.Qos(), r.Subscriber().Qos()
		s.setAll(policiesOfReader(&q, &sub), args[1:])
		if err := r.Subscriber().SetQos(sub); err != nil {
			return err
		}
		return r.SetQos(q)
	case s.topics[name] != nil:
		q := s.topics[name].Qos()
		s.setAll(policiesOfTopic(&q), args[1:])
		return s.topics[name].SetQos(q)
	case s.pubs[name] != nil:
		q := s.pubs[name].Qos()
		s.setAll(policiesOfPublisher(&q), args[1:])
		return s.pubs[name].SetQos(q)
	}
	q := thing(s, "entity", s.subs, args, 0).Qos()
	s.setAll(policiesOfSubscriber(&q), args[1:])
	return s.subs[name].SetQos(q)
}

// entity finds an entity of any kind.
func (s *script) entity(args []datadriven.Arg, i int) interface {
	Handle() InstanceHandle
	Enable() error
	Close() error
} {
	name := args[i].Key
	if w := s.writers[name]; w != nil {
		return w
	}
	return thing(s, "writer or reader", s.readers, args, i)
}

func (s *script) enable(args []datadriven.Arg) error {
	if p := s.pubs[args[0].Key]; p != nil {
		return p.Enable()
	}
	if p := s.subs[args[0].Key]; p != nil {
		return p.Enable()
	}
	return s.entity(args, 0).Enable()
}

func (s *script) close(args []datadriven.Arg) error {
	if p := s.pubs[args[0].Key]; p != nil {
		return p.Close()
	}
	if p := s.subs[args[0].Key]; p != nil {
		return p.Close()
	}
	return s.entity(args, 0).Close()
}

func (s *script) crash(args []datadriven.Arg) error {
	s.d.crash(thing(s, "node", s.nodes, args, 0))
	return nil
}

func (s *script) ignore(args []datadriven.Arg) error {
	n := thing(s, "node", s.nodes, args, 0)
	if other := s.nodes[args[1].Key]; other != nil {
		return n.p.IgnoreParticipant(other.p.Handle())
	}
	of := s.entity(args, 1)
	if s.writers[args[1].Key] != nil {
		return n.p.IgnorePublication(of.Handle())
	}
	return n.p.IgnoreSubscription(of.Handle())
}

func (s *script) silence(args []datadriven.Arg) error {
	of, at, d := thing(s, "node", s.nodes, args, 0), s.nodes[args[1].Vals[0]], s.duration(args[2].Vals[0])
	s.d.bus.silence(at, of, d)
	return nil
}

func (s *script) isolate(args []datadriven.Arg) error {
	s.d.bus.isolate(thing(s, "node", s.nodes, args, 0), derecho.ErrNoMajority)
	return nil
}

func (s *script) rejoin(args []datadriven.Arg) error {
	s.d.bus.isolate(thing(s, "node", s.nodes, args, 0), nil)
	return nil
}
