package dcps

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/storage"
	"github.com/omg-dds-go/dds/topic"
)

// logSet is a participant's logs on disk, one for each subgroup that carries PERSISTENT topics of this process. A
// process without a PERSISTENT writer or reader stores nothing, even where it receives what others store.
//
// Beside each log is a file of its epochs (logepochs.go) and one of the writers that appear in it, with what they
// announced: a process that starts again knows by it which readers are entitled to their samples.
type logSet struct {
	p         *DomainParticipant
	announced sync.Map // endpointKey -> []byte; stored by the polling goroutine, and kept until the log needs it no more (gone)
	// renewed is how often a writer has announced itself anew. It rises behind announced, and is loaded before that:
	// who looks at what was announced as of a number finds all that was until then.
	renewed   atomic.Uint64
	recovered sync.Map // channelKey -> recovered: what no reader has seen yet

	over chan struct{} // closed when the participant is about to be: nobody waits for a disk any more

	mu        sync.Mutex // held for a look at a map only
	byID      map[derecho.SubgroupID]*groupLog
	topics    map[derecho.ChannelID]bool // whose history was recovered already
	beginning map[string]*beginning      // of topics
}

// recovered is a history that counts if nobody else knows more.
type recovered struct {
	*store
	found bool // on disk; else it is what this process knew before it joined again, or withdrew the topic
}

// beginning is a topic whose log is being opened, and its history recovered. A disk may not answer to that: it is done
// on a goroutine of its own, and whoever asks for it later waits for the same.
type beginning struct {
	read func() uint64 // how many records were read; it grows while the disk answers
	done chan struct{} // closed when it was
	err  error
}

func (s *logSet) init(p *DomainParticipant) {
	s.p, s.over = p, make(chan struct{})
	s.byID = make(map[derecho.SubgroupID]*groupLog)
	s.topics = make(map[derecho.ChannelID]bool)
	s.beginning = make(map[string]*beginning)
}

// open gives the core the log of a subgroup (derecho.Config.OpenLog), which closes it. It takes messages from the
// start, and stores them from the moment begin finds it a place. A process that joins again after the domain went on
// without it gets its log anew, which is another one.
func (s *logSet) open(sg derecho.SubgroupID) (derecho.Log, error) {
	for {
		l := s.free(sg)
		if dir, owner := l.place(); dir != "" {
			if err := l.start(dir, owner); err != nil {
				return nil, err
			}
		}
		if l.give() {
			return l, nil
		}
	}
}

// log is the log of a subgroup, or the latest one if there were several.
func (s *logSet) log(sg derecho.SubgroupID) *groupLog {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.byID[sg]
	if l == nil {
		l = &groupLog{set: s, sg: sg, files: new(sync.RWMutex)}
		l.trim.init(s.p.settings.LogTrimBytes)
		s.byID[sg] = l
	}
	return l
}

// free is a log of a subgroup that the core does not have yet.
func (s *logSet) free(sg derecho.SubgroupID) *groupLog {
	before := s.log(sg)
	if before.isFree() {
		return before
	}
	return s.next(before)
}

// next is the log of a subgroup after another one.
func (s *logSet) next(before *groupLog) *groupLog {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sg := before.sg; s.byID[sg] == before {
		l := &groupLog{set: s, sg: sg, files: before.files}
		l.trim.init(s.p.settings.LogTrimBytes)
		l.dir, l.owner = before.place()
		s.byID[sg] = l
	}
	return s.byID[before.sg]
}

// start gives the log of a subgroup its place on disk: the one that the core has, or, if that has closed it, the one
// that it gets next.
func (s *logSet) start(sg derecho.SubgroupID, dir string) error {
	l := s.log(sg)
	for {
		err := l.start(dir, s.p.name)
		if !errors.Is(err, errEnded) {
			return err
		}
		select {
		case <-s.over:
			return err
		default:
			l = s.next(l)
		}
	}
}

