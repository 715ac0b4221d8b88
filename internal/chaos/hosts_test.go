package chaos

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// host is a network namespace with a cable to a bridge, which is in a namespace of its own.
type host struct {
	name    string // of the namespace
	address string
	bridge  string // namespace of the bridge
	port    string // the other end of the cable, at the bridge
}

// lan makes namespaces and a bridge between them; they go with the test.
func lan(t *testing.T, n int) (hosts []host) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, to make network namespaces")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("needs the ip command (Debian package iproute2)")
	}
	id := os.Getpid()
	bridge := fmt.Sprintf("dds-bridge-%d", id)
	add := func(name string) {
		if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
			t.Skipf("this system lets nobody make network namespaces: %v: %s", err, out)
		}
		t.Cleanup(func() { ip(t, "netns", "del", name) })
	}
	add(bridge)
	if out, err := exec.Command("ip", "-n", bridge, "link", "add", "br0", "type", "bridge").CombinedOutput(); err != nil {
		t.Skipf("this kernel has no bridges: %v: %s", err, out)
	}
	ip(t, "-n", bridge, "link", "set", "br0", "up")
	for i := range n {
		h := host{fmt.Sprintf("dds-%c-%d", 'a'+i, id), fmt.Sprintf("10.213.78.%d", i+1), bridge, fmt.Sprintf("port%d", i+1)}
		add(h.name)
		ip(t, "link", "add", "name", "eth0", "netns", h.name, "type", "veth", "peer", "name", h.port, "netns", bridge)
		ip(t, "-n", h.name, "address", "add", h.address+"/24", "dev", "eth0")
		ip(t, "-n", h.name, "link", "set", "lo", "up")
		ip(t, "-n", h.name, "link", "set", "eth0", "up")
		ip(t, "-n", bridge, "link", "set", h.port, "master", "br0")
		ip(t, "-n", bridge, "link", "set", h.port, "up")
		hosts = append(hosts, h)
	}
	return hosts
}

func ip(t testing.TB, args ...string) {
	t.Helper()
	out, err := exec.Command("ip", args...).CombinedOutput()
	require.NoError(t, err, "ip %s: %s", strings.Join(args, " "), out)
}

// in starts a command on the host.
func (h host) in(c *exec.Cmd) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", h.name, c.Path}, c.Args[1:]...)...)
}

// unplug takes the cable out at the bridge: nothing gets through, which the host does not see. (It would if the link were set
// down; but then the kernel may let a second pass before it sends again after the link is up.)
func (h host) unplug(t testing.TB) { ip(t, "-n", h.bridge, "link", "set", h.port, "nomaster") }
func (h host) plug(t testing.TB)   { ip(t, "-n", h.bridge, "link", "set", h.port, "master", "br0") }

// down and up are what ip link does; the host loses its carrier.
func (h host) down(t testing.TB) { ip(t, "-n", h.bridge, "link", "set", h.port, "down") }
func (h host) up(t testing.TB)   { ip(t, "-n", h.bridge, "link", "set", h.port, "up") }

// mute has all that the host sends go astray, in frames to an address that nobody has, or not any more. What is sent to it
// arrives: the network fails in one direction.
func (h host) mute(t testing.TB, others []host, mute bool) {
	t.Helper()
	for _, o := range others {
		switch {
		case o == h:
		case mute:
			ip(t, "-n", h.name, "neigh", "replace", o.address, "lladdr", "02:00:00:00:00:99", "dev", "eth0", "nud", "permanent")
		default:
			ip(t, "-n", h.name, "neigh", "del", o.address, "dev", "eth0")
		}
	}
}

// village is processes on hosts.
type village struct {
	*fleet
	domain uint32
	hosts  []host
	at     map[*process]host
}

func newVillage(t *testing.T, hosts, each int, topics ...string) *village {
	t.Helper()
	v := &village{domain: rand.Uint32() >> 1, hosts: lan(t, hosts), at: map[*process]host{}}
	v.fleet = newFleet(t, v.domain, "DDS_TRANSPORT=shm")
	for i := range hosts * each {
		v.settleIn(v.hosts[i%hosts], fmt.Sprintf("seat%d", i), topics...)
	}
	return v
}

