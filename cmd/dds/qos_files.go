package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/qos/qosyaml"
)

func newQosValidate() *cobra.Command {
	var o profileFlags
	cmd := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Say everything that is wrong in files of profiles",
		Long: `Say everything that is wrong in files of profiles: one line for each error, as file:line:col: path: what; hint. Later files
may refer to profiles of earlier ones.

The exit status is 1 if there is an error.`,
		Example: `  dds qos validate qos.xml
  dds qos validate --strict *.xml        elements that have no effect here are errors, too`,
		Args: need(1, -1, "at least one FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.validate(cmd.OutOrStdout(), args)
		},
	}
	o.addStrict(cmd.Flags())
	return cmd
}

func (p *profileFlags) validate(w io.Writer, files []string) error {
	provider := qos.NewProvider(qos.Options{Strict: p.strict})
	failed := false
	for _, f := range files {
		profiles, warnings := len(provider.Profiles()), len(provider.Warnings())
		err := provider.LoadFile(f)
		for _, warning := range provider.Warnings()[warnings:] {
			fmt.Fprintln(w, "warning:", warning)
		}
		var errs qos.XMLErrors
		switch {
		case err == nil:
			fmt.Fprintf(w, "%s: %s, %s\n", f, count(len(provider.Profiles())-profiles, "profile"),
				count(len(provider.Warnings())-warnings, "warning"))
		case errors.As(err, &errs):
			failed = true
			fmt.Fprintln(w, err)
			fmt.Fprintf(w, "%s: %s\n", f, count(len(errs), "error"))
		default:
			return err
		}
	}
	if failed {
		return errCriteria
	}
	return nil
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func newQosList() *cobra.Command {
	var o profileFlags
	var builtin bool
	cmd := &cobra.Command{
		Use:   "list [FILE...]",
		Short: "List profiles and what they have",
		Example: `  dds qos list qos.xml
  dds qos list                a program's: $DDS_QOS_PROFILES and USER_QOS_PROFILES.xml
  dds qos list --builtin      those that need no file`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			names := qos.BuiltinProfiles()
			provider := new(qos.Provider)
			if !builtin || len(args) > 0 {
				var err error
				if provider, err = o.load(args, cmd.ErrOrStderr()); err != nil {
					return err
				}
				names = provider.Profiles()
			}
			for _, name := range names {
				elements, err := provider.Elements(name)
				if err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), listed(provider, name, elements))
			}
			if len(names) == 0 {
				fmt.Fprintln(cmd.ErrOrStderr(), "dds: no profiles; --builtin lists those that need no file")
			}
			return nil
		},
	}
	o.addStrict(cmd.Flags())
	cmd.Flags().BoolVar(&builtin, "builtin", false, "list the built-in profiles")
	return cmd
}

// listed is one line: the profile, its kinds of entities, their filters and names.
func listed(p *qos.Provider, name string, elements []qos.Element) string {
	var parts []string
	for _, e := range elements {
		text := strings.TrimSuffix(e.Kind.String(), "_qos")
		switch {
		case e.Name != "":
			text += "::" + e.Name
		case e.TopicFilter != "":
			text += "[" + e.TopicFilter + "]"
		}
		if p.DefaultProfile(e.Kind) == name && e.Name == "" && e.TopicFilter == "" {
			text += " (default)"
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return name
	}
	return name + "  " + strings.Join(parts, ", ")
}

func newQosConvert() *cobra.Command {
	var o profileFlags
	to, output := "", ""
	cmd := &cobra.Command{
		Use:   "convert FILE... --to FORMAT",
		Short: "Write profiles in another format",
		Long: `Write the profiles of files in another format. What the format has no words for is listed on standard error, and so is what
of the files has no effect here; with --strict that is an error, and nothing is written. Inheritance stays where the format
has it: YAML all of it, RTI's but for our own profiles, the standard's with one base, and Fast DDS's none.`,
		Example: `  dds qos convert fastdds.xml --to standard
  dds qos convert USER_QOS_PROFILES.xml --to yaml --output qos.yaml`,
		Args: need(1, -1, "at least one FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if to == "" {
				return usageError{errors.New("--to is missing: standard, rti, fastdds or yaml")}
			}
			provider, err := o.load(args, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			text, lost, err := converted(provider, to)
			if err != nil {
				return err
			}
			for _, l := range lost {
				fmt.Fprintln(cmd.ErrOrStderr(), "lost:", l)
			}
			if o.strict && len(lost) > 0 {
				return errCriteria
			}
			if output != "" {
				return os.WriteFile(output, []byte(text), 0o644)
			}
			_, err = io.WriteString(cmd.OutOrStdout(), text)
			return err
		},
	}
	f := cmd.Flags()
	o.addStrict(f)
	f.Var(oneOf{&to, []string{"standard", "rti", "fastdds", "yaml"}}, "to", "the format")
	f.StringVar(&output, "output", "", "write to this file in place of standard output")
	return cmd
}

func converted(p *qos.Provider, to string) (text string, lost []string, err error) {
	var b strings.Builder
	switch to {
	case "yaml":
		lost, err = qosyaml.Write(&b, p)
	case "rti":
		lost, err = p.WriteXML(&b, qos.DialectRTI)
	case "fastdds":
		lost, err = p.WriteXML(&b, qos.DialectFastDDS)
	default:
		lost, err = p.WriteXML(&b, qos.DialectStandard)
	}
	return b.String(), lost, err
}
