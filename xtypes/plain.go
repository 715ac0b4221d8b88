package xtypes

import "slices"

// UnmarshalPlainTypeObject reads a type object as Fast DDS 2 serializes and hashes it: in plain CDR of version 1,
// without the DHEADERs of appendable types and of collections, and with an empty value in place of what is absent. The
// first 14 bytes of the MD5 of these bytes are its identifier there. No flag of extensibility stands for appendable,
// and a member of a union without labels is the default, which Fast DDS does not mark. The ids of the members of a
// structure begin at 0, also behind those of its base.
func UnmarshalPlainTypeObject(b []byte) (*TypeObject, error) {
	a := openArchive(b)
	a.plain, a.r.v2 = true, false
	o := &TypeObject{plain: true}
	a.object(o)
	if err := a.done(); err != nil {
		return nil, err
	}
	switch {
	case o.kind == TKUnion:
		for i := range o.members {
			if m := &o.members[i]; len(m.labels) == 0 {
				m.flags |= flagDefault
			}
		}
		fallthrough
	case o.kind == TKStructure:
		if o.flags&flagsMinimal == 0 {
			o.flags |= flagAppendable
		}
	}
	return o, nil
}

// MarshalPlain serializes the object in the form that UnmarshalPlainTypeObject reads, for implementations that read no
// other. Identifiers of other types stay what they are: those who read it have to be given these types under them.
func (o *TypeObject) MarshalPlain() []byte {
	a := newArchive()
	a.plain, a.w.v2 = true, false
	c := *o
	c.members, c.literals = slices.Clone(c.members), slices.Clone(c.literals) // what is absent is filled in
	a.object(&c)
	return a.w.buf
}
