package dcps

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/storage"
	"github.com/stretchr/testify/require"
)

// The tests of this file have processes of their own, which are stopped for longer than the others wait for them.

// testLease is long enough for a machine that is busy, and short enough for a test; noLease is for those in which nobody is to be
// excluded: who dies is not waited for.
const (
	testLease = 3 * time.Second
	noLease   = time.Minute
)

// untilMissed bounds the wait for a process to be missed. Whoever stood still itself does not know for how long others
// were silent, and begins to listen anew: the wait ends with the time for which this process has not stood still.
func untilMissed(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	go func() {
		defer cancel()
		for left := patience; left > 0; {
			before := time.Now()
			select {
			case <-time.After(testLease / derecho.Heartbeats / 10):
			case <-ctx.Done():
				return
			}
			if left -= time.Since(before); time.Since(before) > testLease/derecho.Heartbeats {
				left = patience
			}
		}
	}()
	return ctx
}

func storedWriterQos(dir string) qos.DataWriter {
	return writerQos(blocking(patience), func(q *qos.DataWriter) {
		q.Durability.Kind = storedDurability(dir)
		q.History = qos.History{Kind: qos.HistoryKeepLast, Depth: 1000}
	})
}

func storedReaderQos(dir string) qos.DataReader {
	return readerQos(func(q *qos.DataReader) { q.Durability.Kind = storedDurability(dir) })
}

// storedDurability is that of the topic: PERSISTENT where there is a directory for logs.
func storedDurability(dir string) qos.DurabilityKind {
	if dir == "" {
		return qos.DurabilityTransientLocal
	}
	return qos.DurabilityPersistent
}

