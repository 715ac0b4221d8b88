package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/omg-dds-go/dds/qos"
)

// showOptions are the flags of dds qos show.
type showOptions struct {
	profileFlags
	kind    qos.EntityKind
	topic   string
	explain bool
	all     bool
	output  string
}

func newQosShow() *cobra.Command {
	o := showOptions{output: "text"}
	cmd := &cobra.Command{
		Use:   "show [FILE] [PROFILE]",
		Short: "Show what profiles say, with everything that they inherit",
		Long: `Show what profiles say, with everything that they inherit. Without a profile, all of the file are shown.

Values that nothing sets are the default of the standard; --all shows them too. With --explain each value is followed by
the place that sets it.`,
		Example: `  dds qos show qos.xml                                        all profiles of a file
  dds qos show qos.xml Lib::Profile --explain                 with the origin of each value
  dds qos show qos.xml Lib::Profile --entity writer --all     the whole QoS of a writer
  dds qos show qos.xml Lib::Profile --topic Square --explain  what the writer and reader of a topic get
  dds qos show qos.xml Lib::Profile -o xml                    one profile that inherits nothing
  dds qos show rt/track -f fastdds.xml                        a profile of a file without libraries
  dds qos show BuiltinQosLib::Pattern.Status                  a built-in profile`,
		Args: need(1, 2, "a FILE, a FILE and a PROFILE, or Library::Profile"),
		RunE: func(cmd *cobra.Command, args []string) error {
			provider, names, err := o.profiles(args, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return o.show(cmd.OutOrStdout(), cmd.ErrOrStderr(), provider, names)
		},
	}
	f := cmd.Flags()
	o.add(f)
	entityFlag(f, &o.kind)
	f.StringVar(&o.topic, "topic", "", "only what this topic, and its writers and readers, get")
	f.BoolVar(&o.explain, "explain", false, "say where each value comes from")
	f.BoolVar(&o.all, "all", false, "show defaults of the standard too")
	f.VarP(oneOf{&o.output, []string{"text", "yaml", "xml", "json"}}, "output", "o", "how to print")
	return cmd
}

// profiles finds what the arguments name.
func (o *showOptions) profiles(args []string, stderr io.Writer) (*qos.Provider, []string, error) {
	if len(args) == 2 || isFile(args[0], len(o.files) > 0) {
		o.files = append(o.files, args[0])
		args = args[1:]
	}
	if len(args) == 0 {
		provider, err := o.load(o.files, stderr)
		if err != nil {
			return nil, nil, err
		}
		return provider, provider.Profiles(), nil
	}
	provider, name, err := o.find(args[len(args)-1], stderr)
	return provider, []string{name}, err
}

func (o *showOptions) show(w, stderr io.Writer, provider *qos.Provider, names []string) error {
	var found []shownProfile
	for _, name := range names {
		p, err := o.profile(provider, name)
		if err != nil {
			return err
		}
		switch o.output {
		case "xml", "yaml":
			if err := o.document(w, stderr, provider, p); err != nil {
				return err
			}
		case "text":
			if err := p.print(w, o); err != nil {
				return err
			}
		}
		found = append(found, p)
	}
	if o.output != "json" {
		return nil
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(found)
}

// shownProfile is a profile as it is printed in JSON.
type shownProfile struct {
	Profile  string         `json:"profile"`
	Elements []shownElement `json:"elements"`
}

type shownElement struct {
	Entity      string         `json:"entity"`
	Name        string         `json:"name,omitempty"`
	TopicFilter string         `json:"topic_filter,omitempty"`
	Settings    []shownSetting `json:"settings"`

	element qos.Element
}

type shownSetting struct {
	Path    string `json:"path"`
	Value   string `json:"value"`
	Profile string `json:"profile,omitempty"` // that sets it
	Place   string `json:"place,omitempty"`

	setting qos.Setting
}

func (o *showOptions) profile(provider *qos.Provider, name string) (shownProfile, error) {
	elements, err := provider.Elements(name)
	if err != nil {
		return shownProfile{}, err
	}
	out := shownProfile{Profile: name}
	if o.topic != "" || o.all {
		elements, err = o.complete(provider, name, elements)
		if err != nil {
			return shownProfile{}, err
		}
	}
	for _, e := range elements {
		if o.kind != 0 && e.Kind != o.kind {
			continue
		}
		settings, err := provider.ElementSettings(name, e)
		if err != nil {
			return shownProfile{}, err
		}
		shown := shownElement{Entity: e.Kind.String(), Name: e.Name, TopicFilter: e.TopicFilter, element: e, Settings: []shownSetting{}}
		for _, s := range settings {
			if s.Origin.Default() && !o.all {
				continue
			}
			line := shownSetting{Path: s.Path, Value: s.Value, setting: s}
			if o.explain && !s.Origin.Default() {
				line.Profile = s.Origin.Profile
				line.Place = fmt.Sprintf("%s:%d:%d", s.Origin.File, s.Origin.Line, s.Origin.Col)
			}
			shown.Settings = append(shown.Settings, line)
		}
		out.Elements = append(out.Elements, shown)
	}
	return out, nil
}

// complete gives one element for each kind of entity: the one that the topic selects, or with --all one that has only
// defaults where the profile has none.
func (o *showOptions) complete(provider *qos.Provider, name string, have []qos.Element) ([]qos.Element, error) {
	var out []qos.Element
	for _, kind := range qos.EntityKinds() {
		before := len(out)
		if o.topic != "" {
			e, ok, err := provider.Select(kind, name, o.topic)
			switch {
			case err != nil && before == len(out) && o.kind == kind:
				return nil, err
			case ok:
				out = append(out, e)
			}
		} else {
			for _, e := range have {
				if e.Kind == kind {
					out = append(out, e)
				}
			}
		}
		if o.all && before == len(out) {
			out = append(out, qos.Element{Kind: kind})
		}
	}
	return out, nil
}

// document prints the elements that p has as one profile that inherits nothing.
func (o *showOptions) document(w, stderr io.Writer, provider *qos.Provider, p shownProfile) error {
	keep := map[qos.Element]bool{}
	for _, e := range p.Elements {
		keep[e.element] = true
	}
	alone, err := provider.Resolve(p.Profile, func(e qos.Element) bool { return keep[e] })
	if err != nil {
		return err
	}
	text, lost, err := converted(alone, map[string]string{"yaml": "yaml", "xml": "standard"}[o.output])
	if err != nil {
		return err
	}
	for _, l := range lost {
		fmt.Fprintln(stderr, "lost:", l)
	}
	_, err = io.WriteString(w, text)
	return err
}

func (p shownProfile) print(w io.Writer, o *showOptions) error {
	fmt.Fprintln(w, p.Profile)
	empty := true
	for _, e := range p.Elements {
		if len(e.Settings) == 0 {
			continue
		}
		empty = false
		fmt.Fprintf(w, "  %s", e.Entity)
		if e.Name != "" {
			fmt.Fprintf(w, " name %s", e.Name)
		}
		if e.TopicFilter != "" {
			fmt.Fprintf(w, " topic_filter %s", e.TopicFilter)
		}
		fmt.Fprintln(w)
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, s := range e.Settings {
			fmt.Fprintf(table, "    %s\t%s", s.Path, s.Value)
			if o.explain {
				fmt.Fprintf(table, "\t%v", s.setting.Origin)
			}
			fmt.Fprintln(table)
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	if empty {
		fmt.Fprintln(w, "  every policy has the default of the standard; --all shows them")
	}
	return nil
}
