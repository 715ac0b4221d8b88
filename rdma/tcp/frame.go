package tcp

import (
	"encoding/binary"

	"github.com/omg-dds-go/dds/rdma"
)

const (
	frameControl   = 1
	frameOpen      = 2
	frameOpenFail  = 3
	frameOpened    = 4
	frameWrite     = 5
	framePosition  = 6
	frameConfirm   = 7
	frameWithdrawn = 8
	frameBye       = 9
	frameQuiet     = 10 // as frameWrite, but no news for the poller
	frameHush      = 11 // see quiet.go
	frameWake      = 12
	frameAhead     = 13 // as frameQuiet, of bytes whose cells come later

	writeHeader = 5 + 8 + 8 + 4 + 4 // length and type, key, position, bytes, cells
	cellBytes   = 4 + 8
	tailBytes   = 8 + 8 // key, tail

	// maxCopies bounds the regions of which a position speaks.
	maxCopies = 1 << 16
)

// numbered: frames of this kind are counted, and sent again until the peer has handled them.
func numbered(kind byte) bool {
	switch kind {
	case frameControl, frameOpen, frameOpenFail, frameOpened, frameWithdrawn:
		return true
	}
	return false
}

func frame(kind byte, n int) []byte { return appendFrame(make([]byte, 0, 5+n), kind, n) }

func appendFrame(b []byte, kind byte, n int) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(1+n)), kind)
}

// position is what one end has of the other's, when a session is resumed.
type position struct {
	received uint64              // numbered frames
	tails    map[rdma.Key]uint64 // of the copies: the tail that was applied
}

func (p position) frame() []byte {
	b := frame(framePosition, 8+len(p.tails)*tailBytes)
	b = binary.LittleEndian.AppendUint64(b, p.received)
	for key, tail := range p.tails {
		b = binary.LittleEndian.AppendUint64(key.Append(b), tail)
	}
	return b
}

func parsePosition(b []byte) (position, bool) {
	if len(b) < 8 || (len(b)-8)%tailBytes != 0 {
		return position{}, false
	}
	p := position{received: binary.LittleEndian.Uint64(b), tails: map[rdma.Key]uint64{}}
	for b = b[8:]; len(b) > 0; b = b[tailBytes:] {
		p.tails[rdma.ParseKey(b)] = binary.LittleEndian.Uint64(b[8:])
	}
	return p, true
}