// attend is a process with a writer and a reader that does what it is told, one line each:
//
//	write ID N   writes N samples of the instance, with values from 0, and tells "wrote"
//	try ID N     writes until that fails, at most N, and tells how many were accepted
//	take N       takes N samples and tells their instance and value
//	rest         takes what there is, without waiting
//	match N      waits until as many readers and writers are matched, and for the domain
//	acks         tells what WaitForAcknowledgments gives
//	rejoined     waits until the process has joined again
//	history      tells what WaitForHistoricalData gives
//	awaitmatch N tells what the reader's WaitForMatch gives
//	put ID N     tells what Write gives
//	err          tells the participant's Err
//	qos          tells what changing the reader's QoS gives
//	newreader    makes another reader, and tells what that gives
//	close        closes the writer and the reader, and tells what that gives
//	views        tells how the view has changed
//	begin        begins a coherent set, and tells what that gives
//	end          ends it, and tells what that gives
//
// With DCPS_TEST_IN_SETS its Publisher and its Subscriber have coherent_access, in scope TOPIC.
func attend(domain string) error {
	id, err := strconv.Atoi(domain)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 6*patience)
	defer cancel()
	p, err := NewDomainParticipant(ctx, DomainID(id), WithName("member"), smallSegments)
	if err != nil {
		return err
	}
	tp, err := NewTopic[track](p, "Track")
	if err != nil {
		return err
	}
	pubQos, subQos := qos.DefaultPublisher(), qos.DefaultSubscriber()
	if os.Getenv("DCPS_TEST_IN_SETS") != "" {
		pubQos.Presentation = present(qos.PresentationTopic, true, false)
		subQos.Presentation = pubQos.Presentation
	}
	pub, err := p.NewPublisher(WithPublisherQos(pubQos))
	if err != nil {
		return err
	}
	sub, err := p.NewSubscriber(WithSubscriberQos(subQos))
	if err != nil {
		return err
	}
	w, err := NewDataWriter(pub, tp, WithWriterQos(storedWriterQos(p.Settings().Dir)))
	if err != nil {
		return err
	}
	r, err := NewDataReader(sub, tp, WithReaderQos(storedReaderQos(p.Settings().Dir)))
	if err != nil {
		return err
	}
	fmt.Println("ready")
	written := int32(0)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var what string
		var a, b int
		_, _ = fmt.Sscan(lines.Text(), &what, &a, &b) // there may be fewer
		answer := what
		switch what {
		case "write":
			for range b {
				if err := w.Write(ctx, &track{ID: int32(a), Value: written}); err != nil {
					return err
				}
				written++
			}
		case "try":
			n := 0
			for ; n < b && w.Write(ctx, &track{ID: int32(a), Value: written}) == nil; n++ {
				written++
			}
			answer += fmt.Sprint(" ", n)
		case "take":
			for s, err := range r.Stream(ctx) {
				if err != nil {
					return err
				}
				if d := s.Data(); d != nil {
					answer += fmt.Sprintf(" %d:%d", d.ID, d.Value)
					if a--; a == 0 {
						break
					}
				}
			}
		case "rest":
			s, err := r.Take()
			if errors.Is(err, ErrNoData) {
				break
			}
			if err != nil {
				return err
			}
			for _, x := range s.All() {
				if d := x.Data(); d != nil {
					answer += fmt.Sprintf(" %d:%d", d.ID, d.Value)
				}
			}
			s.Close()
		case "match":
			if err := errors.Join(p.WaitForDomain(ctx), w.WaitForMatch(ctx, a), r.WaitForMatch(ctx, a)); err != nil {
				return err
			}
		case "begin":
			answer = fmt.Sprint(pub.BeginCoherentChanges())
		case "end":
			answer = fmt.Sprint(pub.EndCoherentChanges(ctx))
		case "views":
			answer = strings.Join(kinds(p.ViewChangedStatus()), " ")
		case "rejoined":
			back := func(c ViewChange) bool { return c.Why == ViewRejoined }
			if err := p.domain.await(ctx, "test", func() bool { return slices.ContainsFunc(p.domain.view.Changes, back) }); err != nil {
				return err
			}
		case "history":
			answer = fmt.Sprint(r.WaitForHistoricalData(ctx))
		case "awaitmatch":
			answer = fmt.Sprint(r.WaitForMatch(ctx, a))
		case "put":
			answer = fmt.Sprint(w.Write(ctx, &track{ID: int32(a), Value: int32(b)}))
		case "err":
			answer = fmt.Sprint(p.Err())
		case "qos":
			q := r.Qos()
			q.UserData.Value = []byte("changed")
			answer = fmt.Sprint(r.SetQos(q))
		case "newreader":
			another, err := NewDataReader(sub, tp, WithReaderQos(storedReaderQos(p.Settings().Dir)))
			if err == nil {
				err = another.Close()
			}
			answer = fmt.Sprint(err)
		case "close":
			answer = fmt.Sprint(errors.Join(w.Close(), r.Close()))
		case "acks":
			answer = fmt.Sprint(w.WaitForAcknowledgments(ctx))
		}
		fmt.Println(answer)
	}
	return p.Close()
}

// attendant is such a process, as the test sees it.
type attendant struct {
	t   *testing.T
	cmd *exec.Cmd
	dir string // of its logs; "" for none
	in  io.WriteCloser
	out *bufio.Reader
}

func (d *domain) attendant(t *testing.T) *attendant {
	t.Helper()
	a := &attendant{t: t, cmd: exec.Command(os.Args[0])}
	a.cmd.Env = append(os.Environ(), fmt.Sprintf("DCPS_TEST_MEMBER=%d", d.id), "DDS_LEASE="+d.settings.Lease.String())
	if d.settings.Dir != "" {
		a.dir = t.TempDir()
		a.cmd.Env = append(a.cmd.Env, "DDS_DIR="+a.dir)
	}
	a.cmd.Stderr = os.Stderr
	var err error
	a.in, err = a.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := a.cmd.StdoutPipe()
	require.NoError(t, err)
	a.out = bufio.NewReader(out)
	require.NoError(t, a.cmd.Start())
	t.Cleanup(func() {
		if a.cmd.ProcessState == nil {
			_ = a.cmd.Process.Kill()
			_ = a.cmd.Wait()
		}
	})
	require.Equal(t, "ready", a.line())
	return a
}

