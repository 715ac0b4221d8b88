package dcps

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/pprof"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/topic"
)

// operationTimeout bounds what the standard gives no duration for: announcing an endpoint, and leaving.
const operationTimeout = 30 * time.Second

// DomainParticipant is this process's membership of a domain, and the factory of everything else (DDS 1.4 §2.2.2.2).
// Its methods may be called by several goroutines at once, like those of all entities.
type DomainParticipant struct {
	id       DomainID
	settings Settings
	name     string
	host     string
	factory  *DomainParticipantFactory // nil if none keeps it
	join     participantConfig         // what Enable needs
	// announced is the endpoint that stands for the participant's USER_DATA; 0 for none. Guarded by domain.changing.
	announced derecho.EndpointID
	core      core // nil until the participant is enabled
	hub       *hub
	holds     holds
	timers    *timers

	failedCh chan struct{} // closed by fail
	failure  atomic.Pointer[error]
	outage   atomic.Pointer[error] // why nothing can be sent for now
	problems problems
	logErrs  sync.Map // derecho.SubgroupID -> error; stored by the polling goroutine
	logs     logSet
	// LIVELINESS: how many writers have to assert themselves, and when any writer last did.
	asserting atomic.Int32
	asserted  atomic.Int64
	ignored   atomic.Pointer[ignoreSet] // replaced as a whole under mu
	groups    atomic.Uint32             // Publishers and Subscribers that were made
	batches   sync.Map                  // derecho.SubgroupID -> *batch
	domain    domainEntity              // what WaitForDomain waits on, and the participant's status

	// What the polling goroutine looks up, changed under mu.
	writers  registry[*writer]
	readers  registry[*reader]
	entities entityList // for timers, and for what is told to all

	ending    ending          // of Close
	lifetime  context.Context // ends when Close begins
	die       context.CancelFunc
	directory directory
	// builtinMaking is held while the built-in readers are made; taken before all other locks but entity.changing.
	builtinMaking sync.Mutex
	// listening guards the listeners of the participant and of all that it contains. It is taken before all other locks but
	// entity.changing.
	listening sync.Mutex
	listener  bound[ParticipantListener]

	mu         sync.Mutex
	closed     bool
	qos        qos.DomainParticipant
	defaults   defaults
	lastID     derecho.EndpointID
	topics     map[string]*topicEntity
	filters    map[string]*contentFilter
	multis     map[string]*multiTopic
	toEnable   []func() error // of what it contains, what is to be enabled with it and is not yet
	publishers []*Publisher
	subs       []*Subscriber
}

// NewDomainParticipant joins a domain (DDS: create_participant). It returns once this process knows the writers and
// readers that exist. That may never be if the processes that are left of the domain are too few to let anybody in;
// then the listener hears of it (ViewIsolated), and when ctx ends the error tells, besides ErrTimeout, which they are
// and whom they wait for (derecho.ErrNoMajority).
func NewDomainParticipant(ctx context.Context, id DomainID, opts ...ParticipantOption) (*DomainParticipant, error) {
	return newParticipant(ctx, nil, id, opts)
}

func newParticipant(ctx context.Context, f *DomainParticipantFactory, id DomainID, opts []ParticipantOption) (*DomainParticipant, error) {
	const op = "NewDomainParticipant"
	where := "domain " + strconv.FormatUint(uint64(id), 10)
	if ctx == nil {
		return nil, isNil(op, where, "ctx")
	}
	c := participantConfig{qos: f.DefaultParticipantQos(), name: programName(), core: joinCore}
	if err := configure(op, &c, opts); err != nil {
		return nil, err
	}
	if err := invalid(op, where, c.qos.Validate()); err != nil {
		return nil, err
	}
	if err := checkUserData(op, where, c.qos); err != nil {
		return nil, err
	}
	settings, err := c.settings.withDefaults(os.Getenv)
	if err != nil {
		return nil, &Error{Op: op, Entity: where, Code: ErrBadParameter, Err: err}
	}
	c.settings, c.domain = settings, id
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	p := &DomainParticipant{
		id: id, qos: c.qos, settings: settings, name: c.name, host: host, factory: f,
		listener: bound[ParticipantListener]{c.listener, AnyStatus}, defaults: standardDefaults(),
		failedCh: make(chan struct{}), topics: make(map[string]*topicEntity),
	}
	p.lifetime, p.die = context.WithCancel(context.Background())
	p.hub = newHub(p)
	p.domain.init(p, "participant", &p.domain)
	p.domain.status = newStatusCondition(&p.domain.entity)
	p.domain.status.of = p
	p.directory.setup(p)
	p.enlist(&p.domain.entity)
	p.enlist(&p.directory.entity)
	if err := misspelt(os.Environ()); err != nil {
		p.problem(err)
	}
	p.timers = newTimers(p.entities.all)
	p.logs.init(p)
	c.openLog, c.logState = p.logs.open, p.logs.logState
	p.join = c
	p.listening.Lock()
	p.relisten()
	p.listening.Unlock()
	if f.enables() {
		if err := p.enable(ctx, op); err != nil {
			_ = p.Close() // what counts is the error before
			return nil, err
		}
	}
	f.keep(p)
	return p, nil
}

