// Fast-CDR with the types that fastddsgen made of wire/codec.idl. This Fast-CDR has XCDR1 only, and no mutable types.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fastcdr/Cdr.h>
#include <fastcdr/FastBuffer.h>

#include "agent.h"
#include "codec.h"

using eprosima::fastcdr::Cdr;
using eprosima::fastcdr::FastBuffer;

namespace {

// Coder has a value, its sample, and a value to decode into.
struct Coder {
  virtual ~Coder() = default;
  virtual size_t encode() = 0;
  virtual size_t decode() = 0;
  std::vector<char> sample = std::vector<char>(64 * 1024);
  size_t size = 0;
};

template <class T>
struct Typed final : Coder {
  T value, decoded;

  size_t write(const T &v)
  {
    FastBuffer buffer(sample.data(), sample.size());
    Cdr cdr(buffer, Cdr::LITTLE_ENDIANNESS, Cdr::DDS_CDR);
    cdr.serialize_encapsulation();
    v.serialize(cdr);
    return size = cdr.getSerializedDataLength();
  }

  size_t encode() override { return write(value); }

  size_t decode() override
  {
    FastBuffer buffer(sample.data(), size);
    Cdr cdr(buffer, Cdr::DEFAULT_ENDIAN, Cdr::DDS_CDR);
    cdr.read_encapsulation();
    decoded.deserialize(cdr);
    return size;
  }

  Typed(std::function<void(T &)> fill)
  {
    fill(value);
    encode();
    decode();
    write(decoded);
  }
};

std::string text(size_t i)
{
  std::string s;
  for (size_t j = 0; j < string_lengths[i]; j++)
    s += string_byte(i, j);
  return s;
}

void fill(wire::Flat &v)
{
  v.time(TIME);
  v.lat(47.5);
  v.lon(8.25);
  v.alt(10000);
  v.north(200.5f);
  v.east(-30.25f);
  v.down(0.125f);
  v.heading(351.5f);
  v.track(-4711);
  v.sequence_number(123456789);
  v.rate(50);
  v.squawk(7000);
  v.kind(3);
  v.ground(true);
}

void fill(wire::Text &v)
{
  v.time(TIME);
  v.value(0.5);
  v.status(-1);
  v.callsign(text(0));
  v.origin(text(1));
  v.destination(text(2));
  v.operator_name(text(3));
  v.route(text(4));
  v.procedure(text(5));
  v.weather(text(6));
  v.remarks(text(7));
}

void fill(wire::Blob &v)
{
  v.time(TIME);
  for (size_t i = 0; i < BLOB; i++)
    v.data().push_back(blob_byte(i));
}

void fill(wire::Route &v)
{
  v.time(TIME);
  v.fixes().resize(FIXES);
  for (int i = 0; i < FIXES; i++) {
    wire::Fix &f = v.fixes()[i];
    f.x(i + 0.25);
    f.y(-1 - i);
    f.z(1000 - 0.5 * i);
    f.quality(0.125f * i);
    f.source(i % 16);
  }
}

std::unique_ptr<Coder> coders[4];
Coder *coder;

} // namespace

const char *const agent_cases[] = {"Flat", "Text", "Blob", "Route", nullptr};

template <class T>
static std::unique_ptr<Coder> make() { return std::make_unique<Typed<T>>([](T &v) { fill(v); }); }

size_t agent_setup(int which, int xcdr)
{
  static std::unique_ptr<Coder> (*const makers[])() = {make<wire::Flat>, make<wire::Text>, make<wire::Blob>, make<wire::Route>};
  if (xcdr != 1)
    return 0;
  if (!coders[which])
    coders[which] = makers[which]();
  coder = coders[which].get();
  return coder->size;
}

const unsigned char *agent_sample() { return reinterpret_cast<const unsigned char *>(coder->sample.data()); }
size_t agent_encode() { return coder->encode(); }
size_t agent_decode() { return coder->decode(); }