func (a *attendant) line() string {
	a.t.Helper()
	line, err := a.out.ReadString('\n')
	require.NoError(a.t, err)
	return strings.TrimSpace(line)
}

// do gives an order and returns the answer.
func (a *attendant) do(format string, args ...any) string {
	a.t.Helper()
	_, err := fmt.Fprintf(a.in, format+"\n", args...)
	require.NoError(a.t, err)
	return a.line()
}

func (a *attendant) signal(s os.Signal) {
	a.t.Helper()
	require.NoError(a.t, a.cmd.Process.Signal(s))
}

func (a *attendant) end() {
	a.t.Helper()
	require.NoError(a.t, a.in.Close())
	require.NoError(a.t, a.cmd.Wait())
}

// series is "id:0 id:1 ...", n of them, as a set.
func series(n int, ids ...int) []string {
	var out []string
	for _, id := range ids {
		for i := range n {
			out = append(out, fmt.Sprintf("%d:%d", id, i))
		}
	}
	slices.Sort(out)
	return out
}

func sorted(text string) []string {
	out := strings.Fields(text)
	slices.Sort(out)
	return out
}

// A process is stopped until the others go on without it, and goes on then: it joins again. What the others wrote
// meanwhile it gets as history; its reader has nothing twice, and its writer goes on.
func TestCoreRejoin(t *testing.T) {
	t.Run("transient local", func(t *testing.T) { rejoins(t, "") })
	t.Run("persistent", func(t *testing.T) { rejoins(t, t.TempDir()) })
}

func rejoins(t *testing.T, dir string) {
	d := onCore(t, Settings{Lease: testLease, Dir: dir})
	n := d.node(t, WithName("test"))
	w, r := n.writer(t, storedWriterQos(d.settings.Dir)), n.reader(t, storedReaderQos(d.settings.Dir))
	stays, stopped := d.attendant(t), d.attendant(t)
	require.NoError(t, w.WaitForMatch(patiently(t), 3))
	for _, a := range []*attendant{stays, stopped} {
		require.Equal(t, "match", a.do("match 3"))
	}
	const some = 20
	for i := range int32(some) {
		write(t, w, 1, i)
	}
	require.Equal(t, "write", stays.do("write 2 %d", some))
	require.Equal(t, "write", stopped.do("write 3 %d", some))
	require.Equal(t, "<nil>", stopped.do("acks"))
	all := series(some, 1, 2, 3)
	require.Equal(t, all, sorted(values(t, r, len(all))))
	require.Equal(t, all, sorted(strings.TrimPrefix(stays.do("take %d", len(all)), "take ")))
	require.Equal(t, all, sorted(strings.TrimPrefix(stopped.do("take %d", len(all)), "take ")))

	stopped.signal(syscall.SIGSTOP)
	require.NoError(t, r.await(untilMissed(t), "test", func() bool { return r.liveliness.AliveCount == 2 }))
	require.NoError(t, r.await(untilMissed(t), "test", func() bool { return r.matched.CurrentCount == 2 }))
	for i := range int32(some) {
		write(t, w, 1, some+i)
	}
	require.Equal(t, "write", stays.do("write 2 %d", some))
	// It goes on with writing before it knows. What is accepted is not lost where the writer can send it again.
	accepted := 0
	if dir == "" {
		_, err := fmt.Fprintf(stopped.in, "try 3 %d\n", some)
		require.NoError(t, err)
	}
	stopped.signal(syscall.SIGCONT)
	if dir == "" {
		_, err := fmt.Sscanf(stopped.line(), "try %d", &accepted)
		require.NoError(t, err)
		t.Logf("%d samples were accepted", accepted)
	}
	require.NoError(t, w.WaitForMatch(patiently(t), 3))
	require.NoError(t, r.WaitForMatch(patiently(t), 3))
	require.Equal(t, "match", stopped.do("match 3"))
	require.Regexp(t, `^JOINED .*\bEXCLUDED\b.* REJOINED$`, stopped.do("views"))
	require.Equal(t, "JOINED JOINED JOINED FAILED JOINED", strings.Join(kinds(n.p.ViewChangedStatus()), " "), "this process was there all the time")
	require.Equal(t, "write", stopped.do("write 3 %d", some))
	for i := range int32(some) {
		write(t, w, 1, 2*some+i)
	}
	var more []string
	for _, s := range slices.Concat(series(3*some, 1), series(2*some, 2), series(2*some+accepted, 3)) {
		if !slices.Contains(all, s) {
			more = append(more, s)
		}
	}
	slices.Sort(more)
	require.Equal(t, more, sorted(values(t, r, len(more))))
	require.Equal(t, more, sorted(strings.TrimPrefix(stays.do("take %d", len(more)), "take ")))
	require.Equal(t, more, sorted(strings.TrimPrefix(stopped.do("take %d", len(more)), "take ")))

	// One that comes now gets all that was ever written, in order for each writer.
	late := n.reader(t, storedReaderQos(d.settings.Dir))
	require.Equal(t, sorted(strings.Join(append(more, all...), " ")), sorted(values(t, late, len(more)+len(all))))
	require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
	if told := stopped.do("acks"); told != "<nil>" { // VOLATILE readers would lack them
		require.Contains(t, told, "is not known")
		require.Positive(t, accepted)
		require.Equal(t, "<nil>", stopped.do("acks"))
	}
	require.Equal(t, "no data", takeText(t, r))
	require.NoError(t, n.p.Err())
	require.Equal(t, "rest", stays.do("rest"))
	require.Equal(t, "rest", stopped.do("rest"))
	require.Equal(t, LivelinessChangedStatus{AliveCount: 3}, steady(r.LivelinessChangedStatus()))
	stopped.end()
	stays.end()
}

