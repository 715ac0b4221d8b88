package cluster

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/internal/datadriven"
	"github.com/omg-dds-go/dds/rdma/sim"
)

// TestScripts plays testdata/*.txt. Each case is a group of its own, in the simulator, with one seed. When a case is over, all
// that was cut or crashed for a time heals, and the checkers look at the trace.
//
//	group A B C [apart] [witness]     starts processes, on one host or each on its own; the witness is the second one
//	start A [host=N] [alone|from=B]   starts one more; nothing passes between it and the others, or B, until heal
//	copy A B [host=N] [alone]         starts B on a copy of the disk of A
//	writer A CHANNEL | reader A CHANNEL | remove A CHANNEL
//	memory A                          A has no log until it is said to have one
//	stores A                          from now on it has one, for what it announces then
//	follow A CHANNEL                  a reader that keeps no state, and no log
//	reader A CHANNEL hangs            A stands still as soon as it is a member of the channel's subgroup
//	send A CHANNEL TEXT...            a message for each text, which the case must not have had before
//	crash A | restart A | leave A | pause A | resume A
//	tear A [N]                        A ends when it next writes to its log, or before the N-th operation on its disk
//	cut A B | one-way A B | heal      nothing passes between two, from one to the other
//	unlink A B                        the link between two ends, from the side of A, and both live
//	break A                           the disk of A fails, until A ends
//	hang A TIME                       the disk of A does not answer for a time
//	in TIME COMMAND...                a command is carried out when so much more time has passed; nothing waits for it
//	pass TIME                         virtual time passes
//	so-far                            prints what has happened, as rest does
//	rest                              so much of it that nothing happens any more; it comes at the end by itself
//	history A CHANNEL                 prints what is kept of a channel
//	disk A CHANNEL                    prints what is on disk of a channel
//	idle A | busy A                   takes no steps, while what it sends lies in memory that others read
//
// rest prints what has happened: messages that were handed over, by subgroup in their order, and what became of members.
// Channels: ordered and ordered2, which share a subgroup; unordered; kept, whose state who comes late gets; logged and
// logged2, which share another, and are on disk.
func TestScripts(t *testing.T) {
	datadriven.Run(t, "testdata/*.txt", func(t *testing.T, c *datadriven.Case) string { return playCase(t, c) })
}

func playCase(t testing.TB, c *datadriven.Case) string {
	s := newScript(t)
	for _, command := range c.Commands {
		s.play(command.Name, command.Args)
	}
	s.rest(nil)
	s.check()
	return s.out.String()
}

var groupCommands = map[string]func(s *script, args []datadriven.Arg){
	"group": (*script).group, "start": (*script).start, "writer": (*script).writer, "reader": (*script).reader, "remove": (*script).remove, "follow": (*script).follow, "memory": (*script).memory, "stores": (*script).stores,
	"send": (*script).send, "crash": (*script).crash, "tear": (*script).tear, "restart": (*script).restart, "leave": (*script).leave, "pause": (*script).pause,
	"resume": (*script).resume, "cut": (*script).cut, "one-way": (*script).oneWay, "heal": (*script).heal, "pass": (*script).pass,
	"rest": (*script).rest, "history": (*script).history, "disk": (*script).disk, "idle": (*script).idle, "busy": (*script).busy,
	"break": (*script).breakDisk, "hang": (*script).hang, "copy": (*script).copy, "so-far": (*script).soFar, "unlink": (*script).unlink,
}

// script is a case that is being played.
type script struct {
	t     testing.TB
	r     *run
	names map[string]*process
	of    map[*process]string
	shown int               // events of the trace that were printed
	views map[string]string // as they were printed
	out   strings.Builder
	later bool // a command is carried out that was put off (play)
}

func newScript(t testing.TB) *script { return newScriptOf(t, 1) }

func newScriptOf(t testing.TB, seed uint64) *script {
	w := sim.NewWorld(seed)
	w.MaxDelay, w.MaxPause, w.Loses = 200*time.Microsecond, 0, true
	r := &run{directed: true, w: w, rng: w.Rand(), pick: w.Rand(), stalls: rand.New(rand.NewPCG(seed, 1)), lends: rand.New(rand.NewPCG(seed, 2)), disks: rand.New(rand.NewPCG(seed, 3)), lies: rand.New(rand.NewPCG(seed, 4)), faults: map[Fault]int{}}
	r.plan = Plan{Seed: seed, Hosts: 1, Lease: 100 * time.Millisecond, MaxDelay: w.MaxDelay, Ring: 1 << 12, Burst: 1, Silence: 4}
	return &script{t: t, r: r, names: map[string]*process{}, of: map[*process]string{}, views: map[string]string{}}
}

