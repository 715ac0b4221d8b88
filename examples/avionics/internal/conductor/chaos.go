package conductor

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"github.com/omg-dds-go/dds/examples/avionics/internal/control"
	"github.com/omg-dds-go/dds/examples/avionics/internal/report"
	"github.com/omg-dds-go/dds/examples/avionics/internal/roles"
)

// chaos kills processes, one after the other: the next one when the one before plays its role again.
type chaos struct {
	random  *rand.Rand
	next    <-chan time.Time // when to kill; nil: no more
	restart <-chan time.Time // when to start the victim again
	victim  *victim          // nil: all is well
	round   []string         // who is still to be killed in this round: each once, in a random order
	kills   []report.Kill
	at      map[string]map[string]control.Reached // by role and topic, where everybody is
}

// victim is a process that was killed, until its role is played again and the others have gone on.
type victim struct {
	role    string
	at      time.Time
	down    time.Duration
	started time.Time
	back    bool
	// waiting are the survivors that have not delivered since, with the epoch in which they were, by topic.
	waiting map[string]map[string]uint32
}

// steady are the topics of which something comes all the time.
var steady = []string{roles.AirData, roles.Position, roles.TrafficReport}

// A victim is started again after a time between these.
const (
	minDown = 100 * time.Millisecond
	maxDown = 1500 * time.Millisecond
	// minStill is longer than a lease, by enough that the others have gone on.
	minStill = 900 * time.Millisecond
)

func newChaos(seed uint64) chaos {
	return chaos{random: rand.New(rand.NewPCG(seed, 0)), at: make(map[string]map[string]control.Reached)}
}

// down tells whether somebody was killed who is not there again.
func (ch *chaos) down() bool { return ch.victim != nil && !ch.victim.back }

// draw picks one of the roles, and how long it is away.
func (ch *chaos) draw(among []string) (role string, down time.Duration) {
	ch.round = slices.DeleteFunc(ch.round, func(role string) bool { return !slices.Contains(among, role) })
	if len(ch.round) == 0 {
		ch.round = slices.Clone(among)
		ch.random.Shuffle(len(ch.round), func(i, j int) { ch.round[i], ch.round[j] = ch.round[j], ch.round[i] })
	}
	role, ch.round = ch.round[0], ch.round[1:]
	return role, minDown + time.Duration(ch.random.Int64N(int64(maxDown-minDown)))
}

// reached notes where a process is in a topic: in a later epoch than before, it has gone on without the victim.
func (ch *chaos) reached(role, topic string, r control.Reached) {
	if ch.at[role] == nil {
		ch.at[role] = make(map[string]control.Reached)
	}
	ch.at[role][topic] = r
	if ch.victim == nil {
		return
	}
	if before, waits := ch.victim.waiting[role][topic]; waits && r.Epoch > before {
		k := &ch.kills[len(ch.kills)-1]
		k.Again = max(k.Again, r.Since.Sub(ch.victim.at))
		delete(ch.victim.waiting[role], topic)
		if len(ch.victim.waiting[role]) == 0 {
			delete(ch.victim.waiting, role)
		}
	}
}

// stayed notes that the others did not go on without a process that was stopped: a busy machine did not run them for
// long enough to miss it. There is no later epoch to wait for.
func (ch *chaos) stayed(role string) {
	if ch.victim != nil && ch.victim.role == role {
		clear(ch.victim.waiting)
	}
}

// concerns tells whether a role has a part in a topic.
func concerns(role, topic string) bool {
	switch role {
	case "adc1", "adc2":
		return topic == roles.AirData
	case "nav":
		return topic == roles.Position
	case "traffic":
		return topic == roles.TrafficReport
	}
	return true
}

// beginChaos begins to kill, if that is asked for.
func (c *conductor) beginChaos() {
	if c.opts.Chaos > 0 {
		what := "killed"
		if c.opts.ChaosStop {
			what = "killed, or stopped for a while"
		}
		c.screen.say("chaos: every %v a process is %s; -seed %d", c.opts.Chaos, what, c.opts.Seed)
		c.chaos.next = time.After(c.opts.Chaos)
	}
}

// endChaos kills no more. Who is down is started again all the same.
func (c *conductor) endChaos() { c.chaos.next = nil }

// strike kills a process with SIGKILL, unless one is down.
func (c *conductor) strike() {
	c.chaos.next = time.After(c.opts.Chaos)
	if c.chaos.victim != nil || !c.whole() {
		return // the next time
	}
	among := slices.DeleteFunc(c.crew.alive(), func(role string) bool { return c.published[role] != nil })
	if len(among) == 0 {
		return
	}
	role, down := c.chaos.draw(among)
	if c.opts.ChaosStop && c.chaos.random.IntN(2) == 0 {
		c.suspend(role, down+minStill)
		return
	}
	c.kill(role, down)
}

