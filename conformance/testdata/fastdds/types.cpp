// Writes the type objects of Fast DDS, as it serializes and hashes them: a line "name kind identifier bytes" for each, in hexadecimal.
//
// types.inc has a line TYPE("module::Name") for each type.
//
// Then it reads the type objects of others, and tells for those that have the name of a type whether they are assignable by the rules of Fast DDS:
//
//   in:  name kind identifier bytes, as above; types that another one refers to come first
//   out: ? name kind FROM TO: 1 if the type of Fast DDS is assignable from the other and the other from it, 0 if not
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include <fastcdr/Cdr.h>
#include <fastdds/dds/core/policy/QosPolicies.hpp>
#include <fastrtps/types/TypeObject.h>
#include <fastrtps/types/TypeObjectFactory.h>

#include "corpusTypeObject.h"

using namespace eprosima::fastrtps::types;

static void hex(const void *bytes, size_t n)
{
  for (size_t i = 0; i < n; i++)
    std::printf("%02x", static_cast<const unsigned char *>(bytes)[i]);
}

static void write(const char *name, bool complete)
{
  TypeObjectFactory *factory = TypeObjectFactory::get_instance();
  const TypeObject *object = factory->get_type_object(name, complete);
  const TypeIdentifier *id = factory->get_type_identifier(name, complete);
  if (!object || !id)
    return;
  std::vector<char> bytes(TypeObject::getCdrSerializedSize(*object) + 64);
  eprosima::fastcdr::FastBuffer buffer(bytes.data(), bytes.size());
  eprosima::fastcdr::Cdr cdr(buffer, eprosima::fastcdr::Cdr::LITTLE_ENDIANNESS, eprosima::fastcdr::Cdr::DDS_CDR);
  object->serialize(cdr);
  std::printf("%s %s ", name, complete ? "complete" : "minimal");
  hex(id->equivalence_hash(), 14);
  std::printf(" ");
  hex(bytes.data(), cdr.getSerializedDataLength());
  std::printf("\n");
}

static std::vector<char> bytes(const std::string &text)
{
  std::vector<char> b;
  for (size_t i = 0; i + 1 < text.size(); i += 2)
    b.push_back(static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return b;
}

static void compare(const std::string &name, bool complete, const std::string &identifier, const std::string &text)
{
  TypeObjectFactory *factory = TypeObjectFactory::get_instance();
  std::vector<char> hash = bytes(identifier), data = bytes(text);
  eprosima::fastcdr::FastBuffer buffer(data.data(), data.size());
  eprosima::fastcdr::Cdr cdr(buffer, eprosima::fastcdr::Cdr::LITTLE_ENDIANNESS, eprosima::fastcdr::Cdr::DDS_CDR);
  TypeObject other;
  other.deserialize(cdr);
  TypeIdentifier id;
  id._d(complete ? EK_COMPLETE : EK_MINIMAL);
  for (size_t i = 0; i < 14; i++)
    id.equivalence_hash()[i] = static_cast<octet>(hash[i]);
  factory->add_type_object("other " + name, &id, &other);
  const TypeObject *own = factory->get_type_object(name, complete);
  if (!own)
    return;
  eprosima::fastdds::dds::TypeConsistencyEnforcementQosPolicy policy;
  std::printf("? %s %s %d %d\n", name.c_str(), complete ? "complete" : "minimal", own->consistent(other, policy), other.consistent(*own, policy));
}

int main()
{
  registercorpusTypes();
#define TYPE(name) write(name, false), write(name, true);
#include "types.inc"
  for (std::string name, kind, identifier, text; std::cin >> name >> kind >> identifier >> text;)
    compare(name, kind == "complete", identifier, text);
  return 0;
}
