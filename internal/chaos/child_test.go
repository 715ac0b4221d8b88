package chaos

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omg-dds-go/dds/dcps"
	"github.com/omg-dds-go/dds/qos"
)

// What a process of the test is told when it starts; the rest comes as commands on its input.
const (
	envName   = "DDS_CHAOS_NAME" // set: this is such a process
	envDomain = "DDS_CHAOS_DOMAIN"
	envRecord = "DDS_CHAOS_RECORD" // the file that it puts its deliveries down in
	envTrim   = "DDS_CHAOS_TRIM"   // set: its logs are in small files, and trimmed all the time
)

// The topics and what is particular about them.
const (
	atomicTopic = "Atomic"
	localTopic  = "Local"  // transient local: who joins gets the latest historyDepth of each writer
	loggedTopic = "Logged" // persistent
)

var allTopics = []string{atomicTopic, localTopic, loggedTopic}

const (
	historyDepth = 8
	patience     = 2 * time.Minute // for what has to happen at some time; nothing waits that long unless it fails
)

// child is a process under test: some writers and readers of some topics.
type child struct {
	p      *dcps.DomainParticipant
	pub    *dcps.Publisher
	sub    *dcps.Subscriber
	topics map[string]*childTopic
	record record
	views  sync.Mutex // held from taking changes of the view to putting them down

	writing atomic.Bool                   // writers write
	begin   atomic.Pointer[chan struct{}] // closed when they do, for those that wait
	pace    atomic.Int64                  // ns between two samples of a writer; 0 for bursts at random
	filling atomic.Int64                  // bytes in each sample
}

type childTopic struct {
	*dcps.Topic[Note]
	writers, readers []*part
	made             int
}

// part is one writer or reader and the goroutine that works with it.
type part struct {
	name   string
	w      *dcps.DataWriter[Note]
	r      *dcps.DataReader[Note]
	busy   sync.Mutex // of a writer: held while it writes
	number uint64     // of a writer: the latest sample's
	sent   int64      // of a writer: ns, before the latest sample was written
	count  atomic.Int64
	lastMu sync.Mutex
	last   map[string]bool // of a reader: the writers whose last sample of the round it has
	news   chan struct{}   // a change of last
	timer  *os.File        // of a writer that writes at a pace
	stop   context.CancelFunc
	done   chan struct{}
}

// quiet waits until the sample that is under way is written.
func (p *part) quiet() {
	p.busy.Lock()
	defer p.busy.Unlock()
}

// record is the file of deliveries. What is written is the kernel's, also when the process is killed.
type record struct {
	mu sync.Mutex
	f  *os.File
}

func (r *record) write(b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.f.Write(b); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(3)
	}
}

func (r *record) note(format string, args ...any) { r.write(fmt.Appendf(nil, format+"\n", args...)) }

// trouble puts down an error. That the process was excluded, or isolated, is expected; whatever else a writer or reader
// is told is a failure of the middleware.
func (r *record) trouble(what string, err error) {
	kind := "F"
	if errors.Is(err, dcps.ErrPreconditionNotMet) {
		kind = "E"
	}
	r.note("%s %s", kind, strings.ReplaceAll(fmt.Sprintf("%s %v", what, err), "\n", "; "))
}

// runChild is the main function of a process under test.
func runChild() error {
	domain, err := strconv.ParseUint(os.Getenv(envDomain), 10, 32)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(os.Getenv(envRecord), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	settings := dcps.Settings{}
	if os.Getenv(envTrim) != "" {
		settings.LogSegmentBytes, settings.LogTrimBytes = 128<<10, 128<<10
	}
	p, err := dcps.NewDomainParticipant(ctx, dcps.DomainID(domain), dcps.WithName(os.Getenv(envName)), dcps.WithSettings(settings))
	if err != nil {
		return err
	}
	c := &child{p: p, topics: make(map[string]*childTopic), record: record{f: f}}
	c.halt()
	if c.pub, err = p.NewPublisher(); err != nil {
		return err
	}
	if c.sub, err = p.NewSubscriber(); err != nil {
		return err
	}
	fmt.Println("joined")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		words := strings.Fields(in.Text())
		answer, err := c.command(words[0], words[1:])
		if err != nil {
			answer = "error " + strings.ReplaceAll(err.Error(), "\n", "; ")
		}
		fmt.Println(strings.TrimSpace("ok " + answer))
		if words[0] == "close" {
			return nil
		}
	}
	return c.close()
}