// play carries out a command, or has it carried out later: then it is an event of the world, which runs, and it lets no
// time pass.
func (s *script) play(name string, args []datadriven.Arg) {
	s.t.Helper()
	if name == "in" && len(args) > 1 {
		s.r.w.After(s.time(args[0]), func() {
			s.later = true
			s.play(args[1].Key, args[2:])
			s.later = false
		})
		return
	}
	run := groupCommands[name]
	if run == nil {
		s.t.Fatalf("no command is called %q: %v", name, args)
	}
	run(s, args)
}

func (s *script) proc(args []datadriven.Arg, i int) *process {
	s.t.Helper()
	if i >= len(args) || s.names[args[i].Key] == nil {
		s.t.Fatalf("argument %d of %v is no process", i+1, args)
	}
	return s.names[args[i].Key]
}

func (s *script) launch(name string, host uint64, from []string, d *disk) {
	p := s.r.start(host, d)
	s.names[name], s.of[p] = p, name
	for _, q := range from {
		s.r.bar(p, true, s.names[q])
		s.r.bar(s.names[q], true, p)
	}
	s.settle()
}

func (s *script) group(args []datadriven.Arg) {
	has := func(word string) bool {
		return slices.ContainsFunc(args, func(a datadriven.Arg) bool { return a.Key == word })
	}
	apart := has("apart")
	s.r.plan.Witness = has("witness")
	for _, a := range args {
		if a.Key != "apart" && a.Key != "witness" {
			host := uint64(1)
			if apart {
				host += uint64(len(s.names))
				s.r.plan.Hosts = int(host)
			}
			s.launch(a.Key, host, nil, s.r.newDisk())
		}
	}
	s.forget()
}

// start lets a process join, and what is printed begins with the others' view of it.
func (s *script) start(args []datadriven.Arg) { s.startOn(args, s.r.newDisk()) }

// copy lets a process join on a copy of another's disk.
func (s *script) copy(args []datadriven.Arg) { s.startOn(args[1:], s.proc(args, 0).disk.copy()) }

func (s *script) startOn(args []datadriven.Arg, d *disk) {
	host, from := uint64(1), []string(nil)
	for _, a := range args[1:] {
		switch a.Key {
		case "alone":
			from = slices.Collect(maps.Keys(s.names))
		case "from":
			from = a.Vals
		default:
			_, err := fmt.Sscan(a.Vals[0], &host)
			require.NoError(s.t, err)
		}
	}
	s.launch(args[0].Key, host, from, d)
}

var channelNames = map[string]derecho.ChannelID{"ordered": 1, "ordered2": 2, "unordered": 3, "kept": 4, "logged": 6, "logged2": 7}

func (s *script) channel(args []datadriven.Arg) derecho.ChannelID {
	s.t.Helper()
	if len(args) < 2 || channelNames[args[1].Key] == 0 {
		s.t.Fatalf("the second of %v is no channel", args)
	}
	return channelNames[args[1].Key]
}

func (s *script) announce(args []datadriven.Arg, writes, keeps bool) {
	p, ch := s.proc(args, 0), s.channel(args)
	ep := derecho.Endpoint{Channel: ch, Replica: keeps && slices.Contains(kept, ch)}
	if writes {
		ep.Writes = channels[ch]
	}
	if !writes || ep.Replica {
		ep.Reads = []derecho.Subgroup{channels[ch]}
	}
	p.nextEP++
	ep.ID = p.nextEP
	p.wanted[ep.ID] = ep
	p.hangs = len(args) > 2 && args[2].Key == "hangs"
	p.guard(func() { p.announce(ep) })
	p.look()
	if p.hangs {
		s.let(s.r.plan.Lease / 10) // for less than a lease
		return
	}
	s.settle()
}

func (s *script) writer(args []datadriven.Arg) { s.announce(args, true, true) }
func (s *script) reader(args []datadriven.Arg) { s.announce(args, false, true) }
func (s *script) memory(args []datadriven.Arg) {
	s.r.plan.Memory = true
	s.proc(args, 0).stores = false
}

func (s *script) stores(args []datadriven.Arg) { s.proc(args, 0).stores = true }
func (s *script) follow(args []datadriven.Arg) { s.announce(args, false, false) }

func (s *script) remove(args []datadriven.Arg) {
	p, ch := s.proc(args, 0), s.channel(args)
	p.guard(func() { p.removeFrom(ch) })
	p.look()
	s.settle()
}

func (s *script) send(args []datadriven.Arg) {
	p, ch := s.proc(args, 0), s.channel(args)
	ids := slices.Sorted(maps.Keys(p.ready))
	i := slices.IndexFunc(ids, func(id derecho.EndpointID) bool { return p.ready[id].Channel == ch && p.ready[id].Writes.ID != 0 })
	if i < 0 {
		s.t.Fatalf("%s does not write %s", args[0].Key, args[1].Key)
	}
	for _, a := range args[2:] {
		p.nextMsg++
		p.guard(func() { p.say(p.ready[ids[i]], fmt.Sprintf("%s:%d:%s", p.id, p.nextMsg, a.Key)) }) // as the checkers want it
	}
	p.look()
}

