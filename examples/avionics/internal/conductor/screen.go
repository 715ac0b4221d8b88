package conductor

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// screen shows what the displays show: tables that stay in place on a terminal, else one line after another.
type screen struct {
	out    io.Writer
	live   bool                       // out is a terminal
	size   func() (width, height int) // of the terminal
	order  []string
	frames map[string][]string
	drawn  int // lines of the tables on the terminal
}

// newScreen makes the screen of a file, which may be a terminal.
func newScreen(out *os.File) *screen {
	fd := int(out.Fd())
	s := &screen{out: out, live: term.IsTerminal(fd), frames: make(map[string][]string)}
	s.size = func() (width, height int) {
		w, h, err := term.GetSize(fd)
		if err != nil || w <= 0 || h <= 0 {
			return 80, 24
		}
		return w, h
	}
	return s
}

// frame takes what a display shows now.
func (s *screen) frame(role string, lines []string) {
	if !s.live {
		for _, line := range lines {
			s.print(role + "  " + line + "\n")
		}
		return
	}
	if _, known := s.frames[role]; !known {
		s.order = append(s.order, role)
	}
	s.frames[role] = lines
	s.redraw()
}

// say prints a line above the tables.
func (s *screen) say(format string, args ...any) {
	s.erase()
	s.print(fmt.Sprintf(format, args...) + "\n")
	s.redraw()
}

// leave lets the tables stand as they are: what follows is printed below them.
func (s *screen) leave() {
	s.drawn = 0
	s.live = false
}

func (s *screen) redraw() {
	if !s.live || len(s.order) == 0 {
		return
	}
	var b strings.Builder
	b.WriteString(s.eraser())
	n := 0
	width, height := s.size()
	// What has scrolled off the top can not be drawn again: each display gets its share of the lines.
	share := max(1, (height-1)/len(s.order)-1)
	put := func(line string) {
		b.WriteString(crop(line, width) + "\n")
		n++
	}
	for _, role := range s.order {
		put("--- " + role + " " + strings.Repeat("-", max(0, min(width, 100)-len(role)-5)))
		lines := s.frames[role]
		for _, line := range lines[:min(share, len(lines))] {
			put(line)
		}
	}
	s.print(b.String())
	s.drawn = n
}

func (s *screen) erase() {
	if s.live {
		s.print(s.eraser())
		s.drawn = 0
	}
}

// eraser moves to the first line of the tables and clears from there on.
func (s *screen) eraser() string {
	if s.drawn == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\x1b[J", s.drawn)
}

func (s *screen) print(text string) {
	_, _ = io.WriteString(s.out, text) // a terminal that is gone is no reason to end the run
}

// crop cuts a line so that it does not wrap.
func crop(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:width])
}
