// Decodes samples with Fast DDS, encodes what it got, and writes that back.
//
// The frames are those of ../cyclone/echo.c. types.h includes what fastddsgen wrote, and types.inc has a line
// TYPE(module::Struct) for each type. This Fast DDS has XCDR1 only.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <vector>

#include <fastdds/dds/topic/TopicDataType.hpp>

#include "types.h"

using eprosima::fastdds::dds::TopicDataType;
using eprosima::fastrtps::rtps::SerializedPayload_t;

static const uint32_t refused = UINT32_MAX;

static TopicDataType *types[] = {
#define TYPE(t) new t##PubSubType(),
#include "types.inc"
};

static void die(const char *what)
{
  std::fprintf(stderr, "echo: %s\n", what);
  std::exit(1);
}

static void put(const void *from, uint32_t n)
{
  if (std::fwrite(&n, 4, 1, stdout) != 1 || (from && std::fwrite(from, 1, n, stdout) != n) || std::fflush(stdout) != 0)
    die("nobody reads the answers");
}

static bool decode(TopicDataType *type, std::vector<unsigned char> &bytes, void *sample)
{
  SerializedPayload_t in;
  in.data = bytes.data(); // lent, and taken back before in ends
  in.length = in.max_size = static_cast<uint32_t>(bytes.size());
  bool ok = false;
  try {
    ok = type->deserialize(&in, sample);
  } catch (const std::exception &) {
  }
  in.data = nullptr;
  return ok;
}

static void echo(TopicDataType *type, std::vector<unsigned char> &bytes)
{
  void *sample = type->createData();
  if (!decode(type, bytes, sample)) {
    put(nullptr, refused);
  } else {
    SerializedPayload_t out(type->getSerializedSizeProvider(sample)());
    if (!type->serialize(sample, &out))
      die("a decoded sample could not be encoded");
    put(out.data, out.length);
  }
  type->deleteData(sample);
}

int main()
{
  uint32_t head[3];
  while (std::fread(head, sizeof head, 1, stdin) == 1) {
    if (head[0] >= sizeof types / sizeof *types)
      die("no such type");
    std::vector<unsigned char> bytes(head[2]);
    if (std::fread(bytes.data(), 1, bytes.size(), stdin) != bytes.size())
      die("input ends within a sample");
    echo(types[head[0]], bytes);
  }
  return 0;
}
