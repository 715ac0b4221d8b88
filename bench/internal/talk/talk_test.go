package talk

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProcessesAreToldAndTell(t *testing.T) {
	p, err := Start(context.Background(), map[string]int{"n": 7}, "sh", "-c", `read go; echo "$0"; echo "$go"; read end; exit 0`)
	require.NoError(t, err)
	require.NoError(t, p.Tell("on"))
	var o struct{ N int }
	require.NoError(t, p.Outcome(&o))
	require.Equal(t, 7, o.N)
	line, err := p.Line()
	require.NoError(t, err)
	require.Equal(t, "on", line)
	require.NoError(t, End(p))
}

func TestWhatAProcessSaysThatFails(t *testing.T) {
	a, err := Start(context.Background(), nil, "sh", "-c", "echo no >&2; exit 3")
	require.NoError(t, err)
	b, err := Start(context.Background(), nil, "sh", "-c", "echo 1; read end; exit 0")
	require.NoError(t, err)
	_, err = a.Line()
	require.ErrorContains(t, err, "ended early")
	var s string
	require.ErrorContains(t, b.Outcome(&s), `"1"`, "no string")
	require.ErrorContains(t, End(a, b), "no")
}
