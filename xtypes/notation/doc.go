// Package notation writes types of package xtypes in other notations, and reads them from XML.
//
//	text, err := notation.IDL(types)             // IDL 4.2 with the annotations of XTypes 1.3
//	text, err = notation.XML(types)              // the <types> of DDS-XML 1.0
//	types, err := notation.ParseXML(text)        // also as RTI Connext and Fast DDS write it
//	text, err = notation.JSONSchema(topicType)   // of the JSON that xtypes.Data writes
//
// # Invariants
//
//  1. What IDL and XML write is read again as the same types: their type objects are alike, byte by byte. What a notation cannot say is an error;
//     XMLWithout leaves annotations out instead, and names them.
//  2. No input makes ParseXML panic. The depth of elements, and with it everything else, is bounded by the size of the input.
//  3. The output depends on the types and their order only.
//
// # Ownership and concurrency
//
// Functions from value to value; nothing is kept.
//
// # What it does not do
//
// XML has no place for @unit, @try_construct and @hashid of a member, and for @autoid, @verbatim, @topic,
// @data_representation and @ignore_literal_names: XML refuses types that use them. Constants are read, and written as
// their values. An <include> in XML is an error, not followed.
package notation