func (c *child) command(verb string, args []string) (string, error) {
	n := func(i int) int { v, _ := strconv.Atoi(args[i]); return v }
	switch verb {
	case "enter": // TOPIC WRITERS READERS: as many more
		return "", c.enter(args[0], n(1), n(2))
	case "leave": // TOPIC WRITERS READERS: as many fewer
		return "", c.leave(args[0], n(1), n(2))
	case "write": // NS BYTES: at this pace
		c.pace.Store(int64(n(0)))
		c.filling.Store(int64(n(1)))
		c.forget()
		if !c.writing.Swap(true) {
			close(*c.begin.Load())
		}
		return "", nil
	case "halt":
		c.halt()
		for _, t := range c.topics {
			for _, w := range t.writers {
				w.quiet()
			}
		}
		return "", nil
	case "settle": // TOPIC WRITERS READERS: in the whole domain
		return "", c.settle(args[0], n(1), n(2))
	case "finish": // TOPIC: write the last sample of the round
		return "", c.finish(args[0])
	case "await": // TOPIC WRITERS: until the last sample of so many writers is there
		return "", c.await(args[0], n(1))
	case "fill": // TOPIC BYTES: write so large samples until that fails, and tell why
		return c.fill(args[0], n(1))
	case "recall": // TOPIC: what a reader that comes late is given, as WRITER NUMBER ...
		return c.recall(args[0])
	case "stock": // SAMPLES INSTANCES ACCESS: write them to a topic that keeps all
		return "", c.stock(n(0), n(1), args[2])
	case "draw": // ACCESS: what a reader of that is given, as NS SAMPLES
		return c.draw(args[0])
	case "trouble": // what the participant says is wrong
		if err := c.p.Err(); err != nil {
			return strings.ReplaceAll(err.Error(), "\n", "; "), nil
		}
		return "", nil
	case "count": // samples that all readers of TOPIC had
		sum := int64(0)
		for _, r := range c.topics[args[0]].readers {
			sum += r.count.Load()
		}
		return fmt.Sprint(sum), nil
	case "collect": // what nothing refers to any more; mappings end with that
		runtime.GC()
		return "", nil
	case "close":
		return "", c.close()
	}
	return "", fmt.Errorf("no command %q", verb)
}

func (c *child) halt() {
	if begin := make(chan struct{}); c.writing.Swap(false) || c.begin.Load() == nil {
		c.begin.Store(&begin)
	}
}

func writerQos(topic string) qos.DataWriter {
	q := qos.DefaultDataWriter()
	q.Reliability.MaxBlockingTime = patience
	switch topic {
	case localTopic:
		q.Durability.Kind, q.History.Depth = qos.DurabilityTransientLocal, historyDepth
	case loggedTopic:
		q.Durability.Kind, q.History.Depth = qos.DurabilityPersistent, historyDepth
		q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false // what was stored outlives its writer
	default:
		q.History.Kind = qos.HistoryKeepAll
	}
	return q
}

func readerQos(topic string) qos.DataReader {
	q := qos.DefaultDataReader()
	q.Reliability.Kind, q.History.Kind = qos.ReliabilityReliable, qos.HistoryKeepAll
	q.ResourceLimits.MaxSamples = 10000
	if topic == localTopic {
		q.Durability.Kind = qos.DurabilityTransientLocal
	}
	return q
}

