package rdma

import (
	"encoding/binary"
	"errors"
)

// ProtocolVersion is the version of the link protocol and of everything above it that shares
// memory: it rises when a layout or a message changes.
const ProtocolVersion = 25

var helloMagic = [4]byte{'D', 'D', 'S', 'G'}

// ErrHello: what came first on a connection is no greeting of this protocol.
var ErrHello = errors.New("rdma: not a greeting of this protocol")

// AppendHello appends the greeting that opens every link:
//
//	magic "DDSG" | version u32 | id u64 | shm domain u64 | pid u32 | slot u32 | thread u32 | domain u32 | host | name | addr | fingerprint
//
// little endian, strings as u16 length and bytes. The version comes first and the rest may only grow
// at the end within one version.
func AppendHello(b []byte, p PeerInfo) []byte {
	b = append(b, helloMagic[:]...)
	b = binary.LittleEndian.AppendUint32(b, ProtocolVersion)
	return AppendPeerInfo(b, p)
}

// AppendPeerInfo appends the greeting without magic and version.
func AppendPeerInfo(b []byte, p PeerInfo) []byte {
	b = binary.LittleEndian.AppendUint64(b, p.ID)
	b = binary.LittleEndian.AppendUint64(b, p.ShmDomain)
	b = binary.LittleEndian.AppendUint32(b, p.PID)
	b = binary.LittleEndian.AppendUint32(b, p.Slot)
	b = binary.LittleEndian.AppendUint32(b, p.Thread)
	b = binary.LittleEndian.AppendUint32(b, p.Domain)
	for _, s := range []string{p.Host, p.Name, p.Addr, p.Fingerprint} {
		s = s[:min(len(s), 1024)]
		b = binary.LittleEndian.AppendUint16(b, uint16(len(s)))
		b = append(b, s...)
	}
	return b
}

// ParseHello reads a greeting. A peer of another protocol version gives its version besides an error.
func ParseHello(b []byte) (p PeerInfo, version uint32, err error) {
	if len(b) < 8 || [4]byte(b[:4]) != helloMagic {
		return p, 0, ErrHello
	}
	version = binary.LittleEndian.Uint32(b[4:])
	if version != ProtocolVersion {
		return p, version, ErrHello
	}
	p, _, err = ParsePeerInfo(b[8:])
	return p, version, err
}

// ParsePeerInfo reads what AppendPeerInfo wrote and returns what follows it.
func ParsePeerInfo(b []byte) (p PeerInfo, rest []byte, err error) {
	if len(b) < 32 {
		return p, nil, ErrHello
	}
	p.ID = binary.LittleEndian.Uint64(b)
	p.ShmDomain = binary.LittleEndian.Uint64(b[8:])
	p.PID = binary.LittleEndian.Uint32(b[16:])
	p.Slot = binary.LittleEndian.Uint32(b[20:])
	p.Thread = binary.LittleEndian.Uint32(b[24:])
	p.Domain = binary.LittleEndian.Uint32(b[28:])
	b = b[32:]
	for _, s := range []*string{&p.Host, &p.Name, &p.Addr, &p.Fingerprint} {
		if len(b) < 2 {
			return p, nil, ErrHello
		}
		n := int(binary.LittleEndian.Uint16(b))
		if len(b) < 2+n {
			return p, nil, ErrHello
		}
		*s, b = string(b[2:2+n]), b[2+n:]
	}
	return p, b, nil
}
