package control

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

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
	Late    bool           `json:"late"`    // joins in the middle
	Trace   bool           `json:"trace"`   // another one joins in the middle: keep what comparing needs
	Frames  time.Duration  `json:"frames"`  // how often a display shows something; 0: never
	Table   bool           `json:"table"`   // show tables rather than lines
	Timeout time.Duration  `json:"timeout"` // of each step that waits for others
}

// Command is what the conductor says.
type Command struct {
	Kind CommandKind `json:"command"`
	// Expect is how many samples of each topic were published (Drain, Finish).
	Expect map[string]uint64 `json:"expect,omitempty"`
	// Since asks for the part of the stream behind a number, by topic (Finish).
	Since map[string]uint64 `json:"since,omitempty"`
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
	Report    *Report           `json:"report,omitempty"`    // Reported
}

// EventKind names an event.
type EventKind string

// The events; see doc.go.
const (
	Ready    EventKind = "ready"
	Alive    EventKind = "alive"
	Note     EventKind = "note"
	Frame    EventKind = "frame"
	Done     EventKind = "done"
	Reported EventKind = "reported"
	Failed   EventKind = "failed"
)

// Beat is how often a process says that it is alive, and how far it got.
const Beat = 500 * time.Millisecond

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
	// LogDigest is what the log of this process must have behind number LogFrom (logged topics). Who came late got the
	// samples up to that number from the others, which have them on disk.
	LogDigest string `json:"log_digest,omitempty"`
	LogFrom   uint64 `json:"log_from,omitempty"`
	// The following are of a late process: Cut is the number up to which its history reaches, Picture the last number
	// of each instance up to it, Tail the part behind it.
	Cut     uint64            `json:"cut,omitempty"`
	Picture map[string]uint64 `json:"picture,omitempty"`
	Tail    *order.Part       `json:"tail,omitempty"`
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
