// Package sbs1 reads the feed of an ADS-B receiver in the SBS-1 (BaseStation) format, from a recording or from the
// TCP port on which receivers serve it, and accumulates what it tells about each aircraft.
//
//	src, err := sbs1.Open("adsb.sbs1")            // or sbs1.Dial("localhost:30003", sbs1.DialOptions{})
//	for {
//		m, err := src.Next(ctx)                    // io.EOF at the end
//		track := tracks.Apply(m)                   // all that is known of m.ICAO
//	}
//	src.Stats()                                    // lines, messages, malformed lines by number and reason
//
// A line is MSG,<type 1..8>,... of 22 fields, most of them empty in most messages. Lines of other kinds (SEL, ID, AIR,
// STA, CLK) are counted and skipped. A line that does not follow the format is counted and named, never fatal. No more
// than about a kilobyte of a line is kept, however long it is.
//
// # Cut connections
//
// A live source connects again when its connection ends, and gives up (io.EOF) when nobody answered for
// DialOptions.GiveUp. The format has no sequence numbers, so what a server does after a cut is told from the lines:
//
//  1. It goes on in the middle of the line where it was cut: the first line then does not begin with a kind of line,
//     and is joined to the half before the cut.
//  2. It sends the line that was cut again: the first new line then begins with the half, which is dropped.
//  3. It repeats complete lines that had come before the cut: the longest run of first lines that equals the last
//     lines before the cut (up to 256 of them) is dropped, and counted as resent.
//  4. Otherwise it goes on with a later line: the half is counted as malformed, and nothing else is lost.
//
// A half of so few bytes that another line begins with them too counts as sent again (rule 2): it then is not named.
//
// A connection that is cut while the server still repeats what it had sent gives those lines twice.
//
// So a server that continues where it stopped, or a little earlier, gives every complete line exactly once. What a
// server sends while nobody is connected is lost, and no client can know of it.
//
// # Ownership and concurrency
//
// A Source and a Table have one owner. Next may block; it returns when its context ends.
package sbs1
