package dcps

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/omg-dds-go/dds/internal/suggest"
	"github.com/omg-dds-go/dds/qos"
)

// variables are those of the environment that count.
var variables = []string{
	"DDS_TRANSPORT", "DDS_PEERS", "DDS_LISTEN", "DDS_DIR", "DDS_LEASE", "DDS_SPIN", "DDS_SLICE", "DDS_LEND", "DDS_WITNESS", "DDS_SPINDLE",
	qos.ProfilesVariable,
}

// misspelt is a problem for each variable that is named like one of ours but for one letter. Other middleware has variables that
// begin with DDS_, too, so none of others is an error, and nothing is told where the one that it is like is set as well.
func misspelt(environment []string) error {
	set := map[string]bool{}
	for _, v := range environment {
		name, _, _ := strings.Cut(v, "=")
		set[name] = true
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if !strings.HasPrefix(name, "DDS_") || slices.Contains(variables, name) {
			continue
		}
		if ours, near := suggest.Nearest(name, slices.Values(variables), 1); near && !set[ours] {
			names = append(names, fmt.Sprintf("%s (did you mean %s?)", name, ours))
		}
	}
	if names == nil {
		return nil
	}
	return &Error{Op: "NewDomainParticipant", Entity: "environment", Code: ErrBadParameter,
		Detail: "this variable has no effect here: " + strings.Join(names, ", ") + "; set the one that is meant, or unset it unless it is for another program"}
}
