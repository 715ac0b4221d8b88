package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// lease is the time after which the group goes on without a member that is silent; the default.
const lease = 500 * time.Millisecond

// Faults at random on one host; the readers and writers are those of several processes, which come and go.
func TestStorm(t *testing.T) {
	for _, transport := range []string{"shm", "tcp"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			seed := *flagSeed
			if seed == 0 {
				seed = uint64(time.Now().UnixNano() & 0xffffff)
			}
			for left := *flagSteps; left > 0; left -= *flagRound {
				steps := min(left, *flagRound)
				name := fmt.Sprintf("seed=%d", seed)
				ok := t.Run(name, func(t *testing.T) {
					t.Logf("again: go test ./internal/chaos -run 'TestStorm/%s' -chaos.seed %d -chaos.steps %d -chaos.round %d -v", transport, seed, steps, *flagRound)
					storm(t, transport, seed, steps)
				})
				if !ok {
					return
				}
				seed++
			}
		})
	}
}

const (
	fewest = 3 // processes in a storm
	most   = 6
)

// squall is a round of a storm.
type squall struct {
	*fleet
	rnd       *rand.Rand
	transport string
	domain    uint32
	did       map[string]int
	long      map[string]bool // processes that were stopped for longer than the lease
}

func storm(t *testing.T, transport string, seed uint64, steps int) {
	s := &squall{rnd: rand.New(rand.NewPCG(seed, 0)), transport: transport, did: map[string]int{}, long: map[string]bool{}}
	s.domain = uint32(rand.Int32())
	env := []string{"DDS_TRANSPORT=" + transport}
	if s.rnd.IntN(2) == 0 {
		env = append(env, envTrim+"=yes")
	}
	s.fleet = newFleet(t, s.domain, env...)
	for range fewest + 1 {
		s.join()
	}
	for range steps {
		s.step()
		s.rest(100 + s.rnd.IntN(900))
	}
	for _, p := range s.running {
		if p.stopped {
			s.signal(p, syscall.SIGCONT)
		}
	}
	s.pass(lease) // who was stopped for too long learns of it
	begin := time.Now()
	s.finish(allTopics...)
	settled := time.Since(begin)
	oldest, youngest := s.checkHeld()
	for _, p := range s.running {
		p.outcome.alive = true
	}
	for len(s.running) > 0 {
		s.retire(s.running[s.rnd.IntN(len(s.running))])
	}
	all := s.outcomes()
	f := check(all)
	for _, w := range f.wrong {
		t.Error(w)
	}
	recalled, trimmed := s.recall(all), 0
	for _, p := range all {
		if p.trimmed != nil {
			trimmed++
		}
	}
	s.checkNothingLeft(s.domain)
	excluded, baseless := 0, []string{}
	for _, name := range sortedKeys(f.cuts) {
		excluded += f.cuts[name]
		if f.cuts[name] > 0 && !s.long[name] {
			baseless = append(baseless, name)
		}
	}
	t.Logf("%s: %d processes, %v; %d deliveries in %d stays agree, %d of them acknowledged; %d came back after an exclusion%s; settled in %v; all came back, with %d samples that were kept, %d logs of processes were trimmed; the oldest process held %+v, the youngest %+v",
		transport, s.started, s.did, f.deliveries, f.stays, f.arrived, excluded, unprovoked(baseless), settled.Round(time.Millisecond), recalled, trimmed, oldest, youngest)
	failed := 0
	for _, p := range s.over {
		for _, e := range p.outcome.told.errors {
			if failed++; failed <= 5 {
				t.Logf("told by %s (%s): %s", p.name, p.outcome.fate, e)
			}
		}
	}
}

func unprovoked(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return ", without having been stopped: " + strings.Join(names, " ")
}

// rest lets time pass: faults are some hundred milliseconds apart.
func (s *squall) rest(ms int) { s.pass(time.Duration(ms) * time.Millisecond) }

