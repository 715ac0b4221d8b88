package control

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/omg-dds-go/dds/examples/avionics/internal/ledger"
	"github.com/omg-dds-go/dds/examples/avionics/internal/order"
)

// Config is what a process is started with.
type Config struct {
	Role      string        `json:"role"`
	Domain    uint32        `json:"domain"`
	Transport string        `json:"transport"`
	Dir       string        `json:"dir"` // of this process's logs
	QoS       string        `json:"qos"` // text of the QoS file
	QoSName   string        `json:"qos_name"`
	Seed      uint64        `json:"seed"`
	Aircraft  string        `json:"aircraft"` // own-ship
	Traffic   int           `json:"traffic"`  // how many synthetic aircraft
	Flight    string        `json:"flight"`   // IGC file; empty: synthetic
	SBS1      string        `json:"sbs1"`     // recording or host:port; empty: synthetic
	GiveUp    time.Duration `json:"give_up"`  // live feed: how long nobody may answer
	Speed     float64       `json:"speed"`    // time compression; 0: as fast as it goes
	// ADC1Off is when adc1 falls silent; 0: never.
	ADC1Off time.Duration `json:"adc1_off"`
	// Readers and Writers are how many matches a writer, or a reader, of a topic waits for before it is Ready.
	Readers map[string]int `json:"readers"`
	Writers map[string]int `json:"writers"`
	Late    bool           `json:"late"` // joins in the middle
	// Generation is how many processes have played the role before, and Elapsed how long the run had lasted when this one
	// was started: a source goes on there.
	Generation int           `json:"generation"`
	Elapsed    time.Duration `json:"elapsed"`
	Frames     time.Duration `json:"frames"`  // how often a display shows something; 0: never
	Table      bool          `json:"table"`   // show tables rather than lines
	Timeout    time.Duration `json:"timeout"` // of each step that waits for others
}

// Command is what the conductor says.
type Command struct {
	Kind CommandKind `json:"command"`
	// Expect is the number of the last sample of each topic (Drain, Finish).
	Expect map[string]uint64 `json:"expect,omitempty"`
}

// CommandKind names a command.
type CommandKind string

// The commands; see doc.go.
const (
	Start  CommandKind = "start"
	Stop   CommandKind = "stop"
	Drain  CommandKind = "drain"
	Finish CommandKind = "finish"
	Leave  CommandKind = "leave"
)

// Event is what a process says.
type Event struct {
	Kind      EventKind         `json:"event"`
	Text      string            `json:"text,omitempty"`      // Note, Failed
	Frame     []string          `json:"frame,omitempty"`     // Frame
	Reached   map[string]uint64 `json:"reached,omitempty"`   // Alive: number of the last sample taken, by reliable topic
	Published map[string]uint64 `json:"published,omitempty"` // Done
	Told      *Told             `json:"told,omitempty"`      // Told
	Report    *Report           `json:"report,omitempty"`    // Reported
}

// EventKind names an event.
type EventKind string

// The events; see doc.go.
const (
	Ready    EventKind = "ready"
	Alive    EventKind = "alive"
	Tells    EventKind = "tells"
	Note     EventKind = "note"
	Frame    EventKind = "frame"
	Done     EventKind = "done"
	Reported EventKind = "reported"
	Failed   EventKind = "failed"
)

// Beat is how often a process says that it is alive, and how far it got.
const Beat = 500 * time.Millisecond

// Told is what is new since the process last told it, so that what it did is known when it is killed.
type Told struct {
	// Delivered are the samples taken of each reliable topic (package ledger). A topic of which none was taken yet is
	// there at the beginning.
	Delivered map[string][]byte `json:"delivered,omitempty"`
	// Published is how far the writers of reliable topics are.
	Published map[string]ledger.Progress `json:"published,omitempty"`
	// Away: the process stood still, so that the others may have gone on without it. Back: it has joined again since, if
	// they have, and has its history. Stayed, with Back: they have not.
	Away   bool `json:"away,omitempty"`
	Back   bool `json:"back,omitempty"`
	Stayed bool `json:"stayed,omitempty"`
	// Reached is where the process is in each topic that it takes.
	Reached map[string]Reached `json:"reached,omitempty"`
}

// Reached is where a process is in a topic.
type Reached struct {
	Epoch uint32    `json:"epoch"` // of the last sample taken
	Since time.Time `json:"since"` // when the first sample of that epoch was taken
}

// Report is what a process counted.
type Report struct {
	Role          string         `json:"role"`
	PID           int            `json:"pid"`
	Publications  []Publication  `json:"publications,omitempty"`
	Subscriptions []Subscription `json:"subscriptions,omitempty"`
	Input         *Input         `json:"input,omitempty"`
	LogDir        string         `json:"log_dir,omitempty"`
}

// Publication is what a process published of a topic.
type Publication struct {
	Topic     string        `json:"topic"`
	Path      string        `json:"path"`
	Published uint64        `json:"published"`
	Dropped   uint64        `json:"dropped"` // best effort: there was no room
	Took      time.Duration `json:"took_ns"` // from the first sample to the last acknowledgement
}

// Subscription is what a process received of a topic.
type Subscription struct {
	Topic string `json:"topic"`
	order.Result
	Lost            int32  `json:"lost"`     // SAMPLE_LOST of the reader
	Rejected        int32  `json:"rejected"` // SAMPLE_REJECTED
	DeadlinesMissed int32  `json:"deadlines_missed"`
	Malformed       int    `json:"malformed"` // samples that could not be read
	Latency         []byte `json:"latency,omitempty"`
	// History is how many of the samples a late process was given as history, of how many instances.
	History   uint64 `json:"history,omitempty"`
	Instances int    `json:"instances,omitempty"`
}

// Input is what a source read.
type Input struct {
	What      string   `json:"what"`
	Live      bool     `json:"live,omitempty"`
	Read      int      `json:"read"`      // lines
	Used      int      `json:"used"`      // fixes or messages
	Skipped   int      `json:"skipped"`   // lines of other kinds
	Malformed int      `json:"malformed"` // lines that could not be read
	Named     []string `json:"named,omitempty"`
	Resent    int      `json:"resent,omitempty"`
	Connected int      `json:"connections,omitempty"`
	Complete  bool     `json:"complete"` // it was read to its end
}

// ErrMessage means that a line is not what this package writes.
var ErrMessage = errors.New("control: malformed message")

// maxMessage bounds a line: a report holds histograms and pictures.
const maxMessage = 16 << 20

// Writer writes messages. Any goroutine may use it.
type Writer struct {
	mu  sync.Mutex
	out io.Writer
}

// NewWriter writes to out, a message a line.
func NewWriter(out io.Writer) *Writer { return &Writer{out: out} }

// Send writes one message.
func (w *Writer) Send(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("control: encoding %T: %w", v, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.out.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("control: sending %T: %w", v, err)
	}
	return nil
}

// Reader reads messages.
type Reader struct{ lines *bufio.Scanner }

// NewReader reads from in.
func NewReader(in io.Reader) *Reader {
	s := bufio.NewScanner(in)
	s.Buffer(make([]byte, 64<<10), maxMessage)
	return &Reader{s}
}

// Next reads the next message into v: io.EOF when the other side is gone.
func (r *Reader) Next(v any) error {
	if !r.lines.Scan() {
		if err := r.lines.Err(); err != nil {
			return fmt.Errorf("control: reading: %w", err)
		}
		return io.EOF
	}
	if err := json.Unmarshal(r.lines.Bytes(), v); err != nil {
		return fmt.Errorf("%w: %w", ErrMessage, err)
	}
	return nil
}