func (c *child) enter(topic string, writers, readers int) error {
	t := c.topics[topic]
	if t == nil {
		made, err := dcps.NewTopic[Note](c.p, topic)
		if err != nil {
			return err
		}
		t = &childTopic{Topic: made}
		c.topics[topic] = t
	}
	// Writers first: theirs is the log, which is to begin before the readers are handed anything.
	for range writers {
		p := t.newPart("w")
		var err error
		if p.w, err = dcps.NewDataWriter(c.pub, t.Topic, dcps.WithWriterQos(writerQos(t.Name()))); err != nil {
			return err
		}
		t.writers = append(t.writers, p)
		c.start(p, func(ctx context.Context) error { return c.writeOn(ctx, t.Name(), p) })
	}
	for range readers {
		p := t.newPart("r")
		var err error
		if p.r, err = dcps.NewDataReader(c.sub, t.Topic, dcps.WithReaderQos(readerQos(t.Name()))); err != nil {
			return err
		}
		c.record.note("B %s %d", p.name, time.Now().UnixNano())
		t.readers = append(t.readers, p)
		c.start(p, func(ctx context.Context) error { return c.read(ctx, t.Name(), p) })
	}
	return nil
}

func (t *childTopic) newPart(kind string) *part {
	t.made++
	return &part{
		name: fmt.Sprintf("%s.%s.%s%d", os.Getenv(envName), t.Name(), kind, t.made),
		last: make(map[string]bool), news: make(chan struct{}, 1), done: make(chan struct{}),
	}
}

func (c *child) start(p *part, work func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = cancel
	go func() {
		defer close(p.done)
		if err := work(ctx); err != nil && ctx.Err() == nil {
			c.record.trouble(p.name, err)
		}
	}()
}

// leave closes the oldest ones.
func (c *child) leave(topic string, writers, readers int) error {
	t := c.topics[topic]
	for range writers {
		p := t.writers[0]
		t.writers = t.writers[1:]
		p.end()
		if err := p.w.Close(); err != nil {
			return err
		}
	}
	for range readers {
		p := t.readers[0]
		t.readers = t.readers[1:]
		p.end()
		if err := p.r.Close(); err != nil {
			return err
		}
	}
	return nil
}

func (p *part) end() {
	p.stop()
	<-p.done
	if p.timer != nil {
		_ = p.timer.Close()
	}
}

func (c *child) close() error {
	for _, t := range c.topics {
		for _, p := range slices.Concat(t.writers, t.readers) {
			p.end()
		}
	}
	err := c.p.Close()
	if errors.Is(err, dcps.ErrPreconditionNotMet) { // excluded, or isolated: nobody waits for its farewell
		c.record.trouble("close", err)
		return nil
	}
	return err
}

