package conductor

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/omg-dds-go/dds/examples/avionics/internal/control"
	"github.com/omg-dds-go/dds/examples/avionics/internal/ledger"
	"github.com/omg-dds-go/dds/examples/avionics/internal/report"
	"github.com/omg-dds-go/dds/examples/avionics/internal/roles"
)

// allRoles lists the processes in the order in which they are started and shown.
var allRoles = []string{"fms", "display1", "display2", "adc1", "adc2", "nav", "traffic"}

const lateRole = "display2"

// How often displays show something.
const (
	tableEvery = 250 * time.Millisecond
	lineEvery  = 2 * time.Second
)

// patience is how long the processes of a run that was given up may take to leave before they are killed.
const patience = 3 * time.Second

// conductor leads one run.
type conductor struct {
	opts    Options
	qos     string
	dir     string // of this run's logs
	crew    *crew
	screen  *screen
	signals <-chan os.Signal

	book      *ledger.Book
	published map[string]map[string]uint64 // by role, topic
	reports   map[string]*control.Report
	chaos     chaos

	watch  watch
	looked time.Time       // when it last looked around
	failed map[string]bool // roles that said what went wrong

	began       time.Time // when processes were told to start; zero: not yet
	leaving     bool      // processes are told to leave
	signal      os.Signal // that ended it before it began
	interrupted bool
	timeUp      bool // the duration is over, or the book is full
	lateTimer   <-chan time.Time
	endTimer    <-chan time.Time
	left        bool // all reported, and left in order
	problems    []string
}

// errAbort ends a run before its time; what was wrong is in problems.
var errAbort = errors.New("the run was ended")

// Run conducts a run and gives the exit status. It must be called on a goroutine that is locked to its thread; see
// crew.start. qos is the built-in QoS file.
func Run(opts Options, qos string, stdout, stderr *os.File) int {
	fail := func(err error) int {
		_, _ = fmt.Fprintf(stderr, "avionics: %v\n", err)
		return 1
	}
	if opts.QoS != "" {
		text, err := os.ReadFile(opts.QoS)
		if err != nil {
			return fail(fmt.Errorf("reading QoS: %w", err))
		}
		qos = string(text)
	}
	program, err := os.Executable()
	if err != nil {
		return fail(fmt.Errorf("finding this program to run it again: %w", err))
	}
	release, err := claimDomain(uint32(opts.Domain))
	if err != nil {
		return fail(err)
	}
	defer release()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)
	// A reader of the output that goes away (| head) must not kill the conductor: there is a directory to remove.
	brokenPipe := make(chan os.Signal, 1)
	signal.Notify(brokenPipe, syscall.SIGPIPE)
	defer signal.Stop(brokenPipe)
	dir, err := makeRunDir(opts.Dir)
	if err != nil {
		return fail(err)
	}

	out := stdout
	if opts.JSON {
		out = stderr
	}
	c := &conductor{
		opts: opts, qos: qos, dir: dir.path, crew: newCrew(program, stderr), screen: newScreen(out), signals: signals,
		book: new(ledger.Book), chaos: newChaos(opts.Seed), published: make(map[string]map[string]uint64), reports: make(map[string]*control.Report),
		watch: make(watch), failed: make(map[string]bool),
	}
	if dir.lock != nil {
		c.crew.inherited = []*os.File{dir.lock}
		c.sweep()
	}
	elapsed, err := c.conduct()
	c.conclude(err)
	c.crew.dismiss(patience)
	c.screen.leave()
	summary := report.Assemble(c.outcome(elapsed))
	if err := errors.Join(c.write(summary, out, stdout), dir.remove()); err != nil {
		return fail(err)
	}
	if !summary.OK() {
		return 1
	}
	return 0
}

// conclude notes what ended the run before its time, as long as its processes can be asked.
func (c *conductor) conclude(err error) {
	if err == nil {
		return
	}
	if sig := c.early(); sig != nil {
		c.problems = []string{fmt.Sprintf("ended by a signal (%v) before the run began", sig)}
		return
	}
	if !errors.Is(err, errAbort) {
		c.problems = append(c.problems, err.Error())
	}
	waitedFor := slices.DeleteFunc(c.crew.alive(), func(role string) bool { return c.failed[role] })
	c.problems = append(c.watch.standstill(waitedFor, time.Now(), c.crew.pid), c.problems...)
}