// steady leaves out what says how a status came to be.
func steady(s LivelinessChangedStatus) LivelinessChangedStatus {
	return LivelinessChangedStatus{AliveCount: s.AliveCount, NotAliveCount: s.NotAliveCount}
}

// Of two processes one is stopped: the other can not know whether it is cut off itself, and waits.
func TestCoreIsolated(t *testing.T) {
	d := onCore(t, Settings{Lease: testLease})
	n := d.node(t, WithName("test"))
	w, r := n.writer(t, storedWriterQos(d.settings.Dir)), n.reader(t, storedReaderQos(d.settings.Dir))
	other := d.attendant(t)
	require.Equal(t, "match", other.do("match 2"))
	require.NoError(t, r.WaitForMatch(patiently(t), 2))
	other.signal(syscall.SIGSTOP)
	require.NoError(t, n.p.domain.await(untilMissed(t), "test", func() bool { return n.p.outage.Load() != nil }))
	err := w.Write(patiently(t), &track{})
	require.ErrorIs(t, err, ErrPreconditionNotMet)
	require.ErrorIs(t, err, derecho.ErrNoMajority)
	require.ErrorContains(t, err, "member")
	require.Equal(t, LivelinessChangedStatus{AliveCount: 1, NotAliveCount: 1}, steady(r.LivelinessChangedStatus()))
	other.signal(syscall.SIGCONT)
	require.NoError(t, n.p.WaitForDomain(patiently(t)))
	s := n.p.ViewChangedStatus()
	require.Equal(t, "JOINED JOINED ISOLATED RESUMED", strings.Join(kinds(s), " "))
	require.Len(t, s.Members, 2)
	require.NoError(t, r.await(patiently(t), "test", func() bool { return r.liveliness.AliveCount == 2 }))
	write(t, w, 1, 1)
	require.Equal(t, "take 1:1", other.do("take 1"))
	require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
	other.end()
}

