package filter

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/omg-dds-go/dds/xtypes"
)

// Table holds, for each topic of a Join, the present sample of each instance, and the rows that come of them: one for
// each choice of one sample of every topic that are equal in all that the topics have in common, and satisfy the
// condition. A change of one sample costs what there is to find, and not a look at all others: each topic is indexed by
// what the others look for.
//
// It is a plain value: no lock, no goroutine, no clock.
type Table struct {
	join   *Join
	tuples []map[Instance]*tuple // by topic
	index  []map[string]map[*tuple]struct{}
	rows   map[string]*Row
	lastID uint64
	pass   uint64
}

// Instance names an instance of a topic: its handle.
type Instance = [16]byte

// tuple is the present sample of an instance.
type tuple struct {
	id       uint64
	sample   []byte
	at       int64
	data     *xtypes.Data // once somebody asks for it
	values   []string     // of what the topics have in common, by common; of those that the topic has
	joinable bool         // it has all of them: what a sample lacks equals nothing
	rows     map[*Row]struct{}
}

// Row is one combination of samples that is in the join. It stays the same while its samples change.
type Row struct {
	key  string // the ids of its tuples
	of   []*tuple
	pass uint64
}

// Change is what becomes of one row.
type Change struct {
	Row *Row
	// Sample is the new sample of the row, encoded; nil if the row is not in the join any more.
	Sample []byte
	// At is the latest of the times that its samples came with.
	At int64
	// Disposed: the row has ended because one of its instances was disposed.
	Disposed bool
}

// NewTable makes an empty table.
func (j *Join) NewTable() *Table {
	t := &Table{join: j, rows: make(map[string]*Row)}
	for range j.topics {
		t.tuples = append(t.tuples, make(map[Instance]*tuple))
	}
	for range j.needs {
		t.index = append(t.index, make(map[string]map[*tuple]struct{}))
	}
	return t
}

// Put gives an instance of a topic a sample, which is copied, and tells what changes by it: first the rows that have a
// new sample, then those that have ended. A sample that can not be read is an error, and changes nothing.
func (t *Table) Put(topic int, in Instance, sample []byte, at int64) ([]Change, error) {
	next := &tuple{sample: slices.Clone(sample), at: at}
	if _, err := next.decoded(t.join.topics[topic].typ); err != nil {
		return nil, err
	}
	next.evaluate(t.join, topic)
	x := t.tuples[topic][in]
	if x == nil {
		t.lastID++
		x = &tuple{id: t.lastID, rows: make(map[*Row]struct{})}
		t.tuples[topic][in] = x
	} else {
		t.unlist(topic, x)
	}
	x.sample, x.at, x.data, x.values, x.joinable = next.sample, at, next.data, next.values, next.joinable
	t.list(topic, x)
	return t.rejoin(topic, x)
}

// Remove says that an instance is not alive any more: all its rows have ended.
func (t *Table) Remove(topic int, in Instance, at int64, disposed bool) []Change {
	x := t.tuples[topic][in]
	if x == nil {
		return nil
	}
	t.unlist(topic, x)
	delete(t.tuples[topic], in)
	var out []Change
	for _, r := range sorted(x.rows) {
		t.end(r)
		out = append(out, Change{Row: r, At: at, Disposed: disposed})
	}
	return out
}

// Follow goes on with the same join with other parameters, and tells what changes by them.
func (t *Table) Follow(j *Join) ([]Change, error) {
	t.join = j
	instances := make([]*tuple, 0, len(t.tuples[0]))
	for _, x := range t.tuples[0] {
		instances = append(instances, x)
	}
	slices.SortFunc(instances, func(a, b *tuple) int { return cmp.Compare(a.id, b.id) })
	had := make(map[*Row]bool, len(t.rows))
	for _, r := range t.rows {
		had[r] = true
	}
	var fresh, ended []Change
	for _, x := range instances {
		changes, err := t.rejoin(0, x)
		if err != nil {
			return nil, err
		}
		for _, c := range changes {
			switch {
			case c.Sample == nil:
				ended = append(ended, c)
			case !had[c.Row]:
				fresh = append(fresh, c)
			}
		}
	}
	return append(fresh, ended...), nil
}

// Len is the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// rejoin finds the rows of a tuple anew.
func (t *Table) rejoin(topic int, x *tuple) ([]Change, error) {
	t.pass++
	var out []Change
	for _, of := range t.matches(topic, x) {
		if !t.join.passes(of) {
			continue
		}
		sample, err := t.join.project(of)
		if err != nil {
			return nil, err
		}
		c := Change{Row: t.row(of), Sample: sample, At: of[0].at}
		for _, o := range of {
			c.At = max(c.At, o.at)
		}
		c.Row.pass = t.pass
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Change) int { return strings.Compare(a.Row.key, b.Row.key) })
	for _, r := range sorted(x.rows) {
		if r.pass != t.pass {
			t.end(r)
			out = append(out, Change{Row: r, At: x.at})
		}
	}
	return out, nil
}

// row gives the row of a combination.
func (t *Table) row(of []*tuple) *Row {
	key := make([]byte, 0, 8*len(of))
	for _, x := range of {
		key = binary.BigEndian.AppendUint64(key, x.id)
	}
	r := t.rows[string(key)]
	if r == nil {
		r = &Row{key: string(key), of: of}
		t.rows[r.key] = r
		for _, x := range of {
			x.rows[r] = struct{}{}
		}
	}
	return r
}

func (t *Table) end(r *Row) {
	delete(t.rows, r.key)
	for _, x := range r.of {
		delete(x.rows, r)
	}
}

