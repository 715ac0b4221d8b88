/* The serializer of Cyclone DDS, without the rest of it: dds_stream_write_sample, and for a sample that comes from outside what
 * ddsi_serdata_from_ser and ddsi_serdata_to_sample do: dds_stream_normalize, which checks it, and dds_stream_read_sample. */
#include <dds/dds.h>
#include <dds/ddsi/ddsi_cdrstream.h>
#include <dds/ddsi/ddsi_serdata_default.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent.h"
#include "codec.h"

#define HEADER 4
#define ROOM (64 * 1024)

static char *text(size_t i)
{
  char *s = dds_alloc(string_lengths[i] + 1);
  for (size_t j = 0; j < string_lengths[i]; j++)
    s[j] = string_byte(i, j);
  s[string_lengths[i]] = 0;
  return s;
}

static void *flat(void)
{
  static wire_Flat v = {.time = TIME, .lat = 47.5, .lon = 8.25, .alt = 10000, .north = 200.5f, .east = -30.25f, .down = 0.125f,
    .heading = 351.5f, .track = -4711, .sequence_number = 123456789, .rate = 50, .squawk = 7000, .kind = 3, .ground = true};
  return &v;
}

static void *strings(void)
{
  static wire_Text v;
  v = (wire_Text){.time = TIME, .value = 0.5, .status = -1, .callsign = text(0), .origin = text(1), .destination = text(2),
    .operator_name = text(3), .route = text(4), .procedure = text(5), .weather = text(6), .remarks = text(7)};
  return &v;
}

static void *blob(void)
{
  static wire_Blob v;
  static uint8_t data[BLOB];
  for (size_t i = 0; i < BLOB; i++)
    data[i] = blob_byte(i);
  v = (wire_Blob){.time = TIME, .data = {._length = BLOB, ._maximum = BLOB, ._buffer = data}};
  return &v;
}

static void *route(void)
{
  static wire_Route v;
  static wire_Fix fixes[FIXES];
  for (int i = 0; i < FIXES; i++)
    fixes[i] = (wire_Fix){.x = i + 0.25, .y = -1 - i, .z = 1000 - 0.5 * i, .quality = 0.125f * (float) i, .source = i % 16};
  v = (wire_Route){.time = TIME, .fixes = {._length = FIXES, ._maximum = FIXES, ._buffer = fixes}};
  return &v;
}

static void *status(void)
{
  static wire_Status v;
  static double temperature = 21.5;
  static float fuel = 0.75f;
  static bool armed = true;
  static int32_t counters[COUNTERS];
  static dds_sequence_long list;
  for (int i = 0; i < COUNTERS; i++)
    counters[i] = -i;
  list = (dds_sequence_long){._length = COUNTERS, ._maximum = COUNTERS, ._buffer = counters};
  v = (wire_Status){.time = TIME, .unit = 42, .temperature = &temperature, .fuel = &fuel, .armed = &armed, .note = text(2), .counters = &list};
  return &v;
}

const char *const agent_cases[] = {"Flat", "Text", "Blob", "Route", "Status", NULL};

static const struct {
  const dds_topic_descriptor_t *type;
  void *(*value)(void);
  int first_xcdr;
  unsigned char id[3]; /* of the encapsulation, by version */
} cases[] = {
  {&wire_Flat_desc, flat, 1, {0, 1, 7}},
  {&wire_Text_desc, strings, 1, {0, 1, 7}},
  {&wire_Blob_desc, blob, 1, {0, 1, 7}},
  {&wire_Route_desc, route, 1, {0, 1, 7}},
  {&wire_Status_desc, status, 2, {0, 3, 11}}, /* no XCDR1 for mutable types */
};

static struct {
  struct ddsi_sertype_default type;
  uint32_t xcdr, size;
  unsigned char id;
  void *value, *decoded;
  unsigned char *sample;
} coders[sizeof cases / sizeof *cases][3], *coder;

static size_t encode(const void *value)
{
  dds_ostream_t os = {.m_buffer = coder->sample + HEADER, .m_size = ROOM - HEADER, .m_xcdr_version = coder->xcdr};
  memcpy(coder->sample, (unsigned char[HEADER]){0, coder->id, 0, 0}, HEADER);
  if (!dds_stream_write_sample(&os, value, &coder->type) || os.m_buffer != coder->sample + HEADER)
    exit(1);
  coder->size = os.m_index;
  return HEADER + coder->size;
}

size_t agent_setup(int which, int xcdr)
{
  if (xcdr < cases[which].first_xcdr || xcdr > 2)
    return 0;
  coder = &coders[which][xcdr];
  if (coder->sample)
    return HEADER + coder->size;
  const dds_topic_descriptor_t *d = cases[which].type;
  coder->xcdr = xcdr == 1 ? CDR_ENC_VERSION_1 : CDR_ENC_VERSION_2;
  coder->id = cases[which].id[xcdr];
  coder->value = cases[which].value();
  coder->decoded = calloc(1, d->m_size);
  coder->sample = malloc(ROOM);
  struct ddsi_sertype_default_desc *t = &coder->type.type;
  t->size = d->m_size;
  t->align = d->m_align;
  t->flagset = d->m_flagset;
  t->ops.ops = (uint32_t *) d->m_ops;
  t->ops.nops = dds_stream_countops(d->m_ops, d->m_nkeys, d->m_keys);
  coder->type.opt_size_xcdr1 = dds_stream_check_optimize(t, CDR_ENC_VERSION_1);
  coder->type.opt_size_xcdr2 = dds_stream_check_optimize(t, CDR_ENC_VERSION_2);
  encode(coder->value);
  agent_decode();
  return encode(coder->decoded);
}

const unsigned char *agent_sample(void) { return coder->sample; }
size_t agent_encode(void) { return encode(coder->value); }

size_t agent_decode(void)
{
  uint32_t size;
  if (!dds_stream_normalize(coder->sample + HEADER, coder->size, false, coder->xcdr, &coder->type, false, &size))
    exit(1);
  dds_istream_t is;
  dds_istream_init(&is, coder->size, coder->sample + HEADER, coder->xcdr);
  dds_stream_read_sample(&is, coder->decoded, &coder->type);
  return HEADER + coder->size;
}
