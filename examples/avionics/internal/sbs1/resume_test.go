package sbs1

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// testLine is the k-th line of a feed in which no two lines are equal.
func testLine(k int) string {
	m := Message{Type: 7, ICAO: uint32(k), Has: HasAltitude, AltitudeFt: 100 * (k % 400)}
	return string(m.AppendLine(nil)) + "\n"
}

func feed(n int) string {
	var b strings.Builder
	for k := range n {
		b.WriteString(testLine(k))
	}
	return b.String()
}

// splice runs the parts that connections brought through a splicer.
func splice(parts ...string) (got string, s *splicer) {
	s = &splicer{}
	var lines [][]byte
	for i, part := range parts {
		rest := part
		for {
			at := strings.IndexByte(rest, '\n')
			if at < 0 {
				break
			}
			lines = append(lines, s.line([]byte(rest[:at+1]))...)
			rest = rest[at+1:]
		}
		if i < len(parts)-1 || rest != "" {
			lines = append(lines, s.cut([]byte(rest))...)
		}
	}
	lines = append(lines, s.end()...)
	var b strings.Builder
	for _, l := range lines {
		b.Write(l)
	}
	return b.String(), s
}

func TestSpliceRules(t *testing.T) {
	all := feed(6)
	cut := len(feed(3)) + 18 // in the middle of the fourth line
	for _, c := range []struct {
		name   string
		parts  []string
		want   string
		resent int
		broken int
	}{
		{"no cut", []string{all}, all, 0, 0},
		{"goes on with the next byte", []string{all[:cut], all[cut:]}, all, 0, 0},
		{"goes on with the next byte, cut in the first one", []string{all[:len(feed(3))+1], all[len(feed(3))+1:]}, all, 0, 0},
		{"sends the cut line again", []string{all[:cut], all[len(feed(3)):]}, all, 0, 0},
		{"sends two complete lines and the cut one again", []string{all[:cut], all[len(feed(1)):]}, all, 2, 0},
		{"sends everything again", []string{all[:cut], all}, all, 3, 0},
		{"cut between lines", []string{feed(3), all[len(feed(3)):]}, all, 0, 0},
		{"cut between lines, one sent again", []string{feed(3), all[len(feed(2)):]}, all, 1, 0},
		{"loses the cut line", []string{all[:cut], all[len(feed(4)):]}, feed(3) + testLine(4) + testLine(5), 0, 1},
		{"a connection without a byte in between", []string{all[:cut], "", all[cut:]}, all, 0, 0},
		{"cut twice in one line", []string{all[:cut], all[len(feed(3)) : cut+3], all[len(feed(3)):]}, all, 0, 0},
		{"ends in the middle of a line", []string{all[:cut]}, feed(3), 0, 1},
		{"cut again while it repeats", []string{all[:cut], all[len(feed(1)):len(feed(2))], all[len(feed(3)):]},
			feed(3) + testLine(1) + testLine(3) + testLine(4) + testLine(5), 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, s := splice(c.parts...)
			assert.Equal(t, c.want, got)
			assert.Equal(t, c.resent, s.resent, "resent")
			assert.Len(t, s.broken, c.broken, "broken halves")
		})
	}
}

// A server that continues where it stopped, or some lines earlier, gives the uncut stream.
func TestSpliceAnyCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "lines")
		all := feed(n)
		var parts []string
		at, reached := 0, 0
		for range rapid.IntRange(0, 5).Draw(t, "cuts") {
			next := rapid.IntRange(reached, len(all)).Draw(t, "cut") // not within what is being repeated
			parts = append(parts, all[at:next])
			reached = next
			lineStart := strings.LastIndexByte(all[:next], '\n') + 1
			if rapid.Bool().Draw(t, "again") {
				for range rapid.IntRange(0, 3).Draw(t, "back") {
					lineStart = strings.LastIndexByte(all[:max(0, lineStart-1)], '\n') + 1
				}
				at = lineStart
				continue
			}
			at = next
		}
		parts = append(parts, all[at:])
		got, _ := splice(parts...)
		require.Equal(t, all, got, "parts %q", parts)
	})
}