// early gives the signal that came before the run began; nil if there was none. One from the terminal also hits a process
// that has just been forked and is not in a group of its own yet, which may be noticed before the signal itself.
func (c *conductor) early() os.Signal {
	if !c.began.IsZero() || c.signal != nil {
		return c.signal
	}
	limit := time.NewTimer(settle / 10)
	defer limit.Stop()
	select {
	case sig := <-c.signals:
		return sig
	case <-limit.C:
		return nil
	}
}

// sweep tidies up after runs that were killed. What can not be removed is of no concern to this run.
func (c *conductor) sweep() {
	removed, err := sweep(os.TempDir())
	for _, path := range removed {
		c.screen.say("removed %s, which a run that was killed had left", path)
	}
	if err != nil {
		c.screen.say("tidying up after runs that were killed: %v", err)
	}
}

func (c *conductor) write(s *report.Summary, people, programs io.Writer) error {
	if c.opts.JSON {
		return s.WriteJSON(programs)
	}
	return s.WriteTable(people)
}

// conduct leads the run from its start to the reports, and gives how long the samples took.
func (c *conductor) conduct() (elapsed time.Duration, err error) {
	late := c.opts.Late > 0
	for _, role := range allRoles {
		if late && role == lateRole {
			continue
		}
		if err := c.start(role, false); err != nil {
			return 0, err
		}
	}
	if err := c.await("become ready", c.whole); err != nil {
		return 0, err
	}
	c.screen.say("all processes are matched: the run begins")
	c.began = time.Now()
	c.tellAll(control.Command{Kind: control.Start})
	if late {
		c.lateTimer = time.After(c.opts.Late)
	}
	if c.opts.Duration > 0 {
		c.endTimer = time.After(c.opts.Duration)
	}
	c.beginChaos()
	if err := c.fly(); err != nil {
		return 0, err
	}
	c.crew.tell("fms", control.Command{Kind: control.Drain, Expect: c.crew.members["fms"].owed(c.expected())})
	if err := c.awaitDone("deal with what was published", "fms"); err != nil {
		return 0, err
	}
	elapsed = time.Since(c.began)
	if err := c.collect(); err != nil {
		return elapsed, err
	}
	c.leaving = true
	c.tellAll(control.Command{Kind: control.Leave})
	if err := c.await("leave", func() bool { return len(c.crew.alive()) == 0 }); err != nil {
		return elapsed, err
	}
	c.left = true
	return elapsed, nil
}

// told enters what a process tells into the book.
func (c *conductor) told(m *member, t *control.Told) error {
	if t.Away {
		m.life.Away()
	}
	if t.Back {
		m.life.Back()
		m.since = c.expected()
		if t.Stayed {
			c.chaos.stayed(m.role)
		}
		c.isBack(m)
	}
	for topic, entries := range t.Delivered {
		if err := m.life.Deliver(topic, entries); err != nil {
			return err
		}
	}
	if c.book.Full() && !c.timeUp { // what would come after that nobody could compare
		c.timeUp = true
		c.screen.say("as much was delivered as can be compared: ending the run")
	}
	for topic, p := range t.Published {
		m.life.Publish(topic, p)
	}
	for topic, r := range t.Reached {
		c.chaos.reached(m.role, topic, r)
	}
	c.tellRecovery()
	return nil
}

