package dcps

import "github.com/omg-dds-go/dds/cdr"

// track is written by hand in the shape that idlgen emits:
//
//	@final struct Track { @key long id; long value; string text; };
type track struct {
	ID    int32
	Value int32
	Text  string
}

var trackType = cdr.Define(cdr.TypeInfo{
	Name: "test::Track", Keyed: true, MaxSize: -1, MaxKeySize: 4,
	Text: "@final struct test::Track { @key long id; long value; string text; };",
})

func (*track) CDRType() *cdr.TypeInfo { return trackType }

func (m *track) MarshalCDR(e *cdr.Encoder) {
	e.Int32(m.ID)
	e.Int32(m.Value)
	e.String("text", m.Text, 0)
}

func (m *track) UnmarshalCDR(d *cdr.Decoder) {
	m.ID = d.Int32("id")
	m.Value = d.Int32("value")
	m.Text = d.String("text", 0)
}

func (m *track) MarshalKeyCDR(e *cdr.Encoder)   { e.Int32(m.ID) }
func (m *track) UnmarshalKeyCDR(d *cdr.Decoder) { m.ID = d.Int32("id") }

func (*track) TranscodeKeyCDR(d *cdr.Decoder, e *cdr.Encoder) { e.Int32(d.Int32("id")) }

// wideTrack has the name of track and another definition.
type wideTrack struct{ track }

var wideTrackType = cdr.Define(cdr.TypeInfo{
	Name: "test::Track", Keyed: true, MaxSize: -1, MaxKeySize: 4,
	Text: "@final struct test::Track { @key long id; long value; string text; double extra; };",
})

func (*wideTrack) CDRType() *cdr.TypeInfo { return wideTrackType }

// note has no key, and a bounded string:
//
//	@final struct Note { string<8> text; };
type note struct{ Text string }

var noteType = cdr.Define(cdr.TypeInfo{
	Name: "test::Note", MaxSize: 13, Text: "@final struct test::Note { string<8> text; };",
})

func (*note) CDRType() *cdr.TypeInfo                         { return noteType }
func (m *note) MarshalCDR(e *cdr.Encoder)                    { e.String("text", m.Text, 8) }
func (m *note) UnmarshalCDR(d *cdr.Decoder)                  { m.Text = d.String("text", 8) }
func (m *note) MarshalKeyCDR(*cdr.Encoder)                   {}
func (m *note) UnmarshalKeyCDR(*cdr.Decoder)                 {}
func (*note) TranscodeKeyCDR(d *cdr.Decoder, e *cdr.Encoder) {}