// sorted lists rows in the order in which their instances came.
func sorted(rows map[*Row]struct{}) []*Row {
	out := make([]*Row, 0, len(rows))
	for r := range rows {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *Row) int { return strings.Compare(a.key, b.key) })
	return out
}

// plan is how the rows of a tuple of one topic are found: topic by topic, through an index.
type plan []step

type step struct {
	topic int
	index int // in Join.needs
}

// index is what tuples of a topic are looked up by: their values of some of what is in common.
type index struct {
	topic int
	by    []int // ascending
}

// plan orders, for each topic, the others: next is always one that has the most in common with those before.
func (j *Join) plan() {
	for first := range j.topics {
		var p plan
		bound := make([]bool, len(j.common))
		done := make([]bool, len(j.topics))
		take := func(topic int) {
			done[topic] = true
			for i, c := range j.common {
				bound[i] = bound[i] || c.of[topic] != nil
			}
		}
		take(first)
		for range len(j.topics) - 1 {
			best, by := -1, []int(nil)
			for topic := range j.topics {
				if done[topic] {
					continue
				}
				if shared := j.boundOf(topic, bound); best < 0 || len(shared) > len(by) {
					best, by = topic, shared
				}
			}
			p = append(p, step{best, j.need(index{best, by})})
			take(best)
		}
		j.plans = append(j.plans, p)
	}
}

// boundOf lists what of the topic is bound.
func (j *Join) boundOf(topic int, bound []bool) []int {
	var out []int
	for i, c := range j.common {
		if c.of[topic] != nil && bound[i] {
			out = append(out, i)
		}
	}
	return out
}

func (j *Join) need(x index) int {
	for i, o := range j.needs {
		if o.topic == x.topic && slices.Equal(o.by, x.by) {
			return i
		}
	}
	j.needs = append(j.needs, x)
	return len(j.needs) - 1
}

// key is what an index has a tuple under. Each value tells its length.
func (x index) key(values []string) string {
	var b strings.Builder
	for _, i := range x.by {
		b.WriteString(values[i])
	}
	return b.String()
}

func (t *Table) list(topic int, x *tuple) {
	for i, need := range t.join.needs {
		if need.topic != topic || !x.joinable {
			continue
		}
		key := need.key(x.values)
		if t.index[i][key] == nil {
			t.index[i][key] = make(map[*tuple]struct{})
		}
		t.index[i][key][x] = struct{}{}
	}
}

func (t *Table) unlist(topic int, x *tuple) {
	for i, need := range t.join.needs {
		if need.topic != topic || !x.joinable {
			continue
		}
		key := need.key(x.values)
		delete(t.index[i][key], x)
		if len(t.index[i][key]) == 0 {
			delete(t.index[i], key)
		}
	}
}

// matches gives the combinations with a tuple that are equal in what is in common.
func (t *Table) matches(topic int, x *tuple) [][]*tuple {
	if !x.joinable {
		return nil
	}
	var out [][]*tuple
	of := make([]*tuple, len(t.tuples))
	of[topic] = x
	var descend func(p plan, values []string)
	descend = func(p plan, values []string) {
		if len(p) == 0 {
			out = append(out, slices.Clone(of))
			return
		}
		s := p[0]
		for o := range t.index[s.index][t.join.needs[s.index].key(values)] {
			of[s.topic] = o
			descend(p[1:], merged(values, o.values))
		}
	}
	descend(t.join.plans[topic], x.values)
	return out
}

// merged has the values of a, and of b where a has none.
func merged(a, b []string) []string {
	out := slices.Clone(a)
	for i, v := range b {
		if out[i] == "" {
			out[i] = v
		}
	}
	return out
}

// passes runs WHERE.
func (j *Join) passes(of []*tuple) bool {
	if j.where == nil {
		return true
	}
	c := cursorOf(of[0].sample)
	defer c.release()
	for _, x := range of[1:] {
		c.others = append(c.others, x.sample)
	}
	return j.where.eval(c) == yes
}

// decoded gives the sample as a value.
func (x *tuple) decoded(typ *xtypes.Type) (*xtypes.Data, error) {
	var err error
	if x.data == nil {
		x.data, err = xtypes.Decode(typ, x.sample)
	}
	return x.data, err
}

// evaluate finds the tuple's values of what is in common.
func (x *tuple) evaluate(j *Join, topic int) {
	c := cursorOf(x.sample)
	defer c.release()
	x.values, x.joinable = make([]string, len(j.common)), true
	for i, m := range j.common {
		if m.of[topic] == nil {
			continue
		}
		v, ok := m.of[topic].canonical(c)
		x.values[i] = v
		x.joinable = x.joinable && ok
	}
}

// canonical is a text that is the same for values that are equal, and for no others; false if the value is not there, or equals
// nothing. It is not empty, and no beginning of another one.
func (o *operand) canonical(c *cursor) (string, bool) {
	switch o.class {
	case classInteger:
		i, ok := o.asInteger(c)
		return i.canonical(), ok
	case classReal:
		f, ok := o.asReal(c)
		if whole := math.Trunc(f); whole == f && f >= math.MinInt64 && f < 1<<64 {
			if f < 0 {
				return signed(int64(f)).canonical(), ok
			}
			return unsigned(uint64(f)).canonical(), ok
		}
		return string(binary.BigEndian.AppendUint64([]byte{'r'}, math.Float64bits(f))), ok && f == f
	}
	s, ok := o.asText(c)
	return string(append(binary.BigEndian.AppendUint32([]byte{'t'}, uint32(len(s))), s...)), ok
}

func (i integer) canonical() string {
	return string(binary.BigEndian.AppendUint64([]byte{'i', byte(i.high)}, i.low))
}