// enable joins the domain.
func (p *DomainParticipant) enable(ctx context.Context, op string) error {
	where := "domain " + strconv.FormatUint(uint64(p.id), 10)
	ctx, end := until(ctx, p.lifetime)
	defer end()
	if err := p.domain.changing.lockUntil(ctx); err != nil {
		if p.lifetime.Err() != nil {
			return p.closedError(op)
		}
		return failure(op, where, "another Enable, or a SetQos, of the participant has not come to its end", err)
	}
	defer p.domain.changing.Unlock()
	p.mu.Lock()
	err := p.closedOrFailed(op)
	p.mu.Unlock()
	if err != nil {
		return err
	}
	if p.enabled() {
		if p.announced == 0 {
			return p.tellUserData(ctx, op) // if a call before could not
		}
		return nil
	}
	c := p.join
	c.ctx = ctx
	core, err := c.core(p.hub, c)
	if err != nil {
		if p.lifetime.Err() != nil {
			return p.closedError(op)
		}
		if errors.Is(err, derecho.ErrTimeout) && errors.Is(err, derecho.ErrNoMajority) {
			return &Error{Op: op, Entity: where, Code: ErrTimeout, Detail: outsideDetail, Err: err}
		}
		if e := (*net.OpError)(nil); errors.As(err, &e) && e.Op == "listen" && e.Net == "tcp" {
			return &Error{Op: op, Entity: where, Code: ErrBadParameter,
				Detail: "Settings.Listen or DDS_LISTEN names an address that this host can not listen on", Err: err}
		}
		return failure(op, where, "", err)
	}
	p.core, p.holds.hold = core, core.Hold
	p.spawn("dcps timers", p.timers.run)
	p.directory.enabled.Store(true)
	p.domain.enabled.Store(true)
	p.mu.Lock()
	p.toEnable = p.parts()
	p.mu.Unlock()
	return p.tellUserData(ctx, op)
}

// tellUserData announces the participant's USER_DATA, if there is any or was. Called with the domain's changing held, and a
// context that ends with the participant.
func (p *DomainParticipant) tellUserData(ctx context.Context, op string) error {
	data := p.Qos().UserData.Value
	if p.announced == 0 && len(data) == 0 {
		return nil
	}
	info := userDataInfo(data)
	var err error
	if p.announced == 0 {
		p.mu.Lock()
		id := p.nextID()
		p.mu.Unlock()
		if err = p.introduce(ctx, derecho.Endpoint{ID: id, Info: info}); err == nil {
			p.announced = id
		}
	} else {
		ctx, cancel := context.WithTimeout(ctx, operationTimeout)
		defer cancel()
		err = p.core.ChangeEndpoint(ctx, p.announced, info)
	}
	switch {
	case err != nil && p.lifetime.Err() != nil:
		return p.closedError(op)
	case err != nil:
		return p.unagreed(op, "participant", "USER_DATA could not be announced; set it again", err)
	}
	return nil
}

func (p *DomainParticipant) absent() bool { return p == nil || p.hub == nil }

func (p *DomainParticipant) enabled() bool { return p.domain.enabled.Load() }

func noParticipant(op string) error { return missing(op, "the participant", "NewDomainParticipant") }

// ID is the domain's number (DDS: get_domain_id).
func (p *DomainParticipant) ID() DomainID {
	if p.absent() {
		return 0
	}
	return p.id
}

// Name is the name that peers see.
func (p *DomainParticipant) Name() string {
	if p.absent() {
		return ""
	}
	return p.name
}

// Handle names the participant in its domain (DDS: get_instance_handle). It stays the same when the domain went on
// without this process and it joined again; so do the handles of its writers and readers. It is HandleNil until the
// participant is enabled.
func (p *DomainParticipant) Handle() InstanceHandle {
	if p.absent() || !p.enabled() {
		return HandleNil
	}
	return topic.HandleOfEntity(uint64(origin(p.core.ID())), 0)
}