// start runs one process.
func (c *conductor) start(role string, late bool) error {
	readers := 3 // fms and two displays
	if c.opts.Late > 0 && (c.crew.members[lateRole] == nil || !c.crew.members[lateRole].ready) {
		readers--
	}
	cfg := control.Config{
		Role: role, Domain: uint32(c.opts.Domain), Transport: c.opts.Transport, Dir: filepath.Join(c.dir, role),
		QoS: c.qos, QoSName: cmpOr(c.opts.QoS, "qos.xml"), Seed: c.opts.Seed, Aircraft: "OWNSHIP", Traffic: c.opts.Traffic,
		Flight: c.opts.Flight, SBS1: c.opts.SBS1, GiveUp: c.opts.GiveUp, Speed: c.opts.Speed, ADC1Off: c.opts.ADC1Off,
		Readers: map[string]int{
			roles.AirData: readers, roles.Position: readers, roles.TrafficReport: readers, roles.FlightLog: readers, roles.Advisory: readers - 1,
		},
		Writers: map[string]int{roles.AirData: 2, roles.Position: 1, roles.TrafficReport: 1, roles.FlightLog: 1, roles.Advisory: 1},
		Late:    late, Generation: c.book.Lives(role), Timeout: c.opts.Timeout,
	}
	if !c.began.IsZero() {
		cfg.Elapsed = time.Since(c.began)
	}
	if !c.opts.JSON {
		cfg.Frames = lineEvery
		if c.screen.live {
			cfg.Frames, cfg.Table = tableEvery, true
		}
	}
	delete(c.published, role)
	m, err := c.crew.start(cfg, c.book.Begin(role, late))
	if err != nil {
		return err
	}
	c.watch.started(role, time.Now())
	c.screen.say("%s is process %d", role, m.cmd.Process.Pid)
	return nil
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// fly lasts until the sources have published everything, or were told to stop, and the late display is there.
func (c *conductor) fly() error {
	if err := c.pump(func() bool { return c.over() || c.done("nav") && c.done("traffic") }, nil); err != nil {
		return err
	}
	c.endChaos()
	if err := c.await("become ready again", c.whole); err != nil {
		return err
	}
	if err := c.awaitAirData(); err != nil {
		return err
	}
	c.stop()
	if c.opts.Late > 0 && c.crew.members[lateRole] == nil && !c.interrupted {
		c.lateTimer = nil
		if err := c.start(lateRole, true); err != nil { // the inputs ended before its time
			return err
		}
	}
	if err := c.awaitDone("stop publishing", "nav", "traffic", "adc1", "adc2"); err != nil {
		return err
	}
	if c.crew.members[lateRole] == nil {
		return nil
	}
	return c.await("become ready", c.whole)
}

// over tells whether sources are to be stopped.
func (c *conductor) over() bool {
	return c.interrupted || c.timeUp || len(c.crew.alive()) == 0 && !c.chaos.down()
}

// stop tells the sources to publish no more.
func (c *conductor) stop() { c.tellAll(control.Command{Kind: control.Stop}) }

// whole tells whether all processes are there and ready, but those that died by themselves.
func (c *conductor) whole() bool {
	for _, m := range c.crew.members {
		if !m.ready && !c.failed[m.role] {
			return false
		}
	}
	return !c.chaos.down()
}

// collect asks everybody for a report.
func (c *conductor) collect() error {
	for _, role := range c.crew.alive() {
		c.crew.tell(role, control.Command{Kind: control.Finish, Expect: c.crew.members[role].owed(c.expected())})
	}
	return c.await("receive the rest and report", func() bool {
		return !slices.ContainsFunc(c.crew.alive(), func(role string) bool { return c.reports[role] == nil })
	})
}

func (c *conductor) tellAll(cmd control.Command) {
	for _, role := range c.crew.alive() {
		c.crew.tell(role, cmd)
	}
}

// done tells whether a role has published everything. One that died by itself publishes no more.
func (c *conductor) done(role string) bool { return c.published[role] != nil || c.failed[role] }

// expected is the number of the last sample of each topic that everybody must get.
func (c *conductor) expected() map[string]uint64 {
	numbers := make(map[string]uint64)
	for _, topic := range roles.Topics {
		numbers[topic] = c.book.Reaches(topic)
	}
	return numbers
}

// owed leaves out the topics of which nothing was published since the process was ready, or was there again: what was
// there before, somebody who joined late may never get, and would wait for in vain.
func (m *member) owed(expected map[string]uint64) map[string]uint64 {
	maps.DeleteFunc(expected, func(topic string, last uint64) bool { return last <= m.since[topic] })
	return expected
}

func (c *conductor) awaitDone(what string, roles ...string) error {
	return c.await(what, func() bool {
		return !slices.ContainsFunc(roles, func(role string) bool { return !c.done(role) })
	})
}

// await is pump with a limit on its time; what says in the imperative what did not happen if it is exceeded. A step
// may take a little longer than those inside the processes, which know better what they wait for.
func (c *conductor) await(what string, until func() bool) error {
	limit := time.NewTimer(c.opts.Timeout + 5*time.Second)
	defer limit.Stop()
	err := c.pump(until, limit.C)
	if errors.Is(err, errLimit) {
		return fmt.Errorf("after %v processes did not %s; still there: %s", c.opts.Timeout, what, strings.Join(c.crew.alive(), ", "))
	}
	return err
}

var errLimit = errors.New("time is over")

// pump handles what happens until the condition holds.
func (c *conductor) pump(until func() bool, limit <-chan time.Time) error {
	look := time.NewTicker(control.Beat)
	defer look.Stop()
	for !until() {
		select {
		case now := <-look.C:
			c.lookAround(now)
		case h := <-c.crew.news:
			if err := c.happened(h); err != nil {
				return err
			}
		case sig := <-c.signals:
			if c.interrupted {
				c.problems = append(c.problems, fmt.Sprintf("ended at once by a second signal (%v)", sig))
				return errAbort
			}
			if c.began.IsZero() {
				c.signal = sig
				return errAbort
			}
			c.interrupted = true
			c.screen.say("%v: ending the run; once more to end it at once", sig)
		case <-c.lateTimer:
			c.lateTimer = nil
			if err := c.start(lateRole, true); err != nil {
				return err
			}
		case <-c.endTimer:
			c.timeUp = true
		case <-c.chaos.next:
			c.strike()
		case <-c.chaos.restart:
			if err := c.revive(); err != nil {
				return err
			}
		case <-limit:
			return errLimit
		}
	}
	return nil
}

// lookAround says of whom nothing is heard any more, long before those who wait for it give up.
func (c *conductor) lookAround(now time.Time) {
	if now.Sub(c.looked) > stillLimit/2 { // it was the conductor that stood still
		c.watch.slept(now)
	}
	c.looked = now
	for _, role := range c.watch.missing(c.crew.alive(), now) {
		why := ""
		if isStopped(c.crew.pid(role)) {
			why = ": it is stopped, by a signal or a debugger"
		}
		c.screen.say("nothing is heard of %s (process %d) for %v%s", role, c.crew.pid(role), stillLimit, why)
	}
}

// happened handles one event, or the end of a process.
func (c *conductor) happened(h happening) error {
	if h.event == nil {
		h.gone()
		switch {
		case c.leaving && h.exit == nil:
			return nil
		case h.killed:
			c.buried(h.member)
			return nil
		case c.began.IsZero() || c.failed[h.role]:
			return c.trouble(h)
		}
		c.died(h)
		return nil
	}
	switch e := h.event; e.Kind {
	case control.Ready:
		h.ready, h.since = true, c.expected()
		c.book.Ready(h.life)
		if !c.began.IsZero() {
			c.crew.tell(h.role, control.Command{Kind: control.Start})
			c.isBack(h.member)
		}
	case control.Tells:
		return c.told(h.member, e.Told)
	case control.Alive:
		if c.watch.alive(h.role, e.Reached, time.Now()) {
			c.screen.say("%s is there again", h.role)
		}
	case control.Note:
		c.screen.say("%s: %s", h.role, e.Text)
	case control.Frame:
		c.screen.frame(h.role, e.Frame)
	case control.Done:
		c.published[h.role] = e.Published
		for topic, n := range e.Published {
			h.life.Publish(topic, ledger.Progress{Published: n, Acknowledged: n})
		}
	case control.Reported:
		c.reports[h.role] = e.Report
	case control.Failed:
		return c.trouble(h)
	}
	return nil
}

// outcome is what the report is made of.
func (c *conductor) outcome(elapsed time.Duration) report.Run {
	run := report.Run{
		Topics: roles.Topics, Problems: c.problems, Elapsed: elapsed, Transport: c.opts.Transport, Speed: c.opts.speedText(),
		Domain: uint32(c.opts.Domain), Synthetic: c.opts.Flight == "" || c.opts.SBS1 == "", Logs: make(map[string]report.Log),
		Book: c.book, Kills: c.chaos.kills, Complete: c.left,
	}
	if c.opts.Dir != "" {
		run.Dir = c.dir
	}
	for _, role := range allRoles {
		r := c.reports[role]
		if r == nil {
			continue
		}
		run.Reports = append(run.Reports, *r)
		if r.LogDir != "" && c.left {
			log := report.Log{Dir: r.LogDir}
			log.Stored, log.Err = readLog(r.LogDir)
			run.Logs[role] = log
		}
	}
	return run
}