// begin makes sure that a PERSISTENT topic is stored, and recovers what an earlier run has stored of it. It waits as long as
// more of that is read, and for a disk that does not answer up to twice operationTimeout; not while the participant is closed.
func (s *logSet) begin(op, entity string, t *topicEntity) error {
	fail := func(err error) error {
		return &Error{Op: op, Entity: entity, Code: ErrPreconditionNotMet,
			Detail: "the log that DURABILITY PERSISTENT needs can not be used", Err: err}
	}
	if s.p.settings.Dir == "" {
		return &Error{Op: op, Entity: entity, Code: ErrPreconditionNotMet,
			Detail: "DURABILITY PERSISTENT needs a place for its log: set Settings.Dir or DDS_DIR to a directory"}
	}
	b := s.beginOf(t)
	if b.wait(s.over) {
		if b.err != nil {
			return fail(b.err)
		}
		return nil
	}
	select {
	case <-s.over:
		return &Error{Op: op, Entity: "participant", Code: ErrAlreadyDeleted, Detail: "it was closed"}
	default:
		return &Error{Op: op, Entity: entity, Code: ErrOutOfResources, Err: derecho.ErrLog,
			Detail: fmt.Sprintf("the disk of %s has not answered for %v", t.logDir(), operationTimeout)}
	}
}

// wait waits until it was done, as long as the disk answers and over is open; it reports whether it was.
func (b *beginning) wait(over <-chan struct{}) bool {
	late := time.NewTicker(operationTimeout)
	defer late.Stop()
	for before := b.read(); ; {
		select {
		case <-b.done:
			return true
		case <-over:
			return false
		case <-late.C:
			now := b.read()
			if now == before {
				select {
				case <-b.done:
					return true
				default:
					return false
				}
			}
			before = now
		}
	}
}

// beginAgain is begin for what is about to be announced: it may have been made long ago, and all that kept the topic
// then have left since. What keeps the topic in memory only needs it, too, if the log is open, for the sake of another
// topic or of what was there before: it is announced with what the log holds, so that this is what it has to have.
func (s *logSet) beginAgain(op, entity string, t *topicEntity, persistent, keeps bool) error {
	if persistent || keeps && s.log(derecho.SubgroupID(s.p.hub.placement.Subgroup(topic.Logged, t.name))).disk.Load() != nil {
		return s.begin(op, entity, t)
	}
	return nil
}

// beginOf begins with a topic, unless that is under way.
func (s *logSet) beginOf(t *topicEntity) *beginning {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.beginning[t.name]
	if b == nil {
		sg := derecho.SubgroupID(s.p.hub.placement.Subgroup(topic.Logged, t.name))
		b = &beginning{read: func() uint64 { return s.log(sg).read.Load() }, done: make(chan struct{})}
		s.beginning[t.name] = b
		s.p.spawn("dcps log", func() {
			b.err = s.take(t)
			s.mu.Lock()
			delete(s.beginning, t.name)
			s.mu.Unlock()
			close(b.done)
		})
	}
	return b
}

// take opens the log of a topic, and recovers its history.
func (s *logSet) take(t *topicEntity) error {
	sg := derecho.SubgroupID(s.p.hub.placement.Subgroup(topic.Logged, t.name))
	dir := t.logDir()
	if err := s.start(sg, dir); err != nil {
		return err
	}
	ch := derecho.ChannelID(topic.ChannelOf(t.name))
	s.mu.Lock()
	known := s.topics[ch]
	s.mu.Unlock()
	if known {
		return nil
	}
	l := s.log(sg)
	l.files.RLock()
	past, err := recoverHistory(dir, ch, t.localType(), &l.read)
	l.files.RUnlock()
	if err != nil {
		return err
	}
	if len(past.instances) > 0 {
		s.recovered.Store(channelKey{sg, ch}, recovered{past, true})
	}
	s.mu.Lock()
	s.topics[ch] = true
	s.mu.Unlock()
	return nil
}

