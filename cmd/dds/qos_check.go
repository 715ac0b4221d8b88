package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/omg-dds-go/dds/qos"
)

// errDiffer is what dds qos diff and check end with: the answer was printed, and it is no.
var errDiffer = errCriteria

func newQosCheck() *cobra.Command {
	var o profileFlags
	var topic string
	cmd := &cobra.Command{
		Use:   "check WRITER_PROFILE READER_PROFILE",
		Short: "Say whether a writer and a reader with these profiles match, and if not, why",
		Long: `Say whether a writer of one profile and a reader of another match: every policy that is offered and requested is compared, and
PARTITION as well, which no status reports. The publisher and subscriber are those of the same profiles.

The exit status is 1 if they do not match.`,
		Example: `  dds qos check Lib::Writer Lib::Reader -f qos.xml
  dds qos check ROS2::sensor_data ROS2::default                a best-effort writer and a reliable reader
  dds qos check a.xml#Lib::A b.yaml#Lib::B --topic Square`,
		Args: need(2, 2, "the profile of the writer, and that of the reader"),
		RunE: func(cmd *cobra.Command, args []string) error {
			offers, writer, err := o.find(args[0], cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			requests, reader, err := o.find(args[1], cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			c := checked{offers, requests, writer, reader, topic}
			return c.check(cmd.OutOrStdout())
		},
	}
	o.add(cmd.Flags())
	cmd.Flags().StringVar(&topic, "topic", "", "of this topic")
	return cmd
}

// checked is a writer's profile and a reader's.
type checked struct {
	offers, requests *qos.Provider
	writer, reader   string
	topic            string
}

func (c *checked) check(w io.Writer) error {
	writer, err := c.offers.DataWriter(c.writer, c.topic)
	if err != nil {
		return err
	}
	reader, err := c.requests.DataReader(c.reader, c.topic)
	if err != nil {
		return err
	}
	pub, err := groupOf(c.writer, c.offers.Publisher)
	if err != nil {
		return err
	}
	sub, err := groupOf(c.reader, c.requests.Subscriber)
	if err != nil {
		return err
	}
	problems := qos.Compatible(writer, reader, pub, sub)
	partitions := qos.PartitionsMatch(pub.Partition.Name, sub.Partition.Name)
	if len(problems) == 0 && partitions {
		fmt.Fprintf(w, "a writer of %s and a reader of %s match\n", c.writer, c.reader)
		return nil
	}
	fmt.Fprintf(w, "a writer of %s and a reader of %s do not match:\n", c.writer, c.reader)
	for _, p := range problems {
		fmt.Fprintf(w, "  %v\n", p.Policy)
		fmt.Fprintf(w, "    offered    %s%s\n", p.Offered, c.origins(c.offers, p.Policy, c.writer, qos.EntityDataWriter, qos.EntityPublisher))
		fmt.Fprintf(w, "    requested  %s%s\n", p.Requested, c.origins(c.requests, p.Policy, c.reader, qos.EntityDataReader, qos.EntitySubscriber))
	}
	if !partitions {
		fmt.Fprintf(w, "  %v, which no status reports\n", qos.PolicyPartition)
		fmt.Fprintf(w, "    publisher   %v%s\n", pub.Partition, c.origins(c.offers, qos.PolicyPartition, c.writer, qos.EntityPublisher))
		fmt.Fprintf(w, "    subscriber  %v%s\n", sub.Partition, c.origins(c.requests, qos.PolicyPartition, c.reader, qos.EntitySubscriber))
	}
	return errDiffer
}

// groupOf reads the publisher's or subscriber's QoS of a profile. A name of one of its elements is not theirs.
func groupOf[Q any](name string, get func(string) (Q, error)) (Q, error) {
	if parts := strings.SplitN(name, "::", 3); len(parts) == 3 {
		name = parts[0] + "::" + parts[1]
	}
	return get(name)
}

// origins says what set the fields of a policy.
func (c *checked) origins(p *qos.Provider, policy qos.PolicyID, name string, kinds ...qos.EntityKind) string {
	var parts []string
	for _, kind := range kinds {
		settings, err := p.Settings(kind, name, c.topic)
		if err != nil {
			continue // the name of a writer is none of a publisher
		}
		for _, s := range settings {
			if s.Policy == policy && !s.Origin.Default() {
				parts = append(parts, fmt.Sprintf("%s: %v", s.Path, s.Origin))
			}
		}
	}
	if len(parts) == 0 {
		return "  (default)"
	}
	return "  (" + strings.Join(parts, ", ") + ")"
}

func newQosDiff() *cobra.Command {
	var o profileFlags
	var topic string
	var kind qos.EntityKind
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Say in what two profiles differ",
		Long: `Say in what two profiles differ, for each kind of entity, and whether a running entity can take the change over.

The exit status is 1 if they differ.`,
		Example: `  dds qos diff Lib::A Lib::B -f qos.xml
  dds qos diff old.xml#Lib::A new.xml#Lib::A --entity writer    what an update would change`,
		Args: need(2, 2, "two profiles"),
		RunE: func(cmd *cobra.Command, args []string) error {
			from, a, err := o.find(args[0], cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			to, b, err := o.find(args[1], cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			kinds := qos.EntityKinds()
			if kind != 0 {
				kinds = []qos.EntityKind{kind}
			}
			same := true
			for _, k := range kinds {
				before, err := from.Settings(k, a, topic)
				if err != nil {
					return err
				}
				after, err := to.Settings(k, b, topic)
				if err != nil {
					return err
				}
				differ, err := printChanges(cmd.OutOrStdout(), k, before, after)
				if err != nil {
					return err
				}
				same = same && !differ
			}
			if !same {
				return errDiffer
			}
			fmt.Fprintln(cmd.OutOrStdout(), "they say the same")
			return nil
		},
	}
	f := cmd.Flags()
	o.add(f)
	entityFlag(f, &kind)
	f.StringVar(&topic, "topic", "", "of this topic")
	return cmd
}

func printChanges(w io.Writer, kind qos.EntityKind, from, to []qos.Setting) (bool, error) {
	before := map[string]qos.Setting{}
	for _, s := range from {
		before[s.Path] = s
	}
	var lines []string
	for _, s := range to {
		old := before[s.Path]
		if old.Value == s.Value {
			continue
		}
		note := "at run time"
		if !s.Policy.Changeable() {
			note = "needs a new entity"
		}
		if s.Policy.RxO() {
			note += ", offered and requested"
		}
		lines = append(lines, fmt.Sprintf("  %s\t%s -> %s\t%s\t%v -> %v", s.Path, old.Value, s.Value, note, old.Origin, s.Origin))
	}
	if len(lines) == 0 {
		return false, nil
	}
	fmt.Fprintln(w, kind)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, l := range lines {
		fmt.Fprintln(table, l)
	}
	return true, table.Flush()
}