// Of two processes that talk over TCP one dies. Who comes then, which may be that one anew, can not be let in, and is
// told so: by the listener and Err while it waits, and by the error when it gives up. It is in when the other was
// started anew, too.
func TestCoreNewcomer(t *testing.T) {
	t.Setenv("DDS_TRANSPORT", "tcp") // for the attendants
	d := onCore(t, Settings{Lease: testLease, Transport: "tcp"})
	survivor, dies := d.attendant(t), d.attendant(t)
	for _, a := range []*attendant{survivor, dies} {
		require.Equal(t, "match", a.do("match 2"))
	}
	dies.signal(syscall.SIGKILL)
	_ = dies.cmd.Wait()
	named := func(err error, entity string) {
		t.Helper()
		require.ErrorIs(t, err, derecho.ErrNoMajority)
		require.ErrorContains(t, err, entity)
		require.ErrorContains(t, err, fmt.Sprintf("member (pid %d on ", survivor.cmd.Process.Pid), "who waits")
		require.ErrorContains(t, err, fmt.Sprintf("member (process %d on ", dies.cmd.Process.Pid), "for whom")
		require.ErrorContains(t, err, "if they have ended, start member anew, too", "and what to do")
	}
	f := NewDomainParticipantFactory()
	require.NoError(t, f.SetQos(createdDisabled))
	newcomer := func(ctx context.Context) (*DomainParticipant, chan ViewChange, chan error) {
		told, enabled := make(chan ViewChange, 8), make(chan error, 1)
		p, err := f.NewDomainParticipant(ctx, d.id, WithSettings(d.settings), WithName("newcomer"), WithParticipantListener(ParticipantListener{
			OnViewChanged: func(_ *DomainParticipant, s ViewChangedStatus) {
				for _, c := range s.Changes {
					told <- c
				}
			},
		}))
		require.NoError(t, err)
		t.Cleanup(func() { _ = p.Close() })
		go func() { enabled <- p.Enable(ctx) }()
		c := <-told
		require.Equal(t, ViewIsolated, c.Why)
		named(c.Err, "no majority")
		require.Eventually(t, func() bool { return p.Err() != nil }, patience, time.Millisecond)
		require.ErrorIs(t, p.Err(), ErrPreconditionNotMet)
		named(p.Err(), "can let nobody in")
		return p, told, enabled
	}
	ctx, cancel := context.WithCancel(patiently(t))
	_, _, enabled := newcomer(ctx)
	cancel()
	err := <-enabled
	require.ErrorIs(t, err, ErrTimeout)
	require.ErrorIs(t, err, context.Canceled)
	named(err, "can let nobody in")

	p, told, enabled := newcomer(patiently(t))
	survivor.signal(syscall.SIGKILL)
	_ = survivor.cmd.Wait()
	require.NoError(t, <-enabled)
	require.NoError(t, p.Err())
	require.Equal(t, ViewJoined, (<-told).Why)
	require.Equal(t, ViewResumed, (<-told).Why)
	require.False(t, p.ViewChangedStatus().Away)
	d.attendant(t).end() // is let in
}

