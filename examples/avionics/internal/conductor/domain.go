package conductor

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// claimDomain makes sure that this is the only run in its domain: two would take each other's samples, and blame the
// middleware. The claim is a socket with a name in the kernel alone (Linux), which is free again as soon as its process
// ends, however it does; release gives it back before. Users have domains of their own.
func claimDomain(domain uint32) (release func(), err error) {
	claim, err := net.Listen("unix", fmt.Sprintf("@omg-dds-go/avionics/%d/%d", os.Geteuid(), domain))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("another run of this program is in domain %d; wait for its end, or take another -domain (without -domain each run has its own)", domain)
	}
	if err != nil {
		return nil, fmt.Errorf("claiming domain %d: %w", domain, err)
	}
	return func() { _ = claim.Close() }, nil // nobody ever connects to it
}