// Qos gives the participant's QoS (DDS: get_qos).
func (p *DomainParticipant) Qos() qos.DomainParticipant {
	if p.absent() {
		return qos.DomainParticipant{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.qos
}

// Settings gives the settings in force, defaults filled in.
func (p *DomainParticipant) Settings() Settings {
	if p.absent() {
		return Settings{}
	}
	return p.settings
}

// Done gives a channel that is closed when the domain can not go on, and Err tells why.
func (p *DomainParticipant) Done() <-chan struct{} {
	if p.absent() {
		return closedChan
	}
	return p.failedCh
}

// Err tells why the domain can not go on, or else why nothing can be sent for now, or else what the latest problem was
// that no entity has a status for, such as a malformed announcement of a peer, or a variable of the environment that is
// named like one of ours but for a letter. It is nil as long as all is well.
//
// Nothing can be sent for now (ErrPreconditionNotMet) while this process hears too few of the others to go on without
// them (derecho.ErrNoMajority), and while it joins again after the others went on without it (derecho.ErrExcluded).
// Both end by themselves; WaitForDomain waits for it. While Enable waits because the processes that are left of the
// domain hear too few of the others to let anybody in, Err tells that, too (derecho.ErrNoMajority), and names them.
func (p *DomainParticipant) Err() error {
	if p.absent() {
		return noParticipant("Err")
	}
	if err := p.failed("domain", "participant"); err != nil {
		return err
	}
	if err := p.interrupted("domain", "participant"); err != nil {
		return err
	}
	if err := p.problems.latest.Load(); err != nil {
		return *err
	}
	return nil
}

// WaitForDomain waits until samples can be sent: see Err. ViewChangedStatus tells of it then. It returns at once if they
// can, and with an error if the domain can not go on, the participant is closed, or ctx ends (extension).
func (p *DomainParticipant) WaitForDomain(ctx context.Context) error {
	const op = "WaitForDomain"
	if p.absent() {
		return noParticipant(op)
	}
	// Operations fail with an outage of the core a moment before the hub is told of it, and not any more a moment before
	// the status tells of the end.
	return p.domain.await(ctx, op, func() bool {
		return p.outage.Load() == nil && !p.domain.view.Away && (!p.enabled() || p.core.Outage() == nil)
	})
}

// adopt adds a Publisher or Subscriber to the participant.
func (p *DomainParticipant) adopt(op string, g *groupEntity, add func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.closedOrFailed(op); err != nil {
		return err
	}
	g.enabled.Store(p.enabled() && p.qos.EntityFactory.AutoenableCreatedEntities)
	add()
	p.enlist(&g.entity)
	return nil
}

// spawn starts a goroutine of the participant's.
func (p *DomainParticipant) spawn(label string, run func()) {
	go pprof.Do(context.Background(), pprof.Labels("dds", label), func(context.Context) { run() })
}

// fail tells every entity that the domain can not go on. The polling goroutine calls it.
func (p *DomainParticipant) fail(err error) {
	if !p.failure.CompareAndSwap(nil, &err) {
		return
	}
	close(p.failedCh)
	for e := range p.entities.all() {
		it := &item{kind: itemFailed, ctl: &control{err: err}}
		e.post(it, it)
	}
}

// failed gives the error of an operation after fail, or nil.
func (p *DomainParticipant) failed(op, entity string) error {
	if err := p.failure.Load(); err != nil {
		return domainFailed(op, entity, *err)
	}
	return nil
}

// logFailure tells which process does not store the samples of a subgroup any more, if one does not.
func (p *DomainParticipant) logFailure(sg derecho.SubgroupID) error {
	if err, ok := p.logErrs.Load(sg); ok {
		return err.(error)
	}
	return nil
}

// handleOfEndpoint is what names a writer or reader of the participant in the domain.
func (p *DomainParticipant) handleOfEndpoint(id derecho.EndpointID) InstanceHandle {
	return topic.HandleOfEntity(uint64(origin(p.core.ID())), uint32(id))
}

// nextID names a new endpoint. Called with mu held.
func (p *DomainParticipant) nextID() derecho.EndpointID {
	p.lastID++
	return p.lastID
}

// enlist makes an entity known to the timers and to fail. Called with mu held.
func (p *DomainParticipant) enlist(e *entity) {
	p.entities.add(e)
	if err := p.failure.Load(); err != nil {
		it := &item{kind: itemFailed, ctl: &control{err: *err}}
		e.post(it, it)
	}
}

// delist is the inverse of enlist.
func (p *DomainParticipant) delist(e *entity) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.entities.remove(e)
}

// closedOrFailed tells why nothing can be made any more, if so. Called with mu held.
func (p *DomainParticipant) closedOrFailed(op string) error {
	if p.closed {
		return p.closedError(op)
	}
	return p.failed(op, "participant")
}

func (p *DomainParticipant) closedError(op string) error { return p.domain.deleted(op) }

func (p *DomainParticipant) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// usable tells why nothing of the participant can be announced, if so. Called with mu held.
func (p *DomainParticipant) usable(op string) error {
	if err := p.closedOrFailed(op); err != nil {
		return err
	}
	if !p.enabled() {
		return p.domain.notEnabled(op)
	}
	return nil
}

// Close closes everything that was made by the participant and leaves the domain (DDS: delete_contained_entities and
// delete_participant). Closing an entity again has no effect: it waits for the first Close and gives its result.
func (p *DomainParticipant) Close() error {
	if p.absent() {
		return noParticipant("Close")
	}
	return p.ending.do(p.leave)
}

func (p *DomainParticipant) leave() error {
	p.die() // an Enable or SetQos that waits for the domain gives up
	p.mu.Lock()
	p.closed = true
	pubs, subs, topics := slices.Clone(p.publishers), slices.Clone(p.subs), p.topics
	p.topics = nil
	p.mu.Unlock()
	close(p.logs.over) // first: who waits for a disk keeps what it makes from being closed
	for _, pub := range pubs {
		pub.endLoans() // nothing can be enabled any more that would lend
	}
	var errs []error
	for _, pub := range pubs {
		errs = append(errs, pub.Close())
	}
	for _, sub := range subs {
		errs = append(errs, sub.Close())
	}
	for _, t := range topics {
		t.close()
	}
	p.domain.changing.Lock() // an Enable that is under way comes to its end first
	defer p.domain.changing.Unlock()
	p.domain.close()
	p.directory.close()
	if p.enabled() {
		ctx, cancel := p.parting()
		defer cancel()
		if err := p.core.Leave(ctx); err != nil && p.failure.Load() == nil && !errors.Is(err, derecho.ErrClosed) {
			errs = append(errs, p.unagreed("Close", "participant", leftDetail, err))
		}
	}
	close(p.timers.stop)
	p.factory.forget(p)
	errs = append(errs, p.logs.close())
	return errors.Join(errs...)
}

// domainEntity is the participant as something to wait on.
type domainEntity struct {
	entity
	status *StatusCondition

	// Guarded by mu.
	view ViewChangedStatus
	call func(*DomainParticipant, ViewChangedStatus) // the listener's
}

func (d *domainEntity) apply(it *item) {
	switch it.kind {
	case itemFailed:
		d.failure = it.ctl.err
	case itemView:
		d.view.add(it.ctl.view)
		if len(it.ctl.view.changes) > 0 {
			d.changed |= ViewChangedStatusBit
		}
	}
}

func (d *domainEntity) nextTick() int64 { return 0 }
func (d *domainEntity) tick(int64)      {}

// interruptedTimeout is how long closing waits for a group that can agree on nothing for now.
const interruptedTimeout = 200 * time.Millisecond

// parting bounds how long closing waits for the group.
func (p *DomainParticipant) parting() (context.Context, context.CancelFunc) {
	timeout := operationTimeout
	if p.outage.Load() != nil {
		timeout = interruptedTimeout
	}
	return context.WithTimeout(context.Background(), timeout)
}

// introduce announces an endpoint. One that is given up is withdrawn, in case it was announced all the same.
func (p *DomainParticipant) introduce(ctx context.Context, ep derecho.Endpoint) error {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	err := p.core.AddEndpoint(ctx, ep)
	if errors.Is(err, derecho.ErrCopied) {
		for _, sg := range append([]derecho.Subgroup{ep.Writes}, ep.Reads...) {
			if sg.Mode == derecho.Logged {
				err = fmt.Errorf("%w; the directory of this process is %s", err, p.logDir(sg.ID))
				break
			}
		}
	}
	if errors.Is(err, derecho.ErrTimeout) {
		soon, cancel := context.WithTimeout(context.Background(), interruptedTimeout)
		defer cancel()
		_ = p.core.RemoveEndpoint(soon, ep.ID) // what counts is the error before
	}
	return err
}

const (
	leftDetail      = "it is closed, and the others take this process for one that has failed"
	withdrawnDetail = "it is closed here, and the others learn of it when they hear this process"
)

// unagreed is failure of what all have to agree on: of what has not come to its end in time during an outage, it tells that.
func (p *DomainParticipant) unagreed(op, entity, detail string, err error) error {
	outage := p.core.Outage()
	if told := p.outage.Load(); told != nil {
		outage = *told
	}
	if outage == nil || !errors.Is(err, derecho.ErrTimeout) {
		return failure(op, entity, detail, err)
	}
	return &Error{Op: op, Entity: entity, Code: ErrTimeout, Err: fmt.Errorf("%w; %w", err, outage),
		Detail: outageDetail(outage, detail)}
}

// invalid wraps what Validate found.
func invalid(op, entity string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Op: op, Entity: entity, Code: ErrInconsistentPolicy, Err: err}
}

func unsupported(op, entity string, policy qos.PolicyID, value string) error {
	return &Error{Op: op, Entity: entity, Code: ErrUnsupported,
		Detail: policy.String() + " " + value + " has no effect in this version, so it is refused"}
}

// retire makes the polling goroutine forget a writer or reader.
func (p *DomainParticipant) retire(id derecho.EndpointID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writers.remove(id)
	p.readers.remove(id)
}
