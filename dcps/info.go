package dcps

import (
	"strings"
	"time"

	"github.com/omg-dds-go/dds/topic"
)

// InstanceHandle names an instance or an entity; see topic.InstanceHandle.
type InstanceHandle = topic.InstanceHandle

// HandleNil names nothing, and the only instance of a topic without key (DDS: HANDLE_NIL).
var HandleNil = topic.HandleNil

// SampleState tells whether the sample was read before (DDS 1.4 §2.2.2.5.1.2). Values combine into masks.
type SampleState uint8

const (
	SampleRead SampleState = 1 << iota
	SampleNotRead

	AnySampleState = SampleRead | SampleNotRead
)

// ViewState tells whether the instance is new to this reader (§2.2.2.5.1.8). Values combine into masks.
type ViewState uint8

const (
	ViewNew ViewState = 1 << iota
	ViewNotNew

	AnyViewState = ViewNew | ViewNotNew
)

// InstanceState tells whether the instance exists (§2.2.2.5.1.3). Values combine into masks.
type InstanceState uint8

const (
	InstanceAlive InstanceState = 1 << iota
	InstanceNotAliveDisposed
	InstanceNotAliveNoWriters

	InstanceNotAlive = InstanceNotAliveDisposed | InstanceNotAliveNoWriters
	AnyInstanceState = InstanceAlive | InstanceNotAlive
)

func (s SampleState) String() string { return maskText(uint8(s), "READ", "NOT_READ") }

func (s ViewState) String() string { return maskText(uint8(s), "NEW", "NOT_NEW") }

func (s InstanceState) String() string {
	return maskText(uint8(s), "ALIVE", "NOT_ALIVE_DISPOSED", "NOT_ALIVE_NO_WRITERS")
}

func maskText(mask uint8, names ...string) string {
	var set []string
	for i, name := range names {
		if mask&(1<<i) != 0 {
			set = append(set, name)
		}
	}
	if len(set) == 0 {
		return "NONE"
	}
	return strings.Join(set, "|")
}

// SampleInfo accompanies every sample that a reader hands out (§2.2.2.5.5).
type SampleInfo struct {
	SampleState   SampleState
	ViewState     ViewState
	InstanceState InstanceState

	SourceTimestamp   time.Time
	InstanceHandle    InstanceHandle
	PublicationHandle InstanceHandle

	DisposedGenerationCount  int32
	NoWritersGenerationCount int32
	SampleRank               int32
	GenerationRank           int32
	AbsoluteGenerationRank   int32

	// ValidData is false for a sample that only reports a change of the instance's state.
	ValidData bool

	// What follows is not in the standard.

	// ReceptionTimestamp is when this process was handed the sample.
	ReceptionTimestamp time.Time
	// Epoch and Sequence are the sample's position in the total order of its subgroup: the same at every reader. On
	// the unordered path Sequence counts per sending process.
	Epoch    uint32
	Sequence uint64
	// WriterSequence counts what the writer sent: 1, 2, 3, ...
	WriterSequence uint64
}

// String gives the states as the standard spells them: "[NOT_READ NEW ALIVE d=0 n=0]".
func (i SampleInfo) String() string {
	var b strings.Builder
	b.WriteString("[" + i.SampleState.String() + " " + i.ViewState.String() + " " + i.InstanceState.String())
	b.WriteString(" d=" + itoa(i.DisposedGenerationCount) + " n=" + itoa(i.NoWritersGenerationCount) + "]")
	return b.String()
}
