package roles

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/omg-dds-go/dds/dcps"
	"github.com/omg-dds-go/dds/examples/avionics/internal/control"
	"github.com/omg-dds-go/dds/examples/avionics/internal/ledger"
	"github.com/omg-dds-go/dds/qos"
)

// The topics.
const (
	AirData       = "AirData"
	Position      = "Position"
	TrafficReport = "TrafficReport"
	Advisory      = "Advisory"
	FlightLog     = "FlightLog"
)

// Topics lists the topics in the order in which tables show them.
var Topics = []string{AirData, Position, TrafficReport, Advisory, FlightLog}

// role is what a process does between Ready and Leave.
type role interface {
	// setup makes the entities; ctx is that of the process.
	setup(ctx context.Context) error
	// start is called once everybody is ready; it must not block.
	start(ctx context.Context)
	// command takes what the conductor says besides Start and Leave; it must not block.
	command(ctx context.Context, c control.Command)
}

// process is what all roles have.
type process struct {
	cfg  control.Config
	out  *control.Writer
	p    *dcps.DomainParticipant
	pub  *dcps.Publisher
	sub  *dcps.Subscriber
	qos  *qos.Provider
	fail func(error) // ends the process; may be called by any goroutine

	publications  []publication
	subscriptions []*subscription

	telling sync.Mutex // held from when news are gathered until they are sent
	told    control.Told

	backMu sync.Mutex
	back   chan struct{} // closed when the process is there again after it was away, and then another one
}

var (
	errOrphan = errors.New("the conductor is gone")
	errEnded  = errors.New("the process has ended")
)

// Run is a process: it reads its Config and Commands from in, writes Events to out, and returns the exit status.
func Run(in io.Reader, out io.Writer) int {
	events := control.NewWriter(out)
	if err := run(control.NewReader(in), events); err != nil {
		return 1
	}
	return 0
}