func (s *script) crash(args []datadriven.Arg) { s.proc(args, 0).crash("at rest") }
func (s *script) tear(args []datadriven.Arg) {
	n := 1
	if len(args) > 1 {
		n, _ = strconv.Atoi(args[1].Key)
	}
	s.proc(args, 0).disk.crashIn = n
}

func (s *script) breakDisk(args []datadriven.Arg) { s.proc(args, 0).diskFault() }

func (s *script) time(a datadriven.Arg) time.Duration {
	s.t.Helper()
	d, err := time.ParseDuration(a.Key)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *script) hang(args []datadriven.Arg) {
	s.r.hang(s.proc(args, 0), s.time(args[1]))
}

func (s *script) leave(args []datadriven.Arg) { s.proc(args, 0).leave() }

func (s *script) restart(args []datadriven.Arg) {
	s.r.restart(s.proc(args, 0))
	p := s.r.procs[len(s.r.procs)-1]
	s.names[args[0].Key], s.of[p] = p, args[0].Key
}

func (s *script) pause(args []datadriven.Arg) {
	p := s.proc(args, 0)
	s.r.emit(Event{Kind: Fault_, Node: p.id, Text: paused})
	p.f.Pause(true)
}

func (s *script) resume(args []datadriven.Arg) { s.r.resume(s.proc(args, 0)) }

func (s *script) idle(args []datadriven.Arg) {
	p := s.proc(args, 0)
	s.r.emit(Event{Kind: Fault_, Node: p.id, Text: "takes no step"})
	p.idle = true
}

func (s *script) busy(args []datadriven.Arg) { s.r.rouse(s.proc(args, 0)) }

func (s *script) cut(args []datadriven.Arg) {
	s.r.bar(s.proc(args, 0), true, s.proc(args, 1))
	s.r.bar(s.proc(args, 1), true, s.proc(args, 0))
}

func (s *script) oneWay(args []datadriven.Arg) { s.r.bar(s.proc(args, 0), true, s.proc(args, 1)) }
func (s *script) unlink(args []datadriven.Arg) { s.r.unlink(s.proc(args, 0), s.proc(args, 1)) }
func (s *script) heal([]datadriven.Arg)        { s.r.w.Heal() }

func (s *script) pass(args []datadriven.Arg) {
	s.let(s.time(args[0]))
}

// let runs for a time, whether something happens in it or not.
func (s *script) let(d time.Duration) {
	s.r.w.After(d, func() {})
	s.r.runFor(d, 3_000_000)
}

// settle runs until everybody is in one view, as far as that is possible.
func (s *script) settle() {
	if s.later {
		return
	}
	for range 100 {
		if s.let(s.r.plan.Lease / 10); s.r.err != nil || s.r.settled() {
			return
		}
	}
}

func (s *script) history(args []datadriven.Arg) {
	p, ch := s.proc(args, 0), s.channel(args)
	s.rest(nil)
	fmt.Fprintf(&s.out, "%s keeps %s\n", args[0].Key, words(p.history[ch]))
}

func (s *script) disk(args []datadriven.Arg) {
	s.rest(nil)
	fmt.Fprintf(&s.out, "%s has on disk %s\n", args[0].Key, words(s.proc(args, 0).disk.history(s.channel(args))))
}

// word is what a case has sent; words are those of a state.
func word(text string) string { return text[strings.LastIndexByte(text, ':')+1:] }

func words(texts []string) string {
	var out []string
	for _, text := range texts {
		out = append(out, word(text))
	}
	return strings.Join(out, " ")
}

// noticed is after how many leases at most a failure is.
const noticed = 20

// rest runs until nothing happens any more for longer than a failure takes to be noticed, and prints what has happened.
func (s *script) rest([]datadriven.Arg) {
	for range 100 {
		before := s.r.happenings()
		s.let(noticed * s.r.plan.Lease)
		if s.r.happenings() == before || s.r.err != nil {
			break
		}
	}
	s.tell()
}

func (s *script) soFar([]datadriven.Arg) { s.tell() }

