package cdr

// fix and track are written by hand in the shape that idlgen emits, so that this package is tested without it.
//
//	@final struct fix { double lat; octet quality; };
//	@appendable struct track { octet kind; @key string<8> icao; fix at; sequence<fix, 4> past; sequence<long> raw; };
type fix struct {
	Lat     float64
	Quality uint8
}

var fixType = Define(TypeInfo{Name: "test::fix", MaxSize: 9, Text: "@final struct fix { double lat; octet quality; };"})

func (m *fix) CDRType() *TypeInfo { return fixType }

func (m *fix) MarshalCDR(e *Encoder) {
	switch b, fast := e.Run(4, 9); {
	case b != nil:
		PutFloat64(b, m.Lat)
		b[8] = m.Quality
	case !fast:
		e.Float64(m.Lat)
		e.Uint8(m.Quality)
	}
}

func (m *fix) UnmarshalCDR(d *Decoder) {
	s := d.Begin(Final)
	if b := d.Run(4, 9); b != nil {
		m.Lat = GetFloat64(b)
		m.Quality = b[8]
	} else {
		m.Lat = d.Float64("lat")
		m.Quality = d.Uint8("quality")
	}
	d.End(s)
}

func (m *fix) MarshalKeyCDR(e *Encoder)   { m.MarshalCDR(e) }
func (m *fix) UnmarshalKeyCDR(d *Decoder) { m.UnmarshalCDR(d) }
func (*fix) TranscodeKeyCDR(d *Decoder, e *Encoder) {
	e.Float64(d.Float64("lat"))
	e.Uint8(d.Uint8("quality"))
}

type track struct {
	Kind uint8
	Icao string
	At   fix
	Past []fix
	Raw  []int32
}

var trackType = Define(TypeInfo{Name: "test::track", Extensibility: Appendable, Keyed: true, MaxSize: -1, MaxKeySize: 13, Text: "track"})

func (m *track) CDRType() *TypeInfo { return trackType }

func (m *track) MarshalCDR(e *Encoder) {
	s := e.Begin(Appendable)
	e.Uint8(m.Kind)
	e.String("icao", m.Icao, 8)
	if e.Enter() {
		m.At.MarshalCDR(e)
		e.Leave("at")
	}
	q := e.BeginSequence("past", len(m.Past), 4, false)
	for i := range m.Past {
		if !e.Enter() {
			break
		}
		m.Past[i].MarshalCDR(e)
		e.LeaveElement("past", i)
	}
	e.End(q)
	EncodeSequence(e, "raw", m.Raw, 0)
	e.End(s)
}

func (m *track) UnmarshalCDR(d *Decoder) {
	s := d.Begin(Appendable)
	m.Kind = d.Uint8("kind")
	m.Icao = d.String("icao", 8)
	if d.Enter() {
		m.At.UnmarshalCDR(d)
		d.Leave("at")
	}
	n, q := d.BeginSequence("past", 4, 9, false)
	m.Past = GrowSequence(d, "past", m.Past, n)
	for i := range m.Past {
		if !d.Enter() {
			break
		}
		m.Past[i].UnmarshalCDR(d)
		d.LeaveElement("past", i)
	}
	d.End(q)
	m.Raw = DecodeSequence(d, "raw", m.Raw, 0)
	d.End(s)
}

func (m *track) MarshalKeyCDR(e *Encoder)   { e.String("icao", m.Icao, 8) }
func (m *track) UnmarshalKeyCDR(d *Decoder) { m.Icao = d.String("icao", 8) }

func (*track) TranscodeKeyCDR(d *Decoder, e *Encoder) {
	s := d.Begin(Appendable)
	d.Skip("kind", 1, 1)
	CopyString(d, e, "icao", 8)
	d.End(s)
}

// chain is recursive: struct chain { sequence<chain> next; };
type chain struct{ Next []chain }

var chainType = Define(TypeInfo{Name: "test::chain", MaxSize: -1, MaxKeySize: 0, Text: "chain"})

func (m *chain) CDRType() *TypeInfo { return chainType }

func (m *chain) MarshalCDR(e *Encoder) {
	q := e.BeginSequence("next", len(m.Next), 0, false)
	for i := range m.Next {
		if !e.Enter() {
			break
		}
		m.Next[i].MarshalCDR(e)
		e.LeaveElement("next", i)
	}
	e.End(q)
}

func (m *chain) UnmarshalCDR(d *Decoder) {
	n, q := d.BeginSequence("next", 0, 4, false)
	m.Next = GrowSequence(d, "next", m.Next, n)
	for i := range m.Next {
		if !d.Enter() {
			break
		}
		m.Next[i].UnmarshalCDR(d)
		d.LeaveElement("next", i)
	}
	d.End(q)
}

func (m *chain) MarshalKeyCDR(e *Encoder)             { m.MarshalCDR(e) }
func (m *chain) UnmarshalKeyCDR(d *Decoder)           { m.UnmarshalCDR(d) }
func (*chain) TranscodeKeyCDR(d *Decoder, e *Encoder) {}

var (
	_ Message = (*fix)(nil)
	_ Message = (*track)(nil)
	_ Message = (*chain)(nil)
)
