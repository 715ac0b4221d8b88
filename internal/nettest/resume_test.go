package nettest

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/rdma/fabric"
	"github.com/omg-dds-go/dds/rdma/shm"
)

// envNode is set for a process that is a bare node of the network: its ID, its address, its peer's.
const envNode = "DDS_NETTEST_NODE"

// talker says what happens on its link.
type talker struct{ up chan rdma.Link }

func (n talker) LinkUp(l rdma.Link) {
	fmt.Println("up")
	select {
	case n.up <- l:
	default: // a second one; what the test expects to hear does not come
	}
}

func (n talker) LinkDown(_ rdma.Link, _ bool, err error)         { fmt.Println("down", err) }
func (n talker) Message(_ rdma.Link, b []byte)                   { fmt.Println("heard", string(b)) }
func (n talker) Opened(rdma.Link, rdma.Key, *rdma.Region, error) {}
func (n talker) Scanned()                                        {}
func (n talker) Dying(rdma.Link)                                 { fmt.Println("dying") }
func (n talker) Resumed(rdma.Link)                               { fmt.Println("resumed") }
func (n talker) Refused(_ rdma.PeerInfo, err error)              { fmt.Println("refused", err) }
func bareNode() error {
	var id uint64
	var listen, peer string
	if _, err := fmt.Sscan(os.Getenv(envNode), &id, &listen, &peer); err != nil {
		return err
	}
	bell, err := shm.NewBell()
	if err != nil {
		return err
	}
	n := talker{make(chan rdma.Link, 1)}
	f, err := fabric.New(fabric.Config{Domain: 78, ID: id, Name: listen, TCP: true, Listen: listen, Peers: []string{peer}}, bell, n)
	if err != nil {
		return err
	}
	f.Start()
	l := <-n.up
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		l.Send(lines.Bytes())
	}
	return f.Close()
}

// The cable is out for a while, which no end of a link takes for the death of the other: what is sent meanwhile arrives
// afterwards, once and in order. For a short while TCP itself helps; after a second the connection is given up, and the
// session goes on over another one.
func TestCableOutForAWhile(t *testing.T) {
	for _, out := range []time.Duration{300 * time.Millisecond, 2 * time.Second} {
		t.Run(out.String(), func(t *testing.T) {
			a, b := hosts(t)
			ps := []*process{
				startNode(t, a, 1, b),
				startNode(t, b, 2, a),
			}
			for _, p := range ps {
				require.Equal(t, "up", p.line(t))
			}
			said := 0
			say := func(end *process) {
				said++
				_, err := fmt.Fprintln(end.stdin, said)
				require.NoError(t, err)
			}
			for _, at := range []host{a, b} { // the end at which the cable is out
				var want []string
				ip(t, "-n", at.name, "link", "set", "eth0", "down")
				back := time.After(out)
				for range 5 {
					say(ps[0])
					say(ps[1])
					want = append(want, fmt.Sprint(said))
				}
				<-back
				ip(t, "-n", at.name, "link", "set", "eth0", "up")
				begin := time.Now()
				for _, heard := range want {
					require.Equal(t, "heard "+heard, ps[0].line(t))
				}
				for range want {
					require.True(t, strings.HasPrefix(ps[1].line(t), "heard "))
				}
				t.Logf("all there %v after the cable", time.Since(begin).Round(time.Millisecond))
			}
			require.NoError(t, ps[0].stdin.Close())
			require.Contains(t, ps[1].line(t), "down", "the first thing that is down is what has closed")
			require.NoError(t, ps[0].cmd.Wait())
			ps[1].leave(t)
		})
	}
}

// A process that is killed on a host that can be reached is not waited for: its kernel ends the connection, and then
// refuses the next.
func TestKilledOnTheOtherHost(t *testing.T) {
	a, b := hosts(t)
	const soon = time.Second
	took := soon
	for try := 0; took >= soon && try < 5; try++ { // what else the machine does only makes it later
		ps := []*process{startNode(t, a, 1, b), startNode(t, b, 2, a)}
		for _, p := range ps {
			require.Equal(t, "up", p.line(t))
		}
		begin := time.Now()
		require.NoError(t, ps[1].cmd.Process.Kill())
		require.Equal(t, "dying", ps[0].line(t), "its kernel says so, whenever that is heard")
		took = time.Since(begin)
		t.Logf("dying after %v", took)
		ps[0].leave(t)
	}
	require.Less(t, took, soon)
}

func startNode(t *testing.T, h host, id uint64, peer host) *process {
	t.Helper()
	return run(t, h.command(fmt.Sprintf("%s=%d %s:7401 %s:7401", envNode, id, h.address, peer.address)), h.name)
}