// unfind drops what was found on disk of a channel. What this process knows is as much as the log holds, or more.
func (s *logSet) unfind(key channelKey) {
	if past, is := s.recovered.Load(key); is && past.(recovered).found {
		s.recovered.CompareAndDelete(key, past)
	}
}

// forget: this process keeps the history of a topic no more; it is recovered again when it is needed.
func (s *logSet) forget(ch derecho.ChannelID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.topics, ch)
}

// close closes the logs that the core does not have. One that is being opened is closed by who opens it. A disk that
// does not answer is not waited for any longer than other things: its files are closed when it does.
func (s *logSet) close() error {
	s.mu.Lock()
	all := slices.DeleteFunc(slices.Collect(maps.Values(s.byID)), func(l *groupLog) bool { return !l.give() })
	s.mu.Unlock()
	closed := make(chan error, len(all))
	for _, l := range all {
		go func() { closed <- l.Close() }()
	}
	late := time.NewTimer(operationTimeout)
	defer late.Stop()
	var errs []error
	for range all {
		select {
		case err := <-closed:
			if err != nil {
				err = failure("Close", "participant",
					"what was acknowledged is in its logs, and they are not closed in order: see to the disk of "+s.p.settings.Dir, err)
			}
			errs = append(errs, err)
		case <-late.C:
			return errors.Join(append(errs, &Error{Op: "Close", Entity: "participant", Code: ErrTimeout,
				Detail: fmt.Sprintf("the disk of %s has not answered for %v: logs there are closed when it does",
					s.p.settings.Dir, operationTimeout)})...)
		}
	}
	return errors.Join(errs...)
}

// maxPayload is the largest message that the log of a subgroup takes.
func (s *logSet) maxPayload(sg derecho.SubgroupID) int {
	if d := s.log(sg).disk.Load(); d != nil {
		return d.log.MaxPayload()
	}
	return math.MaxInt // there is none while the process closes, and nothing is sent then
}

// logDir is where the log of the topic's subgroup is.
func (t *topicEntity) logDir() string {
	if t.p == nil {
		return ""
	}
	return t.p.logDir(derecho.SubgroupID(t.p.hub.placement.Subgroup(topic.Logged, t.name)))
}

// logDir is where the log of a subgroup is.
func (p *DomainParticipant) logDir(sg derecho.SubgroupID) string {
	return filepath.Join(p.settings.Dir, fmt.Sprintf("domain-%d-subgroup-%d", p.id, sg))
}

// logDirs are the names of such directories, as a pattern of path.Match.
const logDirs = "domain-*-subgroup-*"

// groupLog is the log of one subgroup (derecho.Log). The polling goroutine appends to a batch while the logger's goroutine
// writes another one; a user's goroutine starts it.
type groupLog struct {
	set  *logSet
	sg   derecho.SubgroupID
	disk atomic.Pointer[diskLog]
	// read counts what was read of it, to open it and to recover histories; who waits for that looks whether it grows, and
	// nothing else goes by it.
	read atomic.Uint64
	trim trimming
	// files is held, for reading, while a history is made of what is on disk, and by who trims that: the base and what goes of
	// the log are one to who reads. All logs of the subgroup in this process have the same.
	files *sync.RWMutex

	starting sync.Mutex // held while it is opened: not by who closes it

	// Writers, since the last message; the polling goroutine's.
	ended   []endpointKey // that the log does not know to have ended otherwise
	removed []endpointKey // of which nothing comes any more

	mu         sync.Mutex // held for a look
	given      bool       // the core has it, and closes it
	closed     bool
	dir, owner string // of the latest start that went well, be it of the log before
}

// errEnded: the log was closed while it was opened.
var errEnded = errors.New("the log was closed")

// isFree: nobody has the log yet.
func (g *groupLog) isFree() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.given && !g.closed
}

func (g *groupLog) isClosed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

// give gives the log to who closes it; false if somebody has it, or had.
func (g *groupLog) give() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	free := !g.given && !g.closed
	g.given = true
	return free
}

