package isolate_test

import (
	"fmt"
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/bench/internal/isolate"
)

func TestMain(m *testing.M) {
	if err := isolate.Possible(); err != nil {
		fmt.Println("SKIP:", err)
		return
	}
	os.Exit(isolate.Main(m.Run))
}

func TestThereIsOnlyALoopbackThatCarriesMulticast(t *testing.T) {
	all, err := net.Interfaces()
	require.NoError(t, err)
	var up []string
	for _, i := range all {
		if i.Flags&net.FlagUp != 0 {
			up = append(up, i.Name)
			assert.NotZero(t, i.Flags&net.FlagMulticast, "%s has flags %s", i.Name, i.Flags)
		}
	}
	assert.Equal(t, []string{"lo"}, up)
}

func TestSharedMemoryIsEmptyAndOurs(t *testing.T) {
	files, err := os.ReadDir("/dev/shm")
	require.NoError(t, err)
	assert.Empty(t, files)
	require.NoError(t, os.WriteFile("/dev/shm/mark", nil, 0o600), "it must be writable, and gone with this process")
}
