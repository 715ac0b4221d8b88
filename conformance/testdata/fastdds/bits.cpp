// Has DynamicTypeBuilderFactory build a bitmask or a bitset, for which fastddsgen writes no type objects, and writes the type object in
// hexadecimal. Then it reads the type object of others for the same type, and tells whether they are assignable by the rules of Fast DDS.
//
//   bits mask|set minimal|complete
//   in:  bytes
//   out: bytes FROM TO: 1 if the type of Fast DDS is assignable from the other and the other from it, 0 if not
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include <fastcdr/Cdr.h>
#include <fastdds/dds/core/policy/QosPolicies.hpp>
#include <fastrtps/types/AnnotationDescriptor.h>
#include <fastrtps/types/DynamicType.h>
#include <fastrtps/types/DynamicTypeBuilder.h>
#include <fastrtps/types/DynamicTypeBuilderFactory.h>
#include <fastrtps/types/DynamicTypeBuilderPtr.h>
#include <fastrtps/types/TypeObject.h>

using namespace eprosima::fastrtps::types;
using eprosima::fastcdr::Cdr;
using eprosima::fastcdr::FastBuffer;

static DynamicType_ptr mask()
{
  DynamicTypeBuilder_ptr b = DynamicTypeBuilderFactory::get_instance()->create_bitmask_builder(16);
  b->set_name("Mask");
  b->add_empty_member(0, "FIRST");
  b->add_empty_member(1, "SECOND");
  b->add_empty_member(9, "LAST");
  return b->build();
}

static DynamicType_ptr set()
{
  DynamicTypeBuilderFactory *factory = DynamicTypeBuilderFactory::get_instance();
  DynamicTypeBuilder_ptr b = factory->create_bitset_builder();
  b->set_name("Set");
  const struct { const char *name, *position, *bits; DynamicType_ptr type; } fields[] = {
      {"a", "0", "3", factory->create_byte_type()}, {"b", "3", "1", factory->create_bool_type()}, {"c", "10", "12", factory->create_int16_type()}};
  MemberId id = 0;
  for (auto &f : fields) {
    b->add_member(id, f.name, f.type);
    b->apply_annotation_to_member(id, ANNOTATION_POSITION_ID, "value", f.position);
    b->apply_annotation_to_member(id++, ANNOTATION_BIT_BOUND_ID, "value", f.bits);
  }
  return b->build();
}

int main(int, char **argv)
{
  TypeObject own, other;
  DynamicTypeBuilderFactory::get_instance()->build_type_object(argv[1] == std::string("mask") ? mask() : set(), own, argv[2] == std::string("complete"), true);
  std::vector<char> bytes(TypeObject::getCdrSerializedSize(own) + 64), theirs;
  FastBuffer out(bytes.data(), bytes.size());
  Cdr writer(out, Cdr::LITTLE_ENDIANNESS, Cdr::DDS_CDR);
  own.serialize(writer);
  for (size_t i = 0; i < writer.getSerializedDataLength(); i++)
    std::printf("%02x", static_cast<unsigned char>(bytes[i]));
  std::string text;
  std::cin >> text;
  for (size_t i = 0; i + 1 < text.size(); i += 2)
    theirs.push_back(static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16)));
  FastBuffer in(theirs.data(), theirs.size());
  Cdr reader(in, Cdr::LITTLE_ENDIANNESS, Cdr::DDS_CDR);
  other.deserialize(reader);
  eprosima::fastdds::dds::TypeConsistencyEnforcementQosPolicy policy;
  std::printf(" %d %d\n", own.consistent(other, policy), other.consistent(own, policy));
  return 0;
}
