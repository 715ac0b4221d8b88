package qos

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Explain prints what a profile sets, with the place that each value comes from, inherited ones included:
//
//	Lib::Fast
//	  datawriter_qos
//	    history/depth     5           qos.xml:14:9
//	    reliability/kind  RELIABLE    qos.xml:6:9, inherited from Lib::Base
//
// What it does not print has the default of the standard.
func (p *Provider) Explain(name string) (string, error) {
	if p == nil {
		return "", errNilProvider
	}
	found, entityName, err := p.contents().find(name)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", found.name)
	shown := 0
	for kind := range entityKinds {
		for _, e := range found.visible {
			if e.kind == kind && (entityName == "" || e.name == entityName) {
				e.explain(&b, found.name)
				shown++
			}
		}
	}
	switch {
	case shown == 0 && entityName != "":
		return "", unknownProfile(name, fmt.Sprintf("%s has no element named %q", found.name, entityName), "")
	case shown == 0:
		b.WriteString("  every policy has the default of the standard\n")
	}
	return b.String(), nil
}

func (e *entity) explain(b *strings.Builder, profile string) {
	fmt.Fprintf(b, "  %v", e.kind)
	if e.name != "" {
		fmt.Fprintf(b, " name %s", e.name)
	}
	if e.filter != "" {
		fmt.Fprintf(b, " topic_filter %s", e.filter)
	}
	b.WriteString("\n")
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for i, v := range e.resolved {
		if v == nil {
			continue
		}
		fmt.Fprintf(w, "    %s\t%s\t%v", leafNames[i], v.text, v.at)
		if v.owner != profile {
			fmt.Fprintf(w, ", inherited from %s", v.owner)
		}
		fmt.Fprintln(w)
	}
	w.Flush()
}
