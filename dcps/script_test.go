package dcps

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "write the results of testdata/*.txt instead of comparing")

// TestScripts runs testdata/*.txt. A script is a list of cases: a comment, commands, a line "----", and what the
// commands printed, up to an empty line. All writers and readers of a case are of one topic.
//
//	node n                                     every entity is made at the latest node
//	writer w [option]...                       reliable unless best-effort
//	reader r [option]...                       reliable and keep-all unless best-effort, keep-last=N
//	write w ID VALUE | register w ID | dispose w ID | unregister w ID
//	close w|r | crash NODE | history r
//	take r | read r [max=N] [not-read] [alive] [not-alive] [instance=ID] [next=ID] [in-order]
//	status r|w
//
// Options: best-effort keep-last=N keep-all transient-local transient exclusive strength=N no-autodispose
// partition=P max-samples=N max-instances=N max-per-instance=N deadline=D
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) { runFile(t, file, onBus) })
		if !*rewrite {
			t.Run(name+" on the core", func(t *testing.T) {
				runFile(t, file, func(t testing.TB) *domain { return onCore(t, Settings{}) })
			})
		}
	}
}

func runFile(t *testing.T, file string, in func(testing.TB) *domain) {
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	var result strings.Builder
	for i, c := range strings.Split(strings.TrimSpace(string(raw)), "\n\n") {
		commands, want, ok := strings.Cut(c+"\n", "----\n")
		require.True(t, ok || *rewrite, "case %d of %s has no ----", i+1, file)
		name, _, _ := strings.Cut(strings.TrimPrefix(commands, "# "), "\n")
		t.Run(name, func(t *testing.T) {
			got := runScript(t, in(t), commands)
			fmt.Fprintf(&result, "%s----\n%s\n", commands, got)
			if !*rewrite {
				require.Equal(t, strings.TrimSpace(want), strings.TrimSpace(got), commands)
			}
		})
	}
	if *rewrite {
		require.NoError(t, os.WriteFile(file, []byte(strings.TrimSpace(result.String())+"\n"), 0o644))
	}
}

type script struct {
	t       *testing.T
	d       *domain
	nodes   map[string]*node
	latest  *node
	writers map[string]*DataWriter[track]
	readers map[string]*DataReader[track]
	out     strings.Builder
}

func runScript(t *testing.T, d *domain, commands string) string {
	s := &script{
		t: t, d: d, nodes: make(map[string]*node),
		writers: make(map[string]*DataWriter[track]), readers: make(map[string]*DataReader[track]),
	}
	for _, line := range strings.Split(commands, "\n") {
		if f := strings.Fields(line); len(f) > 0 && !strings.HasPrefix(line, "#") {
			s.run(f[0], f[1], f[2:])
			s.d.settle(t)
		}
	}
	return s.out.String()
}

func (s *script) run(command, name string, args []string) {
	t := s.t
	if s.latest == nil && command != "node" {
		s.latest = s.d.node(t)
	}
	switch command {
	case "node":
		s.latest = s.d.node(t)
		s.nodes[name] = s.latest
	case "crash":
		s.d.crash(s.nodes[name])
	case "writer":
		s.addWriter(name, args)
	case "reader":
		s.addReader(name, args)
	case "write":
		s.report(s.writers[name].Write(patiently(t), &track{ID: number(t, args[0]), Value: number(t, args[1])}))
	case "register":
		_, err := s.writers[name].Register(patiently(t), &track{ID: number(t, args[0])})
		s.report(err)
	case "dispose":
		s.report(s.writers[name].Dispose(patiently(t), &track{ID: number(t, args[0])}))
	case "unregister":
		s.report(s.writers[name].Unregister(patiently(t), &track{ID: number(t, args[0])}))
	case "close":
		if w := s.writers[name]; w != nil {
			s.report(w.Close())
		} else {
			s.report(s.readers[name].Close())
		}
	case "history":
		s.report(s.readers[name].WaitForHistoricalData(patiently(t)))
	case "take", "read":
		s.collect(command == "take", s.readers[name], args)
	case "status":
		s.status(name)
	default:
		t.Fatalf("unknown command %q", command)
	}
}

func (s *script) report(err error) {
	if err != nil {
		fmt.Fprintf(&s.out, "%v\n", err)
	}
}

func number(t *testing.T, text string) int32 {
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return int32(n)
}

