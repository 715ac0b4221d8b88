package conductor

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/omg-dds-go/dds/examples/avionics/internal/avionics"
	"github.com/omg-dds-go/dds/examples/avionics/internal/report"
	"github.com/omg-dds-go/dds/examples/avionics/internal/roles"
	"github.com/omg-dds-go/dds/storage"
)

// readLog reads a log back from disk, after its process has gone: what is behind that number. Records without payload
// tell of writers that ended; all others are samples of FlightLog, the only logged topic.
func readLog(dir string, from uint64) report.Log {
	log := report.Log{Dir: dir}
	h := sha256.New()
	for r, err := range storage.Read(dir, storage.Options{}, storage.Version{}) {
		if err == nil && len(r.Payload) == 0 {
			continue
		}
		var v avionics.FlightLogView
		if err == nil {
			v, err = avionics.NewFlightLogView(r.Payload)
		}
		if err != nil {
			log.Error = fmt.Sprintf("%s: %v", dir, err)
			return log
		}
		if v.Number() <= from {
			continue
		}
		roles.LogEntry(h, v.Number(), r.Payload)
		log.Records++
	}
	log.Digest = hex.EncodeToString(h.Sum(nil))
	return log
}
