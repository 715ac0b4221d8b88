package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/omg-dds-go/dds/qos"
	_ "github.com/omg-dds-go/dds/qos/qosyaml" // makes YAML readable
)

func newQos() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "qos",
		Short: "Read, check and convert QoS profiles",
		Long: `Read, check and convert QoS profiles.

Files are DDS-XML of the standard, or what RTI Connext, Fast DDS, OpenDDS and Cyclone DDS read, or YAML; which it is,
is found out. Profiles of RTI and ROS 2 are built in, and so are the four delivery levels of this DDS.

  dds qos validate qos.xml                            everything that is wrong, with line and column
  dds qos list qos.xml                                the profiles of a file
  dds qos list --builtin                              those that need no file
  dds qos show qos.xml Lib::Profile --explain         each value, and where it comes from
  dds qos show Delivery::Logged                       a built-in profile
  dds qos check Lib::Writer Lib::Reader -f qos.xml    do they match? if not, why
  dds qos diff Lib::A Lib::B -f qos.xml               in what do they differ
  dds qos convert fastdds.xml --to yaml               the same in another format

A profile is Library::Profile, or Profile alone in files of Fast DDS and OpenDDS; file.xml#Profile says its file as well.
Without a file, those are read that a program reads: $DDS_QOS_PROFILES (or $NDDS_QOS_PROFILES), and USER_QOS_PROFILES.xml in
the working directory. All policies are described in docs/qos.md.`,
	}
	cmd.AddCommand(newQosValidate(), newQosList(), newQosShow(), newQosCheck(), newQosDiff(), newQosConvert())
	return cmd
}

// profileFlags say where profiles are.
type profileFlags struct {
	files  []string
	strict bool
}

func (p *profileFlags) add(f *pflag.FlagSet) {
	f.StringArrayVarP(&p.files, "file", "f", nil, "read this file; several times, later ones may refer to earlier ones")
	p.addStrict(f)
}

func (p *profileFlags) addStrict(f *pflag.FlagSet) {
	f.BoolVar(&p.strict, "strict", false, "make errors of warnings, such as elements without effect")
}

// load reads files, or what a program would read if there are none, and prints warnings.
func (p *profileFlags) load(files []string, stderr io.Writer) (*qos.Provider, error) {
	provider := qos.NewProvider(qos.Options{Strict: p.strict})
	if len(files) == 0 {
		if err := provider.LoadEnvironment(""); err != nil {
			return nil, err
		}
	}
	for _, f := range files {
		if err := provider.LoadFile(f); err != nil {
			return nil, errorIn(f, err)
		}
	}
	for _, w := range provider.Warnings() {
		fmt.Fprintln(stderr, "warning:", w)
	}
	return provider, nil
}

// errorIn says how many errors there are, below which their lines follow.
func errorIn(file string, err error) error {
	var errs qos.XMLErrors
	if !errors.As(err, &errs) || len(errs) == 1 {
		return err
	}
	return fmt.Errorf("%d errors in %s:\n%w", len(errs), file, err)
}

// find gives the profile that an argument names, in its own file or in those of the flags.
func (p *profileFlags) find(argument string, stderr io.Writer) (*qos.Provider, string, error) {
	files := p.files
	if file, name, ok := strings.Cut(argument, "#"); ok {
		files, argument = append(files[:len(files):len(files)], file), name
	}
	provider, err := p.load(files, stderr)
	if err != nil {
		return nil, "", err
	}
	_, err = provider.Elements(argument)
	return provider, argument, err
}

// isFile says whether an argument is a file and no profile. With files from flags, what is no file is a profile; without, only
// what has a library is, so that the name of a file that is missing is not looked up as one.
func isFile(argument string, haveFiles bool) bool {
	_, err := os.Stat(argument)
	return err == nil || !haveFiles && !strings.Contains(argument, "::")
}

// oneOf is a flag that takes one of a few words.
type oneOf struct {
	value *string
	words []string
}

func (o oneOf) String() string { return *o.value }
func (o oneOf) Type() string   { return strings.Join(o.words, "|") }

func (o oneOf) Set(s string) error {
	for _, w := range o.words {
		if s == w {
			*o.value = s
			return nil
		}
	}
	return fmt.Errorf("%q is none of %s", s, strings.Join(o.words, ", "))
}

// entityFlag is a flag that takes the name of an entity.
func entityFlag(f *pflag.FlagSet, kind *qos.EntityKind) {
	f.Var(&parsed[qos.EntityKind]{kind, "entity", qos.ParseEntityKind, ""}, "entity",
		"only this: participant, topic, publisher, subscriber, writer or reader")
}

// need makes an error of use of a wrong number of arguments.
func need(least, most int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < least || most >= 0 && len(args) > most {
			if len(args) == 1 {
				return fmt.Errorf("1 argument: say %s", what)
			}
			return fmt.Errorf("%d arguments: say %s", len(args), what)
		}
		return nil
	}
}
