package dcps

import (
	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/derecho"
)

// endpointKey names a writer or reader of the domain.
type endpointKey struct {
	node derecho.NodeID
	id   derecho.EndpointID
}

// The kinds of messages that a writer sends: wire format, in derecho.Header.Kind.
const (
	kindData       derecho.Kind = 1 // payload: an encoded sample
	kindDispose    derecho.Kind = 2 // payload: an encoded key
	kindUnregister derecho.Kind = 3 // payload: an encoded key
	kindRegister   derecho.Kind = 4 // payload: an encoded key
	kindNothing    derecho.Kind = 5 // no payload: a sequence number that carries no sample
	kindClosing    derecho.Kind = 6 // no payload: the writer unregisters all its instances and ends
	kindAlive      derecho.Kind = 7 // no payload, no number: LIVELINESS was asserted; Timestamp is how long ago that was, in ns
	kindSetEnd     derecho.Kind = 8 // payload: a setEnd; see coherent.go
)

// flagDispose, in derecho.Header.Flags of kindUnregister and kindClosing: dispose first
// (WRITER_DATA_LIFECYCLE autodispose_unregistered_instances).
const flagDispose = 1

// flagAgain: the writer sent it before its process joined anew. A sample is for those who want history, then.
const flagAgain = 2

// flagPast marks what a history brings. It does not travel.
const flagPast = 128

// noSign are flags of messages that say nothing of whether their writer is alive.
const noSign = flagPast | flagAgain | flagMark

// itemKind is what an item in an inbox is about.
type itemKind uint8

const (
	// What concerns the reader's cache, in the order of delivery.
	itemData     itemKind = iota
	itemFiltered          // a sample that the reader's filter has kept out
	itemRun               // samples of one writer; see run.go
	itemDispose
	itemUnregister
	itemRegister
	itemNothing
	itemClosing
	itemShown // its writer has asserted that it is alive
	itemSet   // several of these that are let in together, or not at all
	itemGone  // the writer's endpoint is gone, or ended long before its history arrived

	// What concerns statuses.
	itemMatched
	itemUnmatched
	itemIncompatible
	itemInconsistent
	itemAltered  // the writer has another QoS
	itemAlive    // the writer is heard again
	itemNotAlive // the writer's process is not heard, or has failed
	itemOutage   // nothing can be sent any more, or it can again: what waits looks again
	itemLost
	itemHistoryComplete
	itemHistoryOwed // it is not, any more: the process joins again
	itemFailed
	itemLearn     // of a participant's directory
	itemOfPart    // a reader of a MultiTopic follows what happened to one of its parts
	itemOnReaders // readers of a Subscriber have data
	itemView      // the view of the domain, of a participant

	itemVisible // what was let in may be seen up to a cut
	itemUnseen  // and what is behind it will not be, any more

	itemReclaim // what is lent and lies in the cache is to be copied
)

// item is one event on its way from the polling goroutine to an entity, and then, if it is a sample, the entry of the
// reader's cache.
//
// Who owns it: the polling goroutine until it is posted; then whoever holds the entity's lock. The bytes of a sample
// are shared by the cache and the collections that were handed out; refs counts them, under the entity's lock. While a collection
// has it, buf does not change.
//
// There is one for each sample that a reader keeps: what an item of a rare kind needs is behind a pointer, or in what
// it has no other use for.
type item struct {
	next   *item // inbox, queue of parked items, or list of free items: never two at once
	kind   itemKind
	pooled bool // made by itemPool.get
	flags  uint8
	valid  bool // in the cache; false: only reports a change of state
	read   bool // in the cache
	refs   int32

	src       *source
	handle    InstanceHandle
	buf       []byte // encoded sample: in own, or where loan says
	own       []byte // the item's memory
	loan      *derecho.Loan
	seq       uint64
	writerSeq uint64
	sourceNs  int64
	receiveNs int64
	epoch     uint32

	// Entry of the cache.
	expiry         int32 // place in cache.expiries
	disposedGen    int32
	noWritersGen   int32
	inst           *instance
	before, after  *item  // all entries in order of arrival; after in the first item of a chain of itemPool: the chain below
	earlier, later *item  // entries of the instance
	link           uint64 // cache.links when it was put in; before that the cut of itemVisible that it waits for, or is; 0 if neither

	// Of itemRun. In a cache it is linked by after only.
	run  []sampleOfRun
	from int // those before were handed out
	room int // bytes that it may still grow by; see takes

	lentBefore, lentAfter *item // of lending, if loan is not nil

	ctl *control // of the status kinds

	set   *[]*item // of itemSet
	order uint64   // place in the order in which a Subscriber sees what its readers got, for GROUP access

	// Of itemPool, in the first item of a chain: those in it and below, and the bytes of their buffers. Both are
	// bounded; see flush.
	count, bytes int32
}

// members are the items of an itemSet.
func (it *item) members() []*item {
	if it.set == nil {
		return nil
	}
	return *it.set
}

// source is a matched writer as one reader knows it. After the item that introduced it, the reader's lock guards it. A
// writer that is matched anew, say because its process joined the domain again, has another source, and the same lineage.
type source struct {
	key      endpointKey
	sg       derecho.SubgroupID // where its samples come; 0 if it has left
	handle   InstanceHandle
	strength int32
	lifespan int64 // ns, 0 for infinite
	gaps     bool  // a gap in the writer's sequence is loss (unordered path)
	heard    bool  // something came since it was matched
	silent   bool  // it is not alive: absent or lapsed
	absent   bool  // its process is not heard, or has failed
	failed   bool  // it has failed: until it is unmatched its instances keep it
	lapsed   bool  // LIVELINESS: it has not asserted it for longer than its lease
	lease    int64 // ns of the lease that it has to assert itself within; 0 if it has none
	shownNs  int64 // when it last did
	leased   int32 // place in reader.leases
	line     *lineage
	peer     Peer
	// trial is what the polling goroutine decodes samples into to see whether the reader's type can hold them; nil if it can hold
	// all of the writer's, which is so of one type. Set from the beginning.
	trial cdr.Message
}

// constructs tells whether the reader's type can hold a sample. One that it can not is discarded (@try_construct, XTypes 1.3
// §7.2.4) before it takes another one's place. With try_construct other than DISCARD decoding makes of it what can be held.
func (s *source) constructs(sample []byte) bool {
	return s.trial == nil || cdr.Unmarshal(sample, s.trial) == nil
}

func (s *source) place() *int32 { return &s.leased }

// mayOwn tells whether instances whose OWNERSHIP is EXCLUSIVE may have the writer as their owner. One whose process has failed
// may until it is unmatched, which is behind the last of its samples, at one place of the order: so all readers have the
// same owner for each of the others' samples.
func (s *source) mayOwn() bool { return !s.silent || s.failed && !s.lapsed }

// lineage is what a reader remembers of a writer for as long as that may come back: the latest number that it has seen.
type lineage struct{ lastSeq uint64 }

// beats tells whether s owns an instance rather than other: greater strength, then smaller handle.
func (s *source) beats(other *source) bool {
	if s.strength != other.strength {
		return s.strength > other.strength
	}
	for i := range s.handle {
		if s.handle[i] != other.handle[i] {
			return s.handle[i] < other.handle[i]
		}
	}
	return false
}
