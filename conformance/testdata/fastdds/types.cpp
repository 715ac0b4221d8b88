// Writes the type objects of Fast DDS, as it serializes and hashes them: a line "name kind identifier bytes" for each, in hexadecimal.
//
// types.inc has a line TYPE("module::Name") for each type.
#include <cstdio>
#include <vector>

#include <fastcdr/Cdr.h>
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

int main()
{
  registercorpusTypes();
#define TYPE(name) write(name, false), write(name, true);
#include "types.inc"
  return 0;
}
