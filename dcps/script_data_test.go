package dcps

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/omg-dds-go/dds/internal/datadriven"
	"github.com/stretchr/testify/require"
)

func number(t *testing.T, text string) int32 {
	n, err := strconv.ParseInt(text, 10, 32)
	require.NoError(t, err)
	return int32(n)
}

// sample is what "W ID [VALUE] [text=S] [at=TIME]" says.
func (s *script) sample(args []datadriven.Arg) (*track, []WriteOption) {
	x := &track{ID: s.number(args[1].Key)}
	var opts []WriteOption
	for _, a := range args[2:] {
		switch a.Key {
		case "text":
			x.Text = datadriven.Value(a)
		case "at":
			opts = append(opts, At(s.start.Add(s.duration(a.Vals[0]))))
		default:
			x.Value = s.number(a.Key)
		}
	}
	return x, opts
}

func (s *script) write(args []datadriven.Arg) error {
	x, opts := s.sample(args)
	return s.writer(args).Write(patiently(s.t), x, opts...)
}

func (s *script) register(args []datadriven.Arg) error {
	x, opts := s.sample(args)
	_, err := s.writer(args).Register(patiently(s.t), x, opts...)
	return err
}

func (s *script) dispose(args []datadriven.Arg) error {
	x, opts := s.sample(args)
	return s.writer(args).Dispose(patiently(s.t), x, opts...)
}

func (s *script) unregister(args []datadriven.Arg) error {
	x, opts := s.sample(args)
	return s.writer(args).Unregister(patiently(s.t), x, opts...)
}

func (s *script) assert(args []datadriven.Arg) error {
	if n := s.nodes[args[0].Key]; n != nil {
		return n.p.AssertLiveliness()
	}
	return s.writer(args).AssertLiveliness()
}

func (s *script) acked(args []datadriven.Arg) error {
	return s.writer(args).WaitForAcknowledgments(patiently(s.t))
}

func (s *script) pub(args []datadriven.Arg) *Publisher {
	return thing(s, "publisher", s.pubs, args, 0)
}
func (s *script) sub(args []datadriven.Arg) *Subscriber {
	return thing(s, "subscriber", s.subs, args, 0)
}

func (s *script) begin(args []datadriven.Arg) error { return s.pub(args).BeginCoherentChanges() }

func (s *script) end(args []datadriven.Arg) error {
	return s.pub(args).EndCoherentChanges(patiently(s.t))
}
func (s *script) suspend(args []datadriven.Arg) error     { return s.pub(args).SuspendPublications() }
func (s *script) resume(args []datadriven.Arg) error      { return s.pub(args).ResumePublications() }
func (s *script) beginAccess(args []datadriven.Arg) error { return s.sub(args).BeginAccess() }
func (s *script) endAccess(args []datadriven.Arg) error   { return s.sub(args).EndAccess() }

// listReaders prints the topics of the readers that get_datareaders lists, in its order; after a second argument, take,
// also what one take of each gives.
func (s *script) listReaders(args []datadriven.Arg) error {
	line := args[0].Key + " has"
	for _, r := range s.sub(args).Readers(AnySampleState, AnyViewState, AnyInstanceState) {
		line += " " + s.nameOf(r)
		if len(args) > 1 {
			samples, err := r.(*DataReader[track]).Take()
			require.NoError(s.t, err)
			require.Equal(s.t, 1, samples.Len())
			if x := samples.At(0); x.Info.ValidData {
				line += fmt.Sprintf("=%d", x.Data().Value)
			}
			samples.Close()
		}
	}
	s.printf("%s", line)
	return nil
}

// nameOf is what the script calls a reader, if there are several of its topic, or else the topic.
func (s *script) nameOf(r AnyDataReader) string {
	name, several := "", false
	for n, o := range s.readers {
		if AnyDataReader(o) == r {
			name = n
		} else if o.TopicName() == r.TopicName() {
			several = true
		}
	}
	if several {
		return name
	}
	return r.TopicName()
}