// settleIn starts a process on a host. The first one of each host is at a port that all others know.
func (v *village) settleIn(h host, seat string, topics ...string) *process {
	v.t.Helper()
	listen := h.address + ":7400"
	if slices.ContainsFunc(v.running, func(p *process) bool { return v.at[p] == h }) {
		listen = h.address + ":0"
	}
	var peers []string
	for _, o := range v.hosts {
		if o != h {
			peers = append(peers, o.address+":7400")
		}
	}
	p := v.spawn(seat, h.in, "DDS_LISTEN="+listen, "DDS_PEERS="+strings.Join(peers, ","))
	v.at[p] = h
	v.joined(p)
	for _, topic := range topics {
		v.enter(p, topic, 1, 1)
	}
	return p
}

// done checks a round: all agree again, and what they were handed does.
func (v *village) done(topics ...string) *findings {
	v.t.Helper()
	begin := time.Now()
	v.finish(topics...)
	settled := time.Since(begin)
	v.checkHeld()
	for _, p := range v.running {
		p.outcome.alive = true
	}
	for len(v.running) > 0 {
		v.retire(v.running[0])
	}
	f := check(v.outcomes())
	for _, w := range f.wrong {
		v.t.Error(w)
	}
	v.checkNothingLeft(v.domain) // but abstract sockets: those of a network namespace go with it
	v.t.Logf("%d deliveries in %d stays agree; came back after an exclusion: %v; settled in %v", f.deliveries, f.stays, f.cuts, settled.Round(time.Millisecond))
	return f
}

// Three hosts with two processes each; the network of one or the other fails for a while.
func TestHosts(t *testing.T) {
	t.Parallel()
	outages := []time.Duration{3 * lease, lease / 3, 6 * lease}
	if *flagTimes < 5 {
		outages = outages[:1]
	}
	for _, out := range outages {
		t.Run(fmt.Sprintf("cable out for %v", out), func(t *testing.T) {
			v := newVillage(t, 3, 2, allTopics...)
			v.settle(allTopics...)
			v.askAll("write 0 16")
			v.pass(lease)
			v.did("cable of %s out", v.hosts[2].name)
			v.hosts[2].unplug(t)
			v.pass(out)
			v.hosts[2].plug(t)
			v.did("cable of %s in", v.hosts[2].name)
			v.pass(lease)
			v.done(allTopics...)
		})
	}
	t.Run("link down", func(t *testing.T) {
		brief(t, "tcp")
		v := newVillage(t, 3, 2, allTopics...)
		v.settle(allTopics...)
		v.askAll("write 0 16")
		v.pass(lease)
		v.hosts[2].down(t)
		v.pass(3 * lease)
		v.hosts[2].up(t)
		v.pass(lease)
		v.done(allTopics...)
	})
	t.Run("one way", func(t *testing.T) {
		brief(t, "tcp")
		v := newVillage(t, 3, 2, allTopics...)
		v.settle(allTopics...)
		v.askAll("write 0 16")
		v.pass(lease)
		v.did("%s is mute", v.hosts[1].name)
		v.hosts[1].mute(t, v.hosts, true)
		v.pass(4 * lease)
		v.hosts[1].mute(t, v.hosts, false)
		v.did("%s is heard again", v.hosts[1].name)
		v.pass(lease)
		v.done(allTopics...)
	})
	// Neither half is a majority: nobody may go on alone, and all do once they hear each other.
	t.Run("halves", func(t *testing.T) {
		brief(t, "tcp")
		v := newVillage(t, 4, 1, allTopics...)
		v.settle(allTopics...)
		v.askAll("write 0 16")
		v.pass(lease)
		v.did("%s and %s out", v.hosts[2].name, v.hosts[3].name)
		v.isolate(v.hosts[2], v.hosts[3])
		v.pass(4 * lease)
		v.join(v.hosts[2], v.hosts[3])
		v.did("in again")
		v.pass(lease)
		v.done(allTopics...)
	})
	// Both start before there is a network between them, and each host founds a group of its own. Of the logged topic
	// these are two histories, which do not merge.
	merges := slices.DeleteFunc(slices.Clone(allTopics), func(topic string) bool { return topic == loggedTopic })
	for _, each := range []int{1, 2} {
		t.Run(fmt.Sprintf("two hosts start apart, with %d of 4", each), func(t *testing.T) {
			if each == 1 {
				brief(t, "tcp")
			}
			v := newVillage(t, 2, 0)
			v.hosts[1].unplug(t)
			for i := range 4 {
				h := v.hosts[0]
				if i < each {
					h = v.hosts[1]
				}
				v.settleIn(h, fmt.Sprintf("seat%d", i), merges...)
			}
			v.hosts[1].plug(t)
			begin := time.Now()
			v.settle(merges...)
			t.Logf("all are in one group, and matched, %v after they have a network", time.Since(begin).Round(time.Millisecond))
			v.askAll("write 0 16")
			v.pass(lease)
			v.done(merges...)
		})
	}
	// All of a host die at once, and the host is silent: nobody there refuses a connection.
	t.Run("host dies", func(t *testing.T) {
		brief(t, "tcp")
		v := newVillage(t, 3, 2, allTopics...)
		v.settle(allTopics...)
		v.askAll("write 0 16")
		v.pass(lease)
		v.hosts[0].unplug(t)
		for _, p := range slices.Clone(v.running) {
			if v.at[p] == v.hosts[0] {
				v.kill(p) // ip netns exec runs the program in its own place
			}
		}
		v.pass(3 * lease)
		v.hosts[0].plug(t)
		p := v.settleIn(v.hosts[0], "seat0", allTopics...)
		v.ask(p, "write 0 16")
		v.pass(lease)
		v.done(allTopics...)
	})
}