// place is where the log is on disk, and whose it is; "" if it has none yet.
func (g *groupLog) place() (dir, owner string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.dir, g.owner
}

type diskLog struct {
	log     *storage.Log
	writers *os.File
	epochs  *epochFile
	known   map[endpointKey]introduced // writers that the file of writers names
	seq     uint64                     // of the last message written in the epoch that has begun, plus one
	// As it was opened:
	channels map[derecho.ChannelID]storage.Version // the last message of each that the log has, or its base
	base     baseInfo
	bytes    int64 // storage.Log.Bytes when it was opened, and then after the latest Write
	// holds is what the log holds durably; stored by the logger's goroutine, loaded by the polling goroutine.
	holds atomic.Pointer[held]
}

// baseInfo is what is remembered of a base; the zero value: there is none.
type baseInfo struct {
	at   storage.Version
	size int64 // of the file
}

// introduced is what the file of writers has of one.
type introduced struct {
	info    []byte // empty: not what it announced
	current bool   // it is what the writer announced last, as of renewed
	renewed uint64
}

// held is what a log holds; it does not change.
type held struct {
	index *derecho.LogIndex
	seq   uint64 // of the last message in the last epoch that has begun, plus one
}

// start gives the log its place on disk.
func (g *groupLog) start(dir, owner string) error {
	g.starting.Lock()
	defer g.starting.Unlock()
	switch {
	case g.disk.Load() != nil:
		return nil
	case g.isClosed():
		return errEnded
	}
	d, err := openDisk(dir, storage.Options{
		Owner: fmt.Sprintf("%s (pid %d)", owner, os.Getpid()), SegmentBytes: g.set.p.settings.LogSegmentBytes,
	}, &g.read)
	if err != nil {
		return err
	}
	g.mu.Lock()
	closed := g.closed
	if !closed {
		g.trim.opened(d)
		g.disk.Store(d)
		g.dir, g.owner = dir, owner
	}
	g.mu.Unlock()
	if closed {
		return errors.Join(errEnded, d.close())
	}
	return nil
}

// openDisk opens the log in a directory and the files beside it. It counts the records that it has read.
func openDisk(dir string, o storage.Options, read *atomic.Uint64) (*diskLog, error) {
	d := &diskLog{known: make(map[endpointKey]introduced), channels: make(map[derecho.ChannelID]storage.Version)}
	var of firstOf
	o.Found = func(r *storage.Record) {
		read.Add(1)
		of.see(r)
		d.channels[derecho.ChannelID(r.Channel)] = r.Version
	}
	var base logBase
	var baseErr error
	once := sync.OnceFunc(func() { base, baseErr = readBase(dir) })
	o.Trimmed = func() (storage.Version, error) {
		once()
		return base.at, baseErr
	}
	log, _, err := storage.Open(dir, o)
	if err != nil {
		return nil, err
	}
	once() // with the log's lock held, like what is called by Open: nobody writes another one
	if baseErr != nil {
		return nil, errors.Join(baseErr, log.Close())
	}
	read.Add(1)
	_ = removeIfThere(newBase(dir)) // of a process that was killed; it takes some room
	d.log, d.bytes, d.base = log, log.Bytes(), baseInfo{base.at, base.size}
	for _, ch := range base.channels() {
		if d.channels[ch].Compare(base.at) < 0 {
			d.channels[ch] = base.at
		}
	}
	path := writersFile(dir)
	past, whole, err := readWriters(path)
	if err == nil {
		err = of.check(path, past, whole)
	}
	if err == nil {
		for key, info := range past {
			d.known[key] = introduced{info: info}
		}
		d.writers, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	}
	if err == nil {
		err = d.writers.Truncate(whole) // what is torn was told to nobody, and what comes next is to be found
	}
	if err == nil {
		// A process that was killed may not have synced its last entries. Their writers may live, and are not noted again.
		err = d.writers.Sync()
	}
	last := d.last()
	if err == nil {
		d.epochs, err = openEpochs(epochsFile(dir), last)
	}
	if err != nil {
		if d.writers != nil {
			err = errors.Join(err, d.writers.Close())
		}
		return nil, errors.Join(err, log.Close())
	}
	if err = base.check(dir, &d.epochs.index); err == nil && last.Epoch > d.epochs.index.Begun() {
		// The disk has lost the beginning, which it had called durable. These messages do not count, and the number of their
		// epoch is not used again.
		var counts storage.Version
		if counts, err = d.lastOf(d.epochs.index.Begun()); err == nil {
			err = d.epochs.put(afterEntry(counts), startEntry(&derecho.EpochStart{Epoch: last.Epoch}))
		}
	}
	if err == nil {
		// The files beside the log may be new, or new in the place of others (slim). Their names are to last as long as
		// what is told to be in them.
		err = syncDir(filepath.Dir(dir))
	}
	if err == nil {
		err = d.epochs.open()
	}
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	if last != (storage.Version{}) && last.Epoch == d.epochs.index.Begun() {
		d.seq = last.Seq + 1
	}
	d.tell(d.epochs.index.Clone())
	return d, nil
}