// step does one thing, chosen at random among those that are possible now.
func (s *squall) step() {
	var well, stopped []*process
	for _, p := range s.running {
		if p.stopped {
			stopped = append(stopped, p)
		} else {
			well = append(well, p)
		}
	}
	// Without shared memory nothing can be read of the dead, so a majority has to stay at every moment, also of a view
	// that still counts some of them.
	spare := len(well) > fewest-1
	if s.transport == "tcp" {
		spare = len(well) > fewest-1 && 2*(len(well)-1) > len(s.running)+s.dying()
	}
	pick := func(list []*process) *process { return list[s.rnd.IntN(len(list))] }
	type choice struct {
		name   string
		weight int
		do     func()
	}
	var choices []choice
	can := func(ok bool, weight int, name string, do func()) {
		if ok {
			choices = append(choices, choice{name, weight, do})
		}
	}
	can(len(s.running) < most && len(stopped) == 0, 4, "joined", func() { s.join() })
	can(len(s.running) < most && len(stopped) > 0, 1, "joined beside a stopped one", func() { s.join() })
	can(spare && len(s.running) > fewest, 2, "left", func() { s.retire(pick(well)) })
	can(spare && len(s.running) > fewest, 3, "killed", func() { s.kill(pick(well)) })
	can(spare, 3, "killed and started again", func() {
		p := pick(well)
		s.kill(p)
		s.joinAt(p.seat)
	})
	can(s.transport == "shm" && len(well) > fewest, 2, "two killed at once", func() {
		p := pick(well)
		q := pick(slices.DeleteFunc(slices.Clone(well), func(q *process) bool { return q == p }))
		s.kill(p)
		s.kill(q)
		s.join()
	})
	can(spare, 2, "stopped for a moment", func() {
		p := pick(well)
		s.signal(p, syscall.SIGSTOP)
		s.rest(20 + s.rnd.IntN(int(lease.Milliseconds())/2))
		s.signal(p, syscall.SIGCONT)
	})
	can(spare && len(stopped) == 0, 3, "stopped for long", func() {
		p := pick(well)
		s.signal(p, syscall.SIGSTOP)
		s.long[p.name] = true
	})
	can(len(stopped) > 0, 8, "let go on", func() { s.signal(pick(stopped), syscall.SIGCONT) })
	can(len(stopped) > 0, 1, "killed while stopped", func() { s.kill(pick(stopped)) })
	can(len(stopped) == 0, 2, "a reader and a writer more", func() {
		p := pick(well)
		s.enter(p, s.topic(), 1, 1)
	})
	can(len(stopped) == 0, 2, "a reader and a writer fewer", func() {
		p, topic := pick(well), s.topic()
		if p.writers[topic] > 1 && p.readers[topic] > 1 {
			s.leave(p, topic, 1, 1)
		}
	})
	total := 0
	for _, c := range choices {
		total += c.weight
	}
	n := s.rnd.IntN(total)
	for _, c := range choices {
		if n -= c.weight; n < 0 {
			s.did[c.name]++
			s.fleet.did("- %s", c.name)
			c.do()
			return
		}
	}
}

// dying are the killed that the others may not have agreed on yet: with much else running that takes as long as silence does.
func (s *squall) dying() (n int) {
	for _, p := range s.over {
		if p.outcome.fate != "closed" && time.Since(time.Unix(0, p.outcome.over)) < 2*lease {
			n++
		}
	}
	return n
}

func (s *squall) topic() string { return allTopics[s.rnd.IntN(len(allTopics))] }

// join starts a process in a seat that is free.
func (s *squall) join() *process {
	for i := 1; ; i++ {
		seat := fmt.Sprintf("seat%d", i)
		if !slices.ContainsFunc(s.running, func(p *process) bool { return strings.HasSuffix(p.seat, "/"+seat) }) {
			return s.joinAt(s.dir + "/" + seat)
		}
	}
}

func (s *squall) joinAt(seat string) *process {
	p := s.spawn(strings.TrimPrefix(seat, s.dir+"/"), nil)
	s.joined(p)
	for _, topic := range allTopics {
		s.enter(p, topic, 2, 2)
	}
	s.ask(p, "write 0 %d", 16)
	return p
}