// giveUp is longer than a busy machine lets nobody run: who connects again within it finds the server, which is there
// or gone for good.
const giveUp = 3 * time.Second

// server serves parts of a feed, one for each connection, and then is gone.
func server(t *testing.T, parts ...string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer l.Close()
		for i, part := range parts {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if i == len(parts)-1 {
				_ = l.Close() // before the connection ends: who comes again then is refused, however late this goroutine is
			}
			_, _ = io.WriteString(conn, part)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

func TestLiveSourceResumes(t *testing.T) {
	t.Parallel()
	all := feed(100)
	a, b, c := len(feed(20))+5, len(feed(50))+30, len(feed(80))
	addr := server(t, all[:a], all[a:b], all[len(feed(47)):c], all[c:])
	var notes []string
	s := Dial(addr, DialOptions{GiveUp: giveUp, Retry: 5 * time.Millisecond, Notify: func(text string) { notes = append(notes, text) }})
	defer s.Close()
	for k := range 100 {
		m, err := s.Next(context.Background())
		require.NoError(t, err)
		require.Equal(t, uint32(k), m.ICAO)
	}
	_, err := s.Next(context.Background())
	require.Equal(t, io.EOF, err)
	st := s.Stats()
	assert.Equal(t, []int{100, 100, 0, 3, 4}, []int{st.Lines, st.Messages, st.Malformed, st.Resent, st.Connections})
	assert.Len(t, notes, 9, "four connections, four ends, and the end of the feed")
}

func TestLiveSourceNamesALostLine(t *testing.T) {
	t.Parallel()
	all := feed(10)
	addr := server(t, all[:len(feed(4))+18], all[len(feed(5)):])
	s := Dial(addr, DialOptions{GiveUp: giveUp, Retry: 5 * time.Millisecond})
	defer s.Close()
	var err error
	for err == nil {
		_, err = s.Next(context.Background())
	}
	require.Equal(t, io.EOF, err)
	st := s.Stats()
	assert.Equal(t, []int{10, 9, 1}, []int{st.Lines, st.Messages, st.Malformed})
	assert.Equal(t, fmt.Sprintf("line 5: the connection ended in the middle of it, after %q, and it was not sent again", testLine(4)[:18]), st.Named[0].String())
}

func TestLiveSourceEndsWithItsContext(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	s := Dial(l.Addr().String(), DialOptions{}) // accepted by the kernel; nothing is ever sent
	defer s.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err = s.Next(ctx)
	assert.ErrorIs(t, err, context.DeadlineExceeded)

	addr := l.Addr().String()
	l.Close()
	s = Dial(addr, DialOptions{GiveUp: 20 * time.Millisecond, Retry: time.Millisecond})
	_, err = s.Next(context.Background())
	require.Error(t, err, "a feed that was never there is an error, not an empty feed")
	assert.Contains(t, err.Error(), "connecting to "+addr)
}

func TestRecording(t *testing.T) {
	s, err := Open(filepath.Join("..", "..", "..", "..", "..", "shared", "data", "adsb-recording.sbs1"))
	if os.IsNotExist(unwrapAll(err)) {
		t.Skipf("the recorded feed is not beside this repository: %v", err)
	}
	require.NoError(t, err)
	defer s.Close()
	var table Table
	for {
		m, err := s.Next(context.Background())
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		table.Apply(m)
	}
	st := s.Stats()
	assert.Equal(t, []int{15000, 15000, 0}, []int{st.Lines, st.Messages, st.Malformed})
	assert.Equal(t, 10, table.Len())
}

func unwrapAll(err error) error {
	for {
		u, ok := err.(interface{ Unwrap() error })
		if !ok {
			return err
		}
		err = u.Unwrap()
	}
}
