package dcps_test

import (
	"os"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/dcps"
)

// exampleDomain is one that no other test process uses.
var exampleDomain = dcps.DomainID(os.Getpid())<<10 | 1<<31

// Track stands for a type that idlgen made of
//
//	@final struct Track { @key long id; long altitude; };
type Track struct {
	Id       int32
	Altitude int32
}

var trackType = cdr.Define(cdr.TypeInfo{
	Name: "example::Track", Keyed: true, MaxSize: 8, MaxKeySize: 4,
	Text: "@final struct example::Track { @key long id; long altitude; };",
})

func (*Track) CDRType() *cdr.TypeInfo { return trackType }

func (m *Track) MarshalCDR(e *cdr.Encoder) {
	e.Int32(m.Id)
	e.Int32(m.Altitude)
}

func (m *Track) UnmarshalCDR(d *cdr.Decoder) {
	m.Id = d.Int32("id")
	m.Altitude = d.Int32("altitude")
}

func (m *Track) MarshalKeyCDR(e *cdr.Encoder)                 { e.Int32(m.Id) }
func (m *Track) UnmarshalKeyCDR(d *cdr.Decoder)               { m.Id = d.Int32("id") }
func (*Track) TranscodeKeyCDR(d *cdr.Decoder, e *cdr.Encoder) { e.Int32(d.Int32("id")) }