// isolate cuts the network between these hosts and all others; among each other they are connected.
func (v *village) isolate(some ...host) {
	v.t.Helper()
	ip(v.t, "-n", some[0].bridge, "link", "add", "br1", "type", "bridge")
	ip(v.t, "-n", some[0].bridge, "link", "set", "br1", "up")
	for _, h := range some {
		ip(v.t, "-n", h.bridge, "link", "set", h.port, "master", "br1")
	}
}

func (v *village) join(some ...host) {
	v.t.Helper()
	for _, h := range some {
		ip(v.t, "-n", h.bridge, "link", "set", h.port, "master", "br0")
	}
	ip(v.t, "-n", some[0].bridge, "link", "del", "br1")
}

// A host falls silent: its processes live, and nothing is heard of them.
func TestTimeOfSilence(t *testing.T) {
	brief(t, "tcp")
	v := newVillage(t, 3, 1, atomicTopic)
	v.settle(atomicTopic)
	v.askAll("write %d 16", pace)
	var quiet, lost pauses
	var back times
	window := 4 * lease
	for range *flagTimes {
		h := v.hosts[2]
		var survivors []*process
		var silent *process
		for _, p := range v.running {
			if v.at[p] == h {
				silent = p
			} else {
				survivors = append(survivors, p)
			}
		}
		from := time.Now()
		v.pass(200 * time.Millisecond)
		quiet = append(quiet, worst(v.gaps(atomicTopic, from, time.Now(), survivors...)))
		at := time.Now()
		h.unplug(t)
		v.pass(window)
		v.goOn(atomicTopic, time.Now(), survivors...)
		gap := worst(v.gaps(atomicTopic, at, time.Now(), survivors...))
		lost = append(lost, gap)
		at = time.Now()
		h.plug(t)
		v.ask(silent, "halt")
		v.settle(atomicTopic) // it was excluded, and is matched again
		back = append(back, time.Since(at))
		v.ask(silent, "write %d 16", pace)
	}
	t.Logf("1 of 3 hosts is silent, a sample every %v from each: the longest time that a survivor is handed nothing: %v (aim %v); undisturbed: %v; matched again after the cable is back: %v; %s",
		pace, lost, 3*lease, quiet, back, machine())
	v.end()
}