// last is the last message that the log has, be it in its base: a disk may have lost what is behind that.
func (d *diskLog) last() storage.Version {
	if last := d.log.Durable(); last.Compare(d.base.at) > 0 {
		return last
	}
	return d.base.at
}

func (d *diskLog) close() error {
	return errors.Join(d.log.Close(), d.writers.Close(), d.epochs.f.Close())
}

// lastOf is the last message up to an epoch, which is not before the base's.
func (d *diskLog) lastOf(epoch uint32) (last storage.Version, err error) {
	last = d.base.at
	for r, err := range d.log.Records(last) {
		if err != nil {
			return last, err
		}
		if r.Epoch > epoch {
			break
		}
		last = r.Version
	}
	return last, nil
}

// tell says what the log holds.
func (d *diskLog) tell(index *derecho.LogIndex) { d.holds.Store(&held{index, d.seq}) }

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// logState is what the log of a subgroup holds of a channel (derecho.Config.LogState).
func (s *logSet) logState(sg derecho.SubgroupID, ch derecho.ChannelID) *derecho.LogState {
	if l := s.onDisk(sg); l != nil && s.has(sg, ch) {
		h := l.disk.Load().holds.Load()
		return h.index.Holds(ch, h.seq)
	}
	return nil
}

// has: this process has what the log holds of a channel. Who keeps it in memory only has not if the log was opened, for the sake
// of another topic, just as it was about to be announced (beginAgain): it would give the others nothing in the place of that.
func (s *logSet) has(sg derecho.SubgroupID, ch derecho.ChannelID) bool {
	s.mu.Lock()
	taken := s.topics[ch]
	s.mu.Unlock()
	if !taken {
		_, taken = s.recovered.Load(channelKey{sg, ch})
	}
	return taken || s.p.stores(ch)
}

// onDisk is the log of a subgroup if it has its place.
func (s *logSet) onDisk(sg derecho.SubgroupID) *groupLog {
	s.mu.Lock() // held for a look at a map only
	defer s.mu.Unlock()
	if l := s.byID[sg]; l != nil && l.disk.Load() != nil {
		return l
	}
	return nil
}

// Begin notes the beginning of an epoch (derecho.Log).
func (g *groupLog) Begin(s *derecho.EpochStart) error {
	d := g.disk.Load()
	if d == nil {
		return nil
	}
	if err := d.epochs.putSlowly(s.Moves, afterEntry(d.last()), startEntry(s)); err != nil {
		return err
	}
	for _, c := range s.Channels {
		if c.Loaded { // what was found before is no more what it holds
			g.set.unfind(channelKey{g.sg, c.Channel})
		}
	}
	d.seq = 0
	d.tell(d.epochs.index.Clone())
	return nil
}

// NewBatch makes a batch (derecho.Log).
func (g *groupLog) NewBatch() derecho.LogBatch {
	return &logBatch{log: g, writers: make(map[endpointKey]struct{})}
}