// suspend stops a process, with SIGSTOP, for long enough to be excluded.
func (c *conductor) suspend(role string, down time.Duration) {
	m := c.aim(role, down)
	c.chaos.kills[len(c.chaos.kills)-1].Stopped = true
	_ = m.cmd.Process.Signal(syscall.SIGSTOP) // as with Kill
	c.chaos.restart = time.After(down)
	c.screen.say("chaos: stopped %s (process %d) %v after the beginning", role, m.cmd.Process.Pid, round(time.Since(c.began)))
}

// kill kills a process, with SIGKILL.
func (c *conductor) kill(role string, down time.Duration) {
	m := c.aim(role, down)
	m.killed = true
	m.ready = false
	c.book.Condemn(m.life)
	_ = m.cmd.Process.Kill() // one that has just ended by itself is found out
	c.screen.say("chaos: killed %s (process %d) %v after the beginning", role, m.cmd.Process.Pid, round(time.Since(c.began)))
}

// aim makes a process the victim, and notes where the others are.
func (c *conductor) aim(role string, down time.Duration) *member {
	m := c.crew.members[role]
	v := &victim{role: role, down: down, waiting: make(map[string]map[string]uint32)}
	for survivor, topics := range c.chaos.at {
		if survivor == role {
			continue
		}
		for _, topic := range steady {
			if r, takes := topics[topic]; takes && concerns(role, topic) {
				if v.waiting[survivor] == nil {
					v.waiting[survivor] = make(map[string]uint32)
				}
				v.waiting[survivor][topic] = r.Epoch
			}
		}
	}
	c.chaos.victim = v
	c.chaos.kills = append(c.chaos.kills, report.Kill{
		Role: role, PID: m.cmd.Process.Pid, After: time.Since(c.began), Down: down, Alone: role == "nav" || role == "traffic",
	})
	v.at = time.Now()
	return m
}

// buried notes that a process which was killed is gone, and said all that it will ever say.
func (c *conductor) buried(m *member) {
	c.book.End(m.life)
	delete(c.chaos.at, m.role)
	c.chaos.restart = time.After(time.Until(c.chaos.victim.at.Add(c.chaos.victim.down)))
}

// revive starts the victim again, or lets it go on.
func (c *conductor) revive() error {
	c.chaos.restart = nil
	c.chaos.victim.started = time.Now()
	if m := c.crew.members[c.chaos.victim.role]; !m.killed {
		if err := m.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			return fmt.Errorf("chaos: letting %s go on: %w", m.role, err)
		}
		c.screen.say("chaos: %s goes on", m.role)
		return nil
	}
	return c.start(c.chaos.victim.role, true)
}

// isBack notes that a process which was started again has joined, is matched, and has its history.
func (c *conductor) isBack(m *member) {
	v := c.chaos.victim
	if v == nil || v.role != m.role || v.back {
		return
	}
	v.back = true
	c.chaos.kills[len(c.chaos.kills)-1].Back = time.Since(v.started)
	c.tellRecovery()
}

// airless lists who was handed no air data since the victim was lost, though there is a computer that sends some. What
// is missing of the other topics the numbers of their samples tell; of this one nothing else would.
func (c *conductor) airless() (roleNames []string) {
	sends := func(role string) bool {
		m := c.crew.members[role]
		return m != nil && m.ready && !m.ended && !c.failed[role] && (role == "adc2" || c.opts.ADC1Off == 0)
	}
	if c.chaos.victim == nil || !sends("adc1") && !sends("adc2") {
		return nil
	}
	for _, role := range c.crew.alive() {
		if _, waits := c.chaos.victim.waiting[role][roles.AirData]; waits {
			roleNames = append(roleNames, role)
		}
	}
	return roleNames
}

// awaitAirData waits until air data came again after the last victim was lost, and notes who was handed none.
func (c *conductor) awaitAirData() error {
	limit := time.NewTimer(c.opts.Timeout)
	defer limit.Stop()
	err := c.pump(func() bool { return len(c.airless()) == 0 }, limit.C)
	if !errors.Is(err, errLimit) {
		return err
	}
	for _, role := range c.airless() {
		c.problems = append(c.problems, fmt.Sprintf("%s was handed no %s any more after %s was lost, in %v", role, roles.AirData,
			c.chaos.victim.role, round(time.Since(c.chaos.victim.at))))
	}
	return nil
}

// tellRecovery says that all is well again, once it is.
func (c *conductor) tellRecovery() {
	v := c.chaos.victim
	if v == nil || !v.back || len(v.waiting) > 0 {
		return
	}
	k := &c.chaos.kills[len(c.chaos.kills)-1]
	what := "the others delivered again"
	if k.Alone {
		what = "what it publishes was delivered again"
	}
	end, start := "end", "was started again"
	if k.Stopped {
		end, start = "stop", "went on"
	}
	c.screen.say("chaos: %s %v after the %s of %s, which %s after %v and had joined and caught up %v later",
		what, short(k.Again), end, v.role, start, short(k.Down), short(k.Back))
	c.chaos.victim = nil
}

func short(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