func (s *script) history(args []datadriven.Arg) error {
	return s.reader(args).WaitForHistoricalData(patiently(s.t))
}

func (s *script) setParams(args []datadriven.Arg) error {
	var params []string
	for _, a := range args[1:] {
		params = append(params, a.Key)
	}
	return thing(s, "reader with a filter", s.filters, args, 0).SetExpressionParameters(params...)
}

// states are those that some words select; what is no state is left.
func states(args []datadriven.Arg) (x SampleState, v ViewState, i InstanceState, rest []datadriven.Arg) {
	for _, a := range args {
		switch a.Key {
		case "not-read":
			x |= SampleNotRead
		case "old":
			x |= SampleRead
		case "new":
			v |= ViewNew
		case "not-new":
			v |= ViewNotNew
		case "alive":
			i |= InstanceAlive
		case "not-alive":
			i |= InstanceNotAlive
		case "disposed":
			i |= InstanceNotAliveDisposed
		case "no-writers":
			i |= InstanceNotAliveNoWriters
		default:
			rest = append(rest, a)
		}
	}
	return x, v, i, rest
}

func (s *script) addCondition(args []datadriven.Arg) (err error) {
	r := thing(s, "reader", s.readers, args, 1)
	x, v, i, rest := states(args[2:])
	if len(rest) == 0 {
		s.conditions[args[0].Key] = r.NewReadCondition(x, v, i)
		return nil
	}
	require.Equal(s.t, "where", rest[0].Key)
	s.conditions[args[0].Key], err = r.NewQueryCondition(x, v, i, datadriven.Value(rest[0]))
	return err
}

func (s *script) trigger(args []datadriven.Arg) error {
	s.printf("%s %t", args[0].Key, thing(s, "condition", s.conditions, args, 0).TriggerValue())
	return nil
}

func (s *script) take(args []datadriven.Arg) error {
	return s.collect(s.reader(args), s.reader(args).Take, args[1:])
}

func (s *script) read(args []datadriven.Arg) error {
	return s.collect(s.reader(args), s.reader(args).Read, args[1:])
}

func (s *script) collect(r *DataReader[track], f func(...ReadOption) (*Samples[track], error), args []datadriven.Arg) error {
	x, v, i, rest := states(args)
	var opts []ReadOption
	if x != 0 || v != 0 || i != 0 {
		opts = append(opts, States(x, v, i))
	}
	for _, a := range rest {
		switch a.Key {
		case "max":
			opts = append(opts, MaxSamples(int(s.number(a.Vals[0]))))
		case "in-order":
			opts = append(opts, InOrder())
		case "where":
			c, err := r.NewQueryCondition(x, v, i, datadriven.Value(a))
			if err != nil {
				return err
			}
			defer func() { require.NoError(s.t, c.Close()) }()
			opts = append(opts, When(c))
		case "when":
			opts = append(opts, When(s.conditions[a.Vals[0]]))
		case "instance", "next":
			h, err := r.LookupInstance(&track{ID: s.number(a.Vals[0])})
			require.NoError(s.t, err)
			if a.Key == "next" {
				opts = append(opts, NextInstance(h))
			} else {
				opts = append(opts, Instance(h))
			}
		default:
			s.t.Fatalf("no argument of take and read is called %q", a.Key)
		}
	}
	samples, err := f(opts...)
	if err != nil {
		return err
	}
	defer samples.Close()
	for _, x := range samples.All() {
		s.show(&x.Info, x.Data())
	}
	return nil
}

func (s *script) show(i *SampleInfo, d *track) {
	data := "-"
	if d != nil {
		if data = fmt.Sprintf("%d:%d", d.ID, d.Value); d.Text != "" {
			data += ":" + d.Text
		}
	}
	if i.SampleRank != 0 || i.GenerationRank != 0 || i.AbsoluteGenerationRank != 0 {
		data += fmt.Sprintf(" ranks=%d,%d,%d", i.SampleRank, i.GenerationRank, i.AbsoluteGenerationRank)
	}
	s.printf("%v %s", i, data)
}