// read puts down what a reader is handed, batch by batch.
func (c *child) read(ctx context.Context, topic string, p *part) error {
	some := dcps.NewWaitSet(p.r.NewReadCondition(0, 0, 0))
	var b []byte
	for {
		loan, err := p.r.TakeLoan(dcps.InOrder())
		if errors.Is(err, dcps.ErrNoData) {
			if _, err = some.Wait(ctx); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		c.noteViews()
		b = b[:0]
		samples, lasts := int64(0), false
		for info, encoded := range loan.All() {
			if !info.ValidData {
				continue
			}
			v, err := NewNoteView(encoded)
			if err != nil {
				return err
			}
			b = delivery{
				topic: topic, reader: p.name, epoch: info.Epoch, seq: info.Sequence, handle: fmt.Sprintf("%x", info.PublicationHandle[:]),
				generation: info.NoWritersGenerationCount, fresh: info.ViewState == dcps.ViewNew,
				writer: v.Writer(), number: v.Number(), last: v.Last(),
				sent: info.SourceTimestamp.UnixNano(), received: info.ReceptionTimestamp.UnixNano(),
			}.append(b)
			samples++
			if v.Last() {
				lasts = true
				p.lastMu.Lock()
				p.last[strings.Clone(v.Writer())] = true
				p.lastMu.Unlock()
			}
		}
		loan.Close()
		c.record.write(b)
		p.count.Add(samples)
		if lasts {
			select {
			case p.news <- struct{}{}:
			default:
			}
		}
	}
}

// noteViews puts down when the process was excluded, and when it was back. A reader does it before it puts down what it
// took, so that an exclusion is in the record whenever something is that came after it.
func (c *child) noteViews() {
	c.views.Lock()
	defer c.views.Unlock()
	if c.p.StatusChanges()&dcps.ViewChangedStatusBit == 0 {
		return
	}
	for _, v := range c.p.ViewChangedStatus().Changes {
		switch v.Why {
		case dcps.ViewExcluded:
			c.record.note("X %d", v.At.UnixNano())
		case dcps.ViewRejoined:
			c.record.note("R %d", v.At.UnixNano())
		}
	}
}

// writeOn writes while the process writes.
func (c *child) writeOn(ctx context.Context, topic string, p *part) error {
	rest := time.NewTimer(0)
	defer rest.Stop()
	next := time.Now()
	for ctx.Err() == nil {
		if !c.writing.Load() {
			select {
			case <-*c.begin.Load():
			case <-ctx.Done():
				return nil
			}
			continue
		}
		burst := 1
		pace := time.Duration(c.pace.Load())
		switch {
		case pace == 0:
			next = time.Now().Add(time.Duration(20+rand.IntN(140)) * time.Millisecond)
			burst = 1 + rand.IntN(4)
		case pace < 0: // as fast as possible
			next = time.Now()
		default:
			next = next.Add(pace)
			if time.Since(next) > pace {
				next = time.Now()
			}
		}
		if d := time.Until(next); d > 0 && pace > 0 {
			if err := p.rest(d); err != nil {
				return err
			}
		} else if d > 0 {
			rest.Reset(d)
			select {
			case <-rest.C:
			case <-ctx.Done():
				return nil
			}
		}
		p.busy.Lock()
		for range burst {
			if !c.writing.Load() {
				break
			}
			c.write(ctx, p, false)
		}
		p.busy.Unlock()
		// Where a time is taken, nobody waits for what is not stored.
		if (topic == loggedTopic || pace == 0) && rand.IntN(4) == 0 && c.writing.Load() && p.number > 0 {
			if _, err := c.acknowledged(ctx, topic, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// rest waits for less than a pace. A time.Timer is late by up to a millisecond: the Go runtime waits for it in
// epoll_wait, for whole milliseconds. For a timer of the kernel it waits there as for a socket.
func (p *part) rest(d time.Duration) error {
	if p.timer == nil {
		fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
		if err != nil {
			return err
		}
		p.timer = os.NewFile(uintptr(fd), "pace")
	}
	raw, err := p.timer.SyscallConn()
	if err != nil {
		return err
	}
	once := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	if e := raw.Control(func(fd uintptr) { err = unix.TimerfdSettime(int(fd), 0, &once, nil) }); e != nil || err != nil {
		return errors.Join(e, err)
	}
	var times [8]byte // that it went off
	_, err = p.timer.Read(times[:])
	return err
}

// acknowledged waits until a writer's samples are acknowledged, and puts down that they are. That the process was cut off is
// no error, but nothing is known then: false.
func (c *child) acknowledged(ctx context.Context, topic string, p *part) (bool, error) {
	number, sent := p.number, p.sent
	err := p.w.WaitForAcknowledgments(ctx)
	switch {
	case err == nil:
		c.record.note("A %s %s %d %d %d", topic, p.name, number, sent, time.Now().UnixNano())
		return true, nil
	case errors.Is(err, dcps.ErrPreconditionNotMet): // excluded, or isolated
		c.record.trouble(p.name, err)
		return false, nil
	}
	return false, err
}

// write writes the next sample; one that fails was not sent, and its number is given to the next.
func (c *child) write(ctx context.Context, p *part, last bool) bool {
	n := Note{Writer: p.name, Number: p.number + 1, Last: last, Filling: make([]byte, c.filling.Load())}
	sent := time.Now().UnixNano()
	if err := p.w.Write(ctx, &n); err != nil {
		if ctx.Err() == nil {
			c.record.trouble(fmt.Sprintf("%s sample %d:", p.name, n.Number), err)
		}
		return false
	}
	p.number++
	p.sent = sent
	p.count.Add(1)
	return true
}

// settle waits until all writers and readers of a topic in the domain are matched, and no more.
func (c *child) settle(topic string, writers, readers int) error {
	t := c.topics[topic]
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, r := range t.readers {
		if err := until(ctx, r.r.StatusCondition(), dcps.SubscriptionMatchedStatusBit, writers, func() int { return int(r.r.SubscriptionMatchedStatus().CurrentCount) }); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	for _, w := range t.writers {
		if err := until(ctx, w.w.StatusCondition(), dcps.PublicationMatchedStatusBit, readers, func() int { return int(w.w.PublicationMatchedStatus().CurrentCount) }); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}

func until(ctx context.Context, c *dcps.StatusCondition, bit dcps.StatusMask, want int, count func() int) error {
	c.SetEnabledStatuses(bit)
	ws := dcps.NewWaitSet(c)
	for {
		have := count()
		if have == want {
			return nil
		}
		if _, err := ws.Wait(ctx); err != nil {
			return fmt.Errorf("matched with %d, want %d: %w", have, want, err)
		}
	}
}

// finish has each writer write a sample that is known to have reached all readers: if the process was cut off meanwhile, it
// writes one more.
func (c *child) finish(topic string) error {
	t := c.topics[topic]
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, w := range t.writers {
		for arrived := false; !arrived; {
			if err := c.p.WaitForDomain(ctx); err != nil { // it may be on its way back still, after an exclusion
				return fmt.Errorf("%s can not write: %w", w.name, err)
			}
			if c.write(ctx, w, true) {
				var err error
				if arrived, err = c.acknowledged(ctx, topic, w); err != nil {
					return fmt.Errorf("%s: %w", w.name, err)
				}
			}
		}
	}
	return nil
}

func (c *child) await(topic string, writers int) error {
	t := c.topics[topic]
	if t == nil {
		return nil
	}
	late := time.After(patience)
	for _, r := range t.readers {
		for {
			r.lastMu.Lock()
			have := len(r.last)
			r.lastMu.Unlock()
			if have >= writers {
				break
			}
			select {
			case <-r.news:
			case <-late:
				return fmt.Errorf("%s has the last sample of %d writers, want %d", r.name, have, writers)
			}
		}
	}
	return nil
}

func (c *child) fill(topic string, bytes int) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	w := c.topics[topic].writers[0]
	for {
		err := w.w.Write(ctx, &Note{Writer: w.name, Number: w.number + 1, Filling: make([]byte, bytes)})
		if errors.Is(err, dcps.ErrOutOfResources) {
			return strings.ReplaceAll(err.Error(), "\n", "; "), nil
		}
		if err != nil {
			return "", err
		}
		w.number++
	}
}

func (c *child) recall(topic string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	t, err := dcps.NewTopic[Note](c.p, topic)
	if err != nil {
		return "", err
	}
	q := readerQos(topic)
	q.Durability.Kind = qos.DurabilityPersistent
	r, err := dcps.NewDataReader(c.sub, t, dcps.WithReaderQos(q))
	if err != nil {
		return "", err
	}
	if err := r.WaitForHistoricalData(ctx); err != nil {
		return "", err
	}
	samples, err := r.Take(dcps.InOrder())
	if err != nil && !errors.Is(err, dcps.ErrNoData) {
		return "", err
	}
	var b strings.Builder
	defer samples.Close()
	for _, s := range samples.All() {
		if n := s.Data(); n != nil {
			fmt.Fprintf(&b, " %s %d", n.Writer, n.Number)
		}
	}
	return strings.TrimSpace(b.String()), nil
}

// forget begins a round.
func (c *child) forget() {
	for _, t := range c.topics {
		for _, r := range t.readers {
			r.lastMu.Lock()
			clear(r.last)
			r.lastMu.Unlock()
		}
	}
}