func run(in *control.Reader, out *control.Writer) error {
	pr := &process{out: out, back: make(chan struct{})}
	if err := in.Next(&pr.cfg); err != nil {
		return fmt.Errorf("reading configuration: %w", err) // there is no conductor to tell
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(errEnded)
	pr.fail = cancel

	commands := make(chan control.Command)
	go func() {
		for {
			var c control.Command
			if err := in.Next(&c); err != nil {
				if err == io.EOF {
					err = errOrphan
				}
				cancel(err)
				return
			}
			select {
			case commands <- c:
			case <-ctx.Done():
				return
			}
		}
	}()
	return pr.end(pr.play(ctx, commands))
}

// end leaves the domain. The conductor hears of a failure at once: to leave a domain in which something is wrong can take
// its time, for which nobody waits.
func (pr *process) end(err error) error {
	if err == nil {
		if err = pr.leave(); err != nil {
			pr.tellFailure(err)
		}
		return err
	}
	if !errors.Is(err, errOrphan) {
		pr.tellFailure(err)
	}
	left := make(chan struct{})
	go func() {
		defer close(left)
		_ = pr.leave() // err is what went wrong
	}()
	select {
	case <-left:
	case <-time.After(leaveLimit):
	}
	return err
}

// leaveLimit bounds the leave of a process that failed, or whose conductor is gone.
const leaveLimit = 2 * time.Second

func (pr *process) tellFailure(err error) {
	_ = pr.out.Send(control.Event{Kind: control.Failed, Text: err.Error()}) // nobody may listen any more
}

// play makes the role's entities, waits until they are matched, and obeys until told to leave.
func (pr *process) play(ctx context.Context, commands <-chan control.Command) error {
	r, err := newRole(pr)
	if err != nil {
		return err
	}
	if err := pr.join(ctx); err != nil {
		return err
	}
	go func() {
		select {
		case <-pr.p.Done():
			pr.fail(pr.p.Err())
		case <-ctx.Done():
		}
	}()
	if err := r.setup(ctx); err != nil {
		return err
	}
	for _, s := range pr.subscriptions {
		go s.run(ctx)
	}
	go pr.beat(ctx)
	go pr.tellAlways(ctx)
	for _, p := range pr.publications {
		go p.acknowledged(ctx)
	}
	if err := pr.match(ctx); err != nil {
		return cause(ctx, err)
	}
	if err := pr.out.Send(control.Event{Kind: control.Ready}); err != nil {
		return err
	}
	for {
		select {
		case c := <-commands:
			switch c.Kind {
			case control.Start:
				r.start(ctx)
			case control.Leave:
				return nil
			default:
				r.command(ctx, c)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// beat tells the conductor that the process is alive, and how far it got, until ctx ends. It waits for nothing else in the
// process: one that waits for another is alive.
func (pr *process) beat(ctx context.Context) {
	tick := time.NewTicker(control.Beat)
	defer tick.Stop()
	for {
		reached := make(map[string]uint64)
		for _, s := range pr.subscriptions {
			if s.reliable() {
				reached[s.topic] = s.greatest()
			}
		}
		pr.send(control.Event{Kind: control.Alive, Reached: reached})
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// tellEvery is how far behind the conductor's knowledge of this process may be.
const tellEvery = 20 * time.Millisecond

// tellAlways tells the conductor what the process does, until ctx ends.
func (pr *process) tellAlways(ctx context.Context) {
	tick := time.NewTicker(tellEvery)
	defer tick.Stop()
	var back <-chan time.Time
	at := presence{last: time.Now()}
	for {
		select {
		case <-tick.C:
		case <-back:
			back = nil
			for again := true; again; again = at.look(time.Now(), pr.wasExcluded()) {
				if err := pr.settle(ctx); err != nil {
					pr.fail(cause(ctx, err))
					return
				}
			}
			pr.tell()
			pr.send(control.Event{Kind: control.Tells, Told: &control.Told{Back: true, Stayed: !at.returns()}})
			pr.isBack()
			pr.note("was away and has joined again")
		case <-ctx.Done():
			return
		}
		pr.telling.Lock()
		news := pr.news()
		// Behind what was taken: of what the process takes once it is back nothing is told before it is told to be away.
		if at.look(time.Now(), pr.wasExcluded()) {
			pr.send(control.Event{Kind: control.Tells, Told: &control.Told{Away: true}})
			back = time.After(settling)
		}
		pr.sendNews(news)
		pr.telling.Unlock()
	}
}

// presence is whether a process may have missed something. It is away when it stood still for so long that the others
// may go on without it, and when they have, why ever: they too stand still, on a busy machine.
type presence struct {
	last     time.Time // when it looked last
	excluded bool      // while it is away: the others have gone on without it
}

// stillness is how long a process stands still before it takes itself for away: less than the lease. Within settling it has
// heard whether the others went on without it, or is joining again.
const (
	stillness = 250 * time.Millisecond
	settling  = time.Second
)

// look tells whether the process was away since it was called last. excluded: the others have gone on without it since then.
func (p *presence) look(now time.Time, excluded bool) (away bool) {
	away = excluded || now.Sub(p.last) > stillness // wherever in the meantime it stood still
	p.last = now
	p.excluded = p.excluded || excluded
	return away
}

// returns ends that it is away, and tells whether the others had gone on without it.
func (p *presence) returns() (excluded bool) {
	excluded, p.excluded = p.excluded, false
	return excluded
}

// wasExcluded tells whether the others have gone on without the process since it was asked last.
func (pr *process) wasExcluded() bool {
	return slices.ContainsFunc(pr.p.ViewChangedStatus().Changes, func(c dcps.ViewChange) bool { return c.Why == dcps.ViewExcluded })
}

// nextBack gives a channel that is closed when the process is there again after it was away.
func (pr *process) nextBack() <-chan struct{} {
	pr.backMu.Lock()
	defer pr.backMu.Unlock()
	return pr.back
}

func (pr *process) isBack() {
	pr.backMu.Lock()
	defer pr.backMu.Unlock()
	close(pr.back)
	pr.back = make(chan struct{})
}

// settle waits until a process that was away has joined again, if it had to, and has its history.
func (pr *process) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pr.cfg.Timeout)
	defer cancel()
	if err := pr.p.WaitForDomain(ctx); err != nil {
		return err
	}
	for _, s := range pr.subscriptions {
		if err := s.reader.WaitForHistoricalData(ctx); err != nil {
			return fmt.Errorf("waiting for the history of %s: %w", s.topic, err)
		}
		if err := s.takeAll(); err != nil {
			return err
		}
	}
	return nil
}

// tell tells what is new, if anything is.
func (pr *process) tell() {
	pr.telling.Lock()
	defer pr.telling.Unlock()
	pr.sendNews(pr.news())
}

// news gathers what is new since it was called last. Called with telling held, until it is sent.
func (pr *process) news() control.Told {
	first := pr.told.Reached == nil
	if first {
		pr.told = control.Told{Published: make(map[string]ledger.Progress), Reached: make(map[string]control.Reached)}
	}
	news := control.Told{Delivered: make(map[string][]byte), Published: make(map[string]ledger.Progress), Reached: make(map[string]control.Reached)}
	for _, s := range pr.subscriptions {
		entries, reached := s.tell()
		if s.reliable() && (first || len(entries) > 0) {
			news.Delivered[s.topic] = entries
		}
		if reached != pr.told.Reached[s.topic] {
			news.Reached[s.topic], pr.told.Reached[s.topic] = reached, reached
		}
	}
	for _, p := range pr.publications {
		if progress := p.progress(); p.reliable() && progress != pr.told.Published[p.topicName()] {
			news.Published[p.topicName()], pr.told.Published[p.topicName()] = progress, progress
		}
	}
	return news
}

func (pr *process) sendNews(news control.Told) {
	if len(news.Delivered)+len(news.Reached)+len(news.Published) > 0 {
		pr.send(control.Event{Kind: control.Tells, Told: &news})
	}
}

// cause prefers why ctx ended to what that did to an operation.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func newRole(pr *process) (role, error) {
	switch name := pr.cfg.Role; {
	case name == "adc1":
		return &airDataComputer{process: pr, number: 1, profile: "Avionics::AirData.Primary"}, nil
	case name == "adc2":
		return &airDataComputer{process: pr, number: 2, profile: "Avionics::AirData.Standby"}, nil
	case name == "nav":
		return &navigation{process: pr}, nil
	case name == "traffic":
		return &surveillance{process: pr}, nil
	case name == "fms":
		return &flightManagement{process: pr}, nil
	case strings.HasPrefix(name, "display"):
		return &display{process: pr}, nil
	}
	return nil, fmt.Errorf("there is no role %q", pr.cfg.Role)
}

// logSegment is the size of a file of the log: a flight of some hours has a few.
const logSegment = 4 << 20

// join becomes a participant of the domain.
func (pr *process) join(ctx context.Context) error {
	var err error
	if pr.qos, err = qos.Load(pr.cfg.QoSName, strings.NewReader(pr.cfg.QoS)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, pr.cfg.Timeout)
	defer cancel()
	pr.p, err = dcps.NewDomainParticipant(ctx, dcps.DomainID(pr.cfg.Domain),
		dcps.WithName(pr.cfg.Role),
		dcps.WithSettings(dcps.Settings{Transport: pr.cfg.Transport, Dir: pr.cfg.Dir, LogSegmentBytes: logSegment, LogTrimBytes: -1}), // all of a flight is wanted
		dcps.WithParticipantListener(pr.complaints()))
	if err != nil {
		return err
	}
	pq, err := pr.qos.Publisher("Avionics::Ordered")
	if err != nil {
		return err
	}
	sq, err := pr.qos.Subscriber("Avionics::Ordered")
	if err != nil {
		return err
	}
	if pr.pub, err = pr.p.NewPublisher(dcps.WithPublisherQos(pq)); err != nil {
		return err
	}
	pr.sub, err = pr.p.NewSubscriber(dcps.WithSubscriberQos(sq))
	return err
}

// complaints ends the process when it finds a peer with which it can not talk: waiting for it to match would be in vain.
func (pr *process) complaints() dcps.ParticipantListener {
	incompatible := func(kind, topicName string, s dcps.IncompatibleQosStatus) {
		for _, d := range s.Details {
			pr.fail(fmt.Errorf("the QoS of its %s of %s is incompatible with that of a peer: %v", kind, topicName, d))
		}
	}
	var l dcps.ParticipantListener
	l.OnRequestedIncompatibleQos = func(r dcps.AnyDataReader, s dcps.RequestedIncompatibleQosStatus) {
		incompatible("reader", r.TopicName(), s)
	}
	l.OnOfferedIncompatibleQos = func(w dcps.AnyDataWriter, s dcps.OfferedIncompatibleQosStatus) {
		incompatible("writer", w.TopicName(), s)
	}
	l.OnInconsistentTopic = func(topicName string, s dcps.InconsistentTopicStatus) {
		pr.fail(fmt.Errorf("topic %s: %s", topicName, s.Explanation))
	}
	return l
}

// match waits until every writer and reader has as many peers as the conductor said.
func (pr *process) match(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pr.cfg.Timeout)
	defer cancel()
	for _, p := range pr.publications {
		if err := p.waitForMatch(ctx, pr.cfg.Readers[p.topicName()]); err != nil {
			return fmt.Errorf("waiting for %d readers of %s: %w", pr.cfg.Readers[p.topicName()], p.topicName(), err)
		}
	}
	for _, s := range pr.subscriptions {
		if err := s.reader.WaitForMatch(ctx, pr.cfg.Writers[s.topic]); err != nil {
			return fmt.Errorf("waiting for %d writers of %s: %w", pr.cfg.Writers[s.topic], s.topic, err)
		}
		if pr.cfg.Late {
			if err := s.endHistory(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// leave closes what there is. A process that could not leave in time is ended by its conductor.
func (pr *process) leave() error {
	if pr.p == nil {
		return nil
	}
	err := pr.p.Close()
	if errors.Is(err, dcps.ErrPreconditionNotMet) { // the others have gone on without it: of them it need not take leave
		return nil
	}
	return err
}

// note tells the conductor something worth a line.
func (pr *process) note(format string, args ...any) {
	if err := pr.out.Send(control.Event{Kind: control.Note, Text: fmt.Sprintf(format, args...)}); err != nil {
		pr.fail(err)
	}
}

func (pr *process) send(e control.Event) {
	if err := pr.out.Send(e); err != nil {
		pr.fail(err)
	}
}

// report sums up what the process counted.
func (pr *process) report(input *control.Input) (*control.Report, error) {
	r := &control.Report{Role: pr.cfg.Role, PID: os.Getpid(), Input: input}
	for _, p := range pr.publications {
		r.Publications = append(r.Publications, p.report())
	}
	for _, s := range pr.subscriptions {
		sub, err := s.report()
		if err != nil {
			return nil, err
		}
		r.Subscriptions = append(r.Subscriptions, sub)
		if s.logDir != "" {
			r.LogDir = s.logDir
		}
	}
	return r, nil
}

// published gives the counts that Done tells.
func (pr *process) published() map[string]uint64 {
	counts := make(map[string]uint64)
	for _, p := range pr.publications {
		counts[p.topicName()] = p.report().Published
	}
	return counts
}

// acknowledge waits until all that the process published was taken by all who read it reliably, and is on disk where
// it is logged.
func (pr *process) acknowledge(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pr.cfg.Timeout)
	defer cancel()
	for _, p := range pr.publications {
		err := p.waitForAcks(ctx)
		for errors.Is(err, dcps.ErrPreconditionNotMet) && pr.isThereAgain(ctx) {
			err = p.waitForAcks(ctx)
		}
		if err != nil {
			return fmt.Errorf("waiting for the acknowledgement of %d samples of %s: %w", p.report().Published, p.topicName(), err)
		}
	}
	return nil
}

// isThereAgain waits until the process can send again, after the conductor was told that it was away: what was not
// acknowledged before may be lost, which is told once and by nobody again. It is false if that is not to be.
func (pr *process) isThereAgain(ctx context.Context) bool {
	if pr.p.WaitForDomain(ctx) != nil {
		return false
	}
	select {
	case <-time.After(5 * tellEvery):
		return true
	case <-ctx.Done():
		return false
	}
}

// finish waits until the subscriptions have all that was published, and reports.
func (pr *process) finish(ctx context.Context, c control.Command, input *control.Input) {
	back := pr.nextBack()
	for _, s := range pr.subscriptions {
		pr.expect(ctx, s, c.Expect[s.topic], back)
	}
	r, err := pr.report(input)
	if err != nil {
		pr.fail(err)
		return
	}
	pr.tell()
	pr.send(control.Event{Kind: control.Reported, Report: r})
}

// expect waits for the last of the samples, which has that number. What did not come in time is missing in the report: the
// verdict tells. When the process is back after it was away, it has what it will get of those that were published before.
func (pr *process) expect(ctx context.Context, s *subscription, last uint64, back <-chan struct{}) {
	if err := s.takeAll(); err != nil { // also of a topic of which nothing is expected
		pr.fail(fmt.Errorf("taking %s: %w", s.topic, err))
		return
	}
	if !s.await(ctx, last, pr.cfg.Timeout, back) && ctx.Err() == nil {
		pr.note("there is a sample %d of %s, and after %v none came behind number %d", last, s.topic, pr.cfg.Timeout, s.greatest())
	}
}

// pacer turns times of the input into moments of this run.
type pacer struct {
	began time.Time
	speed float64 // 0: do not wait
	timer *time.Timer
}

func newPacer(speed float64) *pacer {
	t := time.NewTimer(time.Hour)
	return &pacer{began: time.Now(), speed: speed, timer: t}
}

// wait returns when it is time for what happens at that offset of the input; false if told to stop before.
func (p *pacer) wait(ctx context.Context, stop <-chan struct{}, offset time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-stop:
		return false
	default:
	}
	if p.speed == 0 {
		return true
	}
	due := time.Until(p.began.Add(time.Duration(float64(offset) / p.speed)))
	if due <= 0 {
		return true
	}
	p.timer.Reset(due)
	select {
	case <-p.timer.C:
		return true
	case <-ctx.Done():
	case <-stop:
	}
	return false
}

// resumeAt is the offset of the input at which a source begins: later than at its beginning if it was started when the run had
// lasted for some time. As fast as it goes, there is no telling.
func (pr *process) resumeAt() time.Duration {
	return time.Duration(float64(pr.cfg.Elapsed) * pr.cfg.Speed)
}