// A process joins again, and its log can not be used. Its PERSISTENT writer and reader are told, wherever they wait,
// and when that is mended they are announced by themselves. Its samples are complete then.
func TestCoreRefusedAtRejoin(t *testing.T) {
	for _, c := range []struct {
		name, says string
		err        error
		// spoil the log, in the place of its directory; what it returns mends it.
		spoil  func(t *testing.T, d *domain, dir string) (mend func())
		closed bool // the writer and the reader are closed then
	}{
		{"no directory", "not a directory", syscall.ENOTDIR, func(t *testing.T, _ *domain, dir string) func() {
			aside := dir + ".aside"
			require.NoError(t, os.Rename(dir, aside))
			require.NoError(t, os.WriteFile(dir, nil, 0o600))
			return func() {
				require.NoError(t, os.Remove(dir))
				require.NoError(t, os.Rename(aside, dir))
			}
		}, false},
		{"no directory, closed", "not a directory", syscall.ENOTDIR, func(t *testing.T, _ *domain, dir string) func() {
			require.NoError(t, os.RemoveAll(dir))
			require.NoError(t, os.WriteFile(dir, nil, 0o600))
			return nil
		}, true},
		{"taken", "is in use", storage.ErrLocked, func(t *testing.T, _ *domain, dir string) func() {
			aside := dir + ".aside"
			require.NoError(t, os.Rename(dir, aside))
			require.NoError(t, os.CopyFS(dir, os.DirFS(aside))) // the lock goes with the file
			logs, err := filepath.Glob(filepath.Join(dir, logDirs))
			require.NoError(t, err)
			var held []*storage.Log
			for _, path := range logs {
				if info, err := os.Stat(path); err == nil && info.IsDir() {
					log, _, err := storage.Open(path, storage.Options{Owner: "the thief"})
					require.NoError(t, err)
					held = append(held, log)
				}
			}
			require.Len(t, held, 1)
			return func() { require.NoError(t, held[0].Close()) }
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := onCore(t, Settings{Lease: testLease, Dir: t.TempDir()})
			n := d.node(t, WithName("test"))
			w, r := n.writer(t, storedWriterQos(d.settings.Dir)), n.reader(t, storedReaderQos(d.settings.Dir))
			stays, stopped := d.attendant(t), d.attendant(t)
			require.NoError(t, w.WaitForMatch(patiently(t), 3))
			require.Equal(t, "match", stopped.do("match 3"))
			write(t, w, 1, 0)
			require.Equal(t, "take 1:0", stopped.do("take 1"))
			stopped.signal(syscall.SIGSTOP)
			require.NoError(t, r.await(untilMissed(t), "test", func() bool { return r.matched.CurrentCount == 2 }))
			write(t, w, 1, 1)
			mend := c.spoil(t, d, stopped.dir)
			stopped.signal(syscall.SIGCONT)

			require.Equal(t, "rejoined", stopped.do("rejoined"), "the rest of it works")
			for _, ask := range []string{"history", "awaitmatch 2", "put 3 0", "acks", "err"} {
				told := stopped.do(ask)
				require.Contains(t, told, "precondition not met", ask)
				require.Contains(t, told, c.says, ask)
				require.Contains(t, told, "its log can not be used. That is tried again by itself: see to the log, "+stopped.dir, ask)
				entity := "reader of topic"
				if ask == "put 3 0" || ask == "acks" {
					entity = "writer of topic"
				}
				require.Contains(t, told, entity, ask)
			}
			if c.closed {
				require.Equal(t, "<nil>", stopped.do("close"))
				for stopped.do("err") != "<nil>" { // that nothing is refused any more is told soon
				}
				stopped.end()
				stays.end()
				return
			}
			require.NotEqual(t, "<nil>", stopped.do("newreader"))
			require.Equal(t, "<nil>", stopped.do("qos"), "it is announced with that")
			write(t, w, 1, 2)
			mend()

			require.NoError(t, w.WaitForMatch(patiently(t), 3))
			require.NoError(t, r.WaitForMatch(patiently(t), 3))
			for stopped.do("history") != "<nil>" { // the writer may be announced before the reader
			}
			require.Equal(t, "match", stopped.do("match 3"))
			for _, ask := range []string{"history", "put 3 7", "acks", "err"} {
				require.Equal(t, "<nil>", stopped.do(ask), ask)
			}
			require.Equal(t, "take 1:1 1:2 3:7", stopped.do("take 3"))
			require.Equal(t, "1:0 1:1 1:2 3:7", values(t, r, 4))
			require.Contains(t, fmt.Sprint(r.MatchedPublications()), "member")
			require.NoError(t, n.p.Err())
			stopped.end()
			stays.end()
		})
	}
}