// logBatch is messages for the log (derecho.LogBatch).
type logBatch struct {
	log     *groupLog
	records storage.Batch
	writers map[endpointKey]struct{} // of the records
	last    endpointKey              // of the last record
	endings []endedWriters
	removed []endpointKey // before its last record
	err     error
}

// Append takes a message. What does not concern a sample of the past is not stored.
func (b *logBatch) Append(m *derecho.Message) {
	d := b.log.disk.Load()
	if b.err != nil || m.Kind == kindNothing || m.Kind == kindRegister || m.Kind == kindAlive || d == nil {
		return
	}
	if key := (endpointKey{m.Sender, m.Writer}); key != b.last || len(b.writers) == 0 {
		b.writers[key], b.last = struct{}{}, key
	}
	if len(b.log.ended) > 0 {
		b.endings = append(b.endings, endedWriters{storage.Version{Epoch: m.Epoch, Seq: m.Seq}, b.log.ended})
		b.log.ended = nil
	}
	if len(b.log.removed) > 0 {
		b.removed, b.log.removed = append(b.removed, b.log.removed...), b.log.removed[:0]
	}
	b.log.trim.note(d, m)
	b.err = b.records.Append(&storage.Record{
		Version:   storage.Version{Epoch: m.Epoch, Seq: m.Seq},
		Timestamp: m.Timestamp, Sender: uint64(m.Sender), Channel: uint64(m.Channel),
		WriterSeq: m.WriterSeq, Writer: uint32(m.Writer), Kind: uint8(m.Kind), Flags: m.Flags, Payload: m.Payload,
	})
}

// Bytes is how much there is to write.
func (b *logBatch) Bytes() int { return b.records.Bytes() }

// Reset makes the batch empty.
func (b *logBatch) Reset() {
	b.records.Reset()
	clear(b.writers)
	b.endings, b.removed, b.err = nil, b.removed[:0], nil
}

// Write makes a batch durable (derecho.Log), and before it what its writers announced, and which have ended.
func (g *groupLog) Write(batch derecho.LogBatch) error {
	b, d := batch.(*logBatch), g.disk.Load()
	if b.err != nil {
		return b.err
	}
	renewed := g.set.renewed.Load()
	for key := range b.writers {
		if k := d.known[key]; !k.current || k.renewed != renewed {
			if err := d.introduce(key, g.set, renewed); err != nil {
				return err
			}
		}
	}
	for _, e := range b.endings {
		if err := d.epochs.put(e.entry()); err != nil {
			return err
		}
	}
	if _, err := d.log.Write(&b.records); err != nil {
		g.trim.end() // nothing becomes durable any more
		return err
	}
	for _, key := range b.removed {
		if _, named := d.known[key]; named {
			g.set.announced.Delete(key)
		}
	}
	d.seq = b.records.Last().Seq + 1
	d.tell(d.holds.Load().index)
	before := d.bytes
	d.bytes = d.log.Bytes()
	g.grow(d.bytes - before)
	return nil
}

// introduce notes what a writer announced, before its first message, and before the first one after it has announced another QoS.
func (d *diskLog) introduce(key endpointKey, set *logSet, renewed uint64) error {
	info, _ := set.announced.Load(key)
	b, ok := info.([]byte)
	was, named := d.known[key]
	switch {
	case named && !ok:
		return nil
	case named && bytes.Equal(was.info, b):
		d.known[key] = introduced{was.info, true, renewed}
		return nil
	}
	// Without what it announced its samples are stored all the same, but a later run can not give them to anyone.
	if _, err := d.writers.Write(appendWriter(nil, key, b)); err != nil {
		return err
	}
	d.known[key] = introduced{b, ok, renewed}
	return d.writers.Sync()
}