func (s *script) collect(take bool, r *DataReader[track], args []string) {
	var opts []ReadOption
	for _, a := range args {
		key, value, _ := strings.Cut(a, "=")
		switch key {
		case "max":
			opts = append(opts, MaxSamples(int(number(s.t, value))))
		case "not-read":
			opts = append(opts, NotRead())
		case "alive":
			opts = append(opts, States(0, 0, InstanceAlive))
		case "not-alive":
			opts = append(opts, States(0, 0, InstanceNotAlive))
		case "in-order":
			opts = append(opts, InOrder())
		case "instance", "next":
			h, err := r.LookupInstance(&track{ID: number(s.t, value)})
			require.NoError(s.t, err)
			if key == "next" {
				opts = append(opts, NextInstance(h))
			} else {
				opts = append(opts, Instance(h))
			}
		default:
			s.t.Fatalf("unknown argument %q", a)
		}
	}
	f := r.Read
	if take {
		f = r.Take
	}
	samples, err := f(opts...)
	if err != nil {
		s.report(err)
		return
	}
	defer samples.Close()
	for _, x := range samples.All() {
		i := x.Info
		data := "-"
		if d := x.Data(); d != nil {
			data = fmt.Sprintf("%d:%d", d.ID, d.Value)
		}
		ranks := ""
		if i.SampleRank != 0 || i.GenerationRank != 0 || i.AbsoluteGenerationRank != 0 {
			ranks = fmt.Sprintf(" ranks=%d,%d,%d", i.SampleRank, i.GenerationRank, i.AbsoluteGenerationRank)
		}
		fmt.Fprintf(&s.out, "%v %s%s\n", i, data, ranks)
	}
}

func (s *script) status(name string) {
	if r := s.readers[name]; r != nil {
		m, l := r.SubscriptionMatchedStatus(), r.LivelinessChangedStatus()
		fmt.Fprintf(&s.out, "%s matched=%d/%d alive=%d lost=%d rejected=%d\n", name, m.CurrentCount, m.TotalCount, l.AliveCount,
			r.SampleLostStatus().TotalCount, r.SampleRejectedStatus().TotalCount)
		for _, d := range r.RequestedIncompatibleQosStatus().Details {
			fmt.Fprintf(&s.out, "%s %v offered=%s requested=%s\n", name, d.Policy, d.Offered, d.Requested)
		}
		return
	}
	w := s.writers[name]
	m := w.PublicationMatchedStatus()
	fmt.Fprintf(&s.out, "%s matched=%d/%d\n", name, m.CurrentCount, m.TotalCount)
	for _, d := range w.OfferedIncompatibleQosStatus().Details {
		fmt.Fprintf(&s.out, "%s %v offered=%s requested=%s\n", name, d.Policy, d.Offered, d.Requested)
	}
}

// policies are those that both kinds of entity have.
type policies struct {
	reliability *qos.Reliability
	durability  *qos.Durability
	history     *qos.History
	limits      *qos.ResourceLimits
	ownership   *qos.Ownership
	deadline    *qos.Deadline
}

func (p policies) set(t *testing.T, option string) bool {
	key, value, _ := strings.Cut(option, "=")
	switch key {
	case "best-effort":
		p.reliability.Kind = qos.ReliabilityBestEffort
	case "keep-all":
		p.history.Kind = qos.HistoryKeepAll
	case "keep-last":
		*p.history = qos.History{Kind: qos.HistoryKeepLast, Depth: number(t, value)}
	case "transient-local":
		p.durability.Kind = qos.DurabilityTransientLocal
	case "transient":
		p.durability.Kind = qos.DurabilityTransient
	case "exclusive":
		p.ownership.Kind = qos.OwnershipExclusive
	case "max-samples":
		p.limits.MaxSamples = number(t, value)
	case "max-instances":
		p.limits.MaxInstances = number(t, value)
	case "max-per-instance":
		p.limits.MaxSamplesPerInstance = number(t, value)
	case "deadline":
		d, err := time.ParseDuration(value)
		require.NoError(t, err)
		p.deadline.Period = d
	default:
		return false
	}
	return true
}

func (s *script) addWriter(name string, args []string) {
	t := s.t
	q := writerQos(func(q *qos.DataWriter) { q.Reliability.MaxBlockingTime = time.Millisecond })
	pub := qos.DefaultPublisher()
	for _, a := range args {
		key, value, _ := strings.Cut(a, "=")
		switch {
		case key == "strength":
			q.OwnershipStrength.Value = number(t, value)
		case key == "no-autodispose":
			q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false
		case key == "partition":
			pub.Partition.Name = strings.Split(value, ",")
		case !(policies{&q.Reliability, &q.Durability, &q.History, &q.ResourceLimits, &q.Ownership, &q.Deadline}).set(t, a):
			t.Fatalf("unknown option %q", a)
		}
	}
	p, err := s.latest.p.NewPublisher(WithPublisherQos(pub))
	require.NoError(t, err)
	w, err := NewDataWriter(p, s.latest.topic(t), WithWriterQos(q))
	s.report(err)
	s.writers[name] = w
}

func (s *script) addReader(name string, args []string) {
	t := s.t
	q := readerQos()
	sub := qos.DefaultSubscriber()
	for _, a := range args {
		key, value, _ := strings.Cut(a, "=")
		switch {
		case key == "partition":
			sub.Partition.Name = strings.Split(value, ",")
		case !(policies{&q.Reliability, &q.Durability, &q.History, &q.ResourceLimits, &q.Ownership, &q.Deadline}).set(t, a):
			t.Fatalf("unknown option %q", a)
		}
	}
	p, err := s.latest.p.NewSubscriber(WithSubscriberQos(sub))
	require.NoError(t, err)
	r, err := NewDataReader(p, s.latest.topic(t), WithReaderQos(q))
	s.report(err)
	s.readers[name] = r
}
