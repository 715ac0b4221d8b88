package dcps

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/omg-dds-go/dds/internal/datadriven"
	"github.com/stretchr/testify/require"
)

// TestScripts plays testdata/*.txt, in virtual time. What does not need that is played again over the real core, and
// must look the same. Each case is a domain of its own.
//
//	node N                               a participant; what follows is made at the latest one, the first comes by itself
//	topic T [policy]...                  with a QoS of its own, for writers and readers that have from-topic
//	publisher P | subscriber S [policy]...
//	writer W | reader R [option]...      of topic Track, if it is not said; a reader keeps all, both are reliable
//	set ENTITY [policy]...               changes policies
//	enable ENTITY | close ENTITY | crash N | ignore N ENTITY | ignore N N
//
//	write W ID VALUE [text=S] [at=TIME]  TIME is since the beginning of the case
//	register | dispose | unregister W ID [at=TIME]
//	assert W|N                           its liveliness
//	acked W                              waits for acknowledgments
//	begin | end | suspend | resume P     coherent changes, publications
//
//	take | read R [max=N] [STATE]... [instance=ID] [next=ID] [in-order] [where=(QUERY)] [when=C]
//	history R                            waits for historical data
//	begin-access | end-access S
//	readers S [take]
//	params R VALUE...                    of its filter
//	condition C R [STATE]... [where=(QUERY)], trigger C
//
//	status ENTITY | changes ENTITY       totals, or what has changed since it was looked at and which bits are set
//	listen ENTITY                        prints from now on what its listener hears
//	pass TIME                            virtual time passes
//	delay W N, arrive                    what comes of W at N is on its way until it arrives
//	silence N at=N for=TIME | isolate N | rejoin N
//
// A STATE is not-read, old, new, not-new, alive, not-alive, disposed or no-writers. Options besides policies: topic=T pub=P
// sub=S from-topic filter=(EXPRESSION) params=(VALUE, VALUE). script_policies_test.go has the policies.
func TestScripts(t *testing.T) {
	const files = "testdata/*.txt"
	t.Run("virtually", func(t *testing.T) {
		datadriven.Run(t, files, func(t *testing.T, c *datadriven.Case) (out string) {
			virtually(t, func(t *testing.T, d *domain) { out = play(t, d, c) })
			return out
		})
	})
	t.Run("on the core", func(t *testing.T) {
		datadriven.Run(t, files, func(t *testing.T, c *datadriven.Case) string {
			if c.Rewriting || c.Has("pass", "listen", "delay", "silence", "isolate") {
				return c.Expected()
			}
			d := onCore(t, Settings{})
			defer func() {
				for _, n := range d.nodes {
					_ = n.p.Close()
				}
			}()
			return play(t, d, c)
		})
	})
}

// script is a case that is being played.
type script struct {
	t          *testing.T
	d          *domain
	start      time.Time
	nodes      map[string]*node
	latest     *node
	topics     map[string]*Topic[track] // those of the command topic
	pubs       map[string]*Publisher
	subs       map[string]*Subscriber
	writers    map[string]*DataWriter[track]
	readers    map[string]*DataReader[track]
	filters    map[string]*ContentFilteredTopic[track]
	conditions map[string]AnyReadCondition
	late       *delayed
	out        strings.Builder

	mu    sync.Mutex
	heard []string // by listeners, during a command
}

// processName is another one with each run.
var processName = regexp.MustCompile(`\S+ \(pid \d+ on [^)]+\)`)

// scriptCommands run a command; the error is printed.
var scriptCommands = map[string]func(s *script, args []datadriven.Arg) error{
	"node": (*script).addNode, "topic": (*script).addTopic, "publisher": (*script).addPublisher, "subscriber": (*script).addSubscriber,
	"writer": (*script).addWriter, "reader": (*script).addReader, "set": (*script).set, "enable": (*script).enable, "close": (*script).close,
	"crash": (*script).crash, "ignore": (*script).ignore, "write": (*script).write, "register": (*script).register, "dispose": (*script).dispose,
	"unregister": (*script).unregister, "assert": (*script).assert, "acked": (*script).acked, "begin": (*script).begin, "end": (*script).end,
	"suspend": (*script).suspend, "resume": (*script).resume, "take": (*script).take, "read": (*script).read, "history": (*script).history,
	"begin-access": (*script).beginAccess, "end-access": (*script).endAccess, "readers": (*script).listReaders, "params": (*script).setParams,
	"condition": (*script).addCondition, "trigger": (*script).trigger, "status": (*script).status, "changes": (*script).changes,
	"listen": (*script).listen, "pass": (*script).pass, "delay": (*script).delay, "arrive": (*script).arrive, "silence": (*script).silence,
	"isolate": (*script).isolate, "rejoin": (*script).rejoin,
}

func play(t *testing.T, d *domain, c *datadriven.Case) string {
	s := &script{
		t: t, d: d, start: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), // when virtual time begins
		nodes: map[string]*node{}, topics: map[string]*Topic[track]{},
		pubs: map[string]*Publisher{}, subs: map[string]*Subscriber{}, writers: map[string]*DataWriter[track]{},
		readers: map[string]*DataReader[track]{}, filters: map[string]*ContentFilteredTopic[track]{}, conditions: map[string]AnyReadCondition{},
	}
	for _, command := range c.Commands {
		run := scriptCommands[command.Name]
		if run == nil {
			t.Fatalf("no command is called %q: %s", command.Name, command.Text)
		}
		if s.latest == nil && command.Name != "node" {
			s.latest = d.node(t)
		}
		if err := run(s, command.Args); err != nil {
			s.printf("%s", processName.ReplaceAllString(err.Error(), "PROCESS"))
		}
		d.settle(t)
		s.tellHeard()
	}
	return s.out.String()
}

func (s *script) printf(format string, args ...any) { fmt.Fprintf(&s.out, format+"\n", args...) }

// tellHeard prints what listeners heard. Those of several entities are called at the same time, so it is sorted.
func (s *script) tellHeard() {
	if s.d.bus == nil {
		return
	}
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.heard)
	for _, line := range s.heard {
		s.printf("%s", line)
	}
	s.heard = nil
}

// thing finds what an argument names, of one kind.
func thing[E any](s *script, kind string, of map[string]E, args []datadriven.Arg, i int) E {
	s.t.Helper()
	require.Greater(s.t, len(args), i, "a %s is missing", kind)
	e, ok := of[args[i].Key]
	require.True(s.t, ok, "there is no %s %s", kind, args[i].Key)
	return e
}

func (s *script) writer(args []datadriven.Arg) *DataWriter[track] {
	return thing(s, "writer", s.writers, args, 0)
}

func (s *script) reader(args []datadriven.Arg) *DataReader[track] {
	return thing(s, "reader", s.readers, args, 0)
}

func (s *script) number(text string) int32 { return number(s.t, text) }

func (s *script) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	require.NoError(s.t, err)
	return d
}

func (s *script) pass(args []datadriven.Arg) error {
	pass(s.duration(args[0].Key))
	return nil
}

func (s *script) delay(args []datadriven.Arg) error {
	s.late = &delayed{d: s.d, at: thing(s, "node", s.nodes, args, 1)}
	s.late.hold(s.t, s.writer(args).writer)
	return nil
}

func (s *script) arrive([]datadriven.Arg) error {
	s.late.release()
	return nil
}