// Close ends the log (derecho.Log). Closing again has no effect. It does not wait for one that is being opened.
func (g *groupLog) Close() error {
	g.mu.Lock()
	first := !g.closed
	g.closed = true
	d := g.disk.Load()
	g.mu.Unlock()
	if d == nil || !first {
		return nil
	}
	g.trim.stop()
	return d.close()
}

// The file of writers, little endian: entries of node(u64) id(u32) length(u32) checksum(u32) announcement. The checksum
// is CRC-32C of all else in the entry. A torn entry at the end is cut off. The announcement is empty of a writer whose
// announcement nobody could read; of several entries of a writer the last counts: there is another one if it has
// announced another QoS, before the first message since.
const writerEntrySize = 8 + 4 + 4 + 4

func writersFile(dir string) string { return dir + ".writers" }

func appendWriter(b []byte, key endpointKey, info []byte) []byte {
	le := binary.LittleEndian
	start := len(b)
	b = le.AppendUint64(b, uint64(key.node))
	b = le.AppendUint32(b, uint32(key.id))
	b = le.AppendUint32(b, uint32(len(info)))
	sum := crc32.Update(crc32.Checksum(b[start:], castagnoli), castagnoli, info)
	b = le.AppendUint32(b, sum)
	return append(b, info...)
}

// readWriters reads the entries of a file, none if there is no file, and how long the whole ones are together.
func readWriters(path string) (found map[endpointKey][]byte, whole int64, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	found, rest := parseWriters(b)
	whole = int64(len(b) - len(rest))
	return found, whole, checkTail(path, whole, rest, func(b []byte, sum checksum) int {
		_, _, n := nextWriter(b, sum)
		return n
	})
}

// firstOf are the first messages of each writer in a log.
type firstOf struct {
	writers []endpointKey // in the order of these
	first   map[endpointKey]storage.Version
	last    endpointKey // that was seen
}

func (f *firstOf) see(r *storage.Record) {
	key := endpointKey{derecho.NodeID(r.Sender), derecho.EndpointID(r.Writer)}
	if key == f.last && f.first != nil {
		return
	}
	f.last = key
	if _, met := f.first[key]; met {
		return
	}
	if f.first == nil {
		f.first = make(map[endpointKey]storage.Version)
	}
	f.first[key] = r.Version
	f.writers = append(f.writers, key)
}

// check looks whether it is but torn what a file of writers lacks at its end, or all of it. An entry is on disk before the
// first message of its writer: if there are messages of one that no entry names, the file was damaged or lost, and nobody
// could be given these. What is lost need not leave a part of an entry: a file that was longer ends where it ended before.
func (f *firstOf) check(path string, past map[endpointKey][]byte, whole int64) error {
	for _, key := range f.writers {
		if _, named := past[key]; !named {
			return &storage.CorruptError{Path: path, Offset: whole,
				Reason: fmt.Sprintf("the entry of writer %d of node %v is damaged or missing, and the log has messages of it, the first is %v", key.id, key.node, f.first[key])}
		}
	}
	return nil
}

func parseWriters(b []byte) (found map[endpointKey][]byte, rest []byte) {
	found = make(map[endpointKey][]byte)
	for key, info, n := nextWriter(b, sumOf); n > 0; key, info, n = nextWriter(b, sumOf) {
		found[key] = info
		b = b[n:]
	}
	return found, b
}

// nextWriter is the entry with which b begins, and its size: 0 if it is not whole.
func nextWriter(b []byte, sum checksum) (key endpointKey, info []byte, n int) {
	le := binary.LittleEndian
	if len(b) < writerEntrySize {
		return key, nil, 0
	}
	size := int(le.Uint32(b[12:]))
	if size < 0 || size > len(b)-writerEntrySize {
		return key, nil, 0
	}
	info = b[writerEntrySize : writerEntrySize+size]
	if sum(b, 16, size) != le.Uint32(b[16:]) {
		return key, nil, 0
	}
	return endpointKey{derecho.NodeID(le.Uint64(b)), derecho.EndpointID(le.Uint32(b[8:]))}, info, writerEntrySize + size
}
