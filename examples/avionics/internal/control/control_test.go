package control

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/examples/avionics/internal/order"
)

func TestMessagesTravel(t *testing.T) {
	var pipe bytes.Buffer
	w := NewWriter(&pipe)
	sent := Event{Kind: Reported, Report: &Report{Role: "display1", Subscriptions: []Subscription{{
		Topic: "Position", Result: order.Result{Delivered: 3, Digest: "ab"}, Latency: []byte{1, 2}, History: 7,
	}}}}
	require.NoError(t, w.Send(sent))
	require.NoError(t, w.Send(Event{Kind: Done, Published: map[string]uint64{"Position": 3}}))
	r := NewReader(&pipe)
	var a, b, c Event
	require.NoError(t, r.Next(&a))
	require.NoError(t, r.Next(&b))
	assert.Equal(t, sent, a)
	assert.Equal(t, uint64(3), b.Published["Position"])
	assert.Equal(t, io.EOF, r.Next(&c))
}

func TestBadMessages(t *testing.T) {
	var e Event
	assert.ErrorIs(t, NewReader(strings.NewReader("{nonsense\n")).Next(&e), ErrMessage)
	assert.Error(t, NewReader(strings.NewReader(strings.Repeat("x", maxMessage+1))).Next(&e))
	assert.ErrorIs(t, NewWriter(gone{}).Send(e), errGone)
}

var errGone = errors.New("pipe is gone")

type gone struct{}

func (gone) Write([]byte) (int, error) { return 0, errGone }
