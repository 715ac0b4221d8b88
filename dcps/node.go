package dcps

import (
	"fmt"

	"github.com/omg-dds-go/dds/derecho"
)

// joinCore joins the multicast core.
func joinCore(h handler, c participantConfig) (core, error) {
	return nil, fmt.Errorf("%w: no core for domain %d", derecho.ErrClosed, c.domain)
}