// tell prints what was not printed yet. Processes that have the same to say share a line.
func (s *script) tell() {
	said := make(map[string][]string) // by name
	handed := make(map[string]map[derecho.SubgroupID][]string)
	for _, e := range s.r.events[s.shown:] {
		name := s.name(e.Node)
		switch e.Kind {
		case Deliver:
			if handed[name] == nil {
				handed[name] = map[derecho.SubgroupID][]string{}
			}
			handed[name][e.SG] = append(handed[name][e.SG], word(e.Text))
		case Joined, Left, Crashed, Excluded, GaveWay:
			said[name] = append(said[name], kindNames[e.Kind])
		case Load:
			said[name] = append(said[name], strings.TrimSpace("gets the state "+words(strings.Fields(e.Text))))
		case LeftOut:
			said[name] = append(said[name], fmt.Sprintf("its messages up to %d are left out", e.Seq))
		case Isolated:
			if e.Text != "" {
				said[name] = append(said[name], "cut off")
			} else {
				said[name] = append(said[name], "not cut off any more")
			}
		case Refused:
			said[name] = append(said[name], "its log is refused")
		}
	}
	var lines []string
	sayers := make(map[string][]string) // by line
	say := func(name, line string) {
		if sayers[line] == nil {
			lines = append(lines, line)
		}
		sayers[line] = append(sayers[line], name)
	}
	for _, name := range slices.Sorted(maps.Keys(s.names)) {
		for _, line := range said[name] {
			say(name, line)
		}
		for _, sg := range slices.Sorted(maps.Keys(handed[name])) {
			say(name, "delivers "+strings.Join(handed[name][sg], " "))
		}
		if view := s.view(s.names[name]); view != s.views[name] {
			s.views[name] = view
			if view != "" {
				say(name, view)
			}
		}
	}
	for _, line := range lines {
		fmt.Fprintf(&s.out, "%s: %s\n", strings.Join(sayers[line], " "), line)
	}
	s.shown = len(s.r.events)
}

// forget leaves out what was not printed yet.
func (s *script) forget() {
	for name, p := range s.names {
		s.views[name] = s.view(p)
	}
	s.shown = len(s.r.events)
}

// view is what a process knows of the members.
func (s *script) view(p *process) string {
	if p.gone || !p.joined {
		return ""
	}
	var members []string
	for _, id := range p.d.State().Members {
		members = append(members, s.name(id))
	}
	return "view of " + strings.Join(members, " ")
}

func (s *script) name(id derecho.NodeID) string {
	for p, name := range s.of {
		if slices.Contains(p.ids, id) {
			return name
		}
	}
	return ""
}

// check lets everything heal, and has the checkers judge the trace.
func (s *script) check() {
	s.r.liveness()
	if s.r.err == nil {
		s.r.err = check(s.r.plan, s.r.events)
	}
	if s.r.err != nil {
		res := &Result{Plan: s.r.plan, Events: s.r.events}
		s.t.Fatalf("%v\n%s", s.r.err, res.Trace())
	}
}

// A reader is withdrawn while a channel of its subgroup waits for the logs of others, perhaps for ever: its own, or
// another one, for which its log is held.
func TestRemovalWaitsForNoLogs(t *testing.T) {
	for _, ch := range []string{"logged", "logged2"} {
		t.Run(ch, func(t *testing.T) {
			s := newScript(t)
			do := func(command string, args ...string) {
				var list []datadriven.Arg
				for _, a := range args {
					list = append(list, datadriven.Arg{Key: a})
				}
				groupCommands[command](s, list)
			}
			do("group", "a", "b", "c", "d", "apart")
			do("writer", "a", "logged2")
			do("writer", "b", "logged")
			do("send", "a", "logged2", "p")
			do("send", "b", "logged", "x")
			do("rest")
			do("crash", "a") // the only log of logged2
			do("rest")
			do("reader", "c", "logged2")
			do("rest")
			do("reader", "c", "logged")
			do("rest")
			c, removed := s.names["c"], false
			for id, ep := range c.ready {
				if ep.Channel == channelNames[ch] {
					delete(c.ready, id)
					delete(c.wanted, id)
					c.d.RemoveEndpoint(id, func(err error) {
						require.NoError(t, err)
						removed = true
					})
				}
			}
			c.look()
			s.settle()
			do("rest")
			require.True(t, removed)
			do("restart", "a")
			s.rest(nil)
			s.check()
		})
	}
}

// A process that is in no group yet, and would be the one to found it, stands still, or its host has no power. The
// others found one without it, and it joins that when it goes on.
func TestNobodyWaitsForWhoStandsStill(t *testing.T) {
	for seed := uint64(1); ; seed++ {
		s := newScriptOf(t, seed)
		s.r.plan.Hosts = 3
		for i, name := range []string{"a", "b", "c"} {
			p := s.r.start(uint64(i+1), s.r.newDisk())
			s.names[name], s.of[p] = p, name
		}
		a, b, c := s.names["a"], s.names["b"], s.names["c"]
		if a.id > b.id || a.id > c.id {
			continue
		}
		s.pause([]datadriven.Arg{{Key: "a"}})
		s.let(8 * s.r.plan.Lease)
		require.False(t, a.joined)
		require.True(t, b.joined && c.joined)
		s.r.resume(a)
		s.let(2 * s.r.plan.Lease)
		require.True(t, a.joined)
		s.check()
		return
	}
}
