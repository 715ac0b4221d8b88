/* Decodes samples with Cyclone DDS, encodes what it got, and writes that back.
 *
 * stdin and stdout are sequences of frames, all numbers little endian:
 *
 *   in:  u32 index of the type, u32 data representation (0 XCDR1, 2 XCDR2), u32 length, sample with its encapsulation header
 *   out: u32 length, sample; a length of REFUSED if it could not be decoded
 *
 * types.inc, written for the corpus, has a line TYPE(descriptor) for each type. */
#include <dds/dds.h>
#include <dds/ddsi/ddsi_serdata.h>
#include <dds/ddsi/ddsi_sertype.h>
#include <dds/ddsrt/heap.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "types.h"

#define REFUSED UINT32_MAX
#define REPRESENTATIONS 3

static const dds_topic_descriptor_t *types[] = {
#define TYPE(d) &d,
#include "types.inc"
};
#define TYPES (sizeof types / sizeof *types)

static const struct ddsi_sertype *sertypes[TYPES][REPRESENTATIONS];

static void die(const char *what)
{
  fprintf(stderr, "echo: %s\n", what);
  exit(1);
}

/* The type of a topic is at hand in the samples of its reader only. */
static const struct ddsi_sertype *sertype(dds_entity_t participant, uint32_t type, uint32_t representation)
{
  if (sertypes[type][representation])
    return sertypes[type][representation];
  char name[64];
  snprintf(name, sizeof name, "echo%u_%u", type, representation);
  dds_qos_t *qos = dds_create_qos();
  dds_data_representation_id_t id = (dds_data_representation_id_t) representation;
  dds_qset_data_representation(qos, 1, &id);
  dds_qset_durability(qos, DDS_DURABILITY_TRANSIENT_LOCAL);
  dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_SECS(1));
  dds_entity_t topic = dds_create_topic(participant, types[type], name, qos, NULL);
  if (topic < 0)
    return NULL;
  dds_entity_t reader = dds_create_reader(participant, topic, qos, NULL);
  dds_entity_t writer = dds_create_writer(participant, topic, qos, NULL);
  if (reader < 0 || writer < 0)
    die("a reader or a writer could not be created");
  void *zero = dds_alloc(types[type]->m_size);
  memset(zero, 0, types[type]->m_size);
  struct ddsi_serdata *d = NULL;
  dds_sample_info_t info;
  if (dds_write(writer, zero) < 0) /* so no type of the corpus may need more than zeros */
    die("an empty sample could not be written");
  for (int i = 0; dds_takecdr(reader, &d, 1, &info, DDS_ANY_STATE) != 1; i++) {
    if (i == 1000)
      die("nothing came back");
    dds_sleepfor(DDS_MSECS(1));
  }
  sertypes[type][representation] = ddsi_sertype_ref(d->type);
  ddsi_serdata_unref(d);
  dds_delete_qos(qos);
  return sertypes[type][representation];
}

static int get(void *to, size_t n) { return fread(to, 1, n, stdin) == n; }

static void put(const void *from, uint32_t n)
{
  if (fwrite(&n, 4, 1, stdout) != 1 || (from && fwrite(from, 1, n, stdout) != n) || fflush(stdout) != 0)
    die("nobody reads the answers");
}

static void echo(const struct ddsi_sertype *type, size_t size, void *bytes, uint32_t length)
{
  ddsrt_iovec_t iov = { .iov_base = bytes, .iov_len = length };
  struct ddsi_serdata *in = ddsi_serdata_from_ser_iov(type, SDK_DATA, 1, &iov, length);
  if (in == NULL) {
    put(NULL, REFUSED);
    return;
  }
  void *sample = calloc(1, size);
  if (!ddsi_serdata_to_sample(in, sample, NULL, NULL)) {
    put(NULL, REFUSED);
    return;
  }
  struct ddsi_serdata *out = ddsi_serdata_from_sample(type, SDK_DATA, sample);
  if (out == NULL)
    die("a decoded sample could not be encoded");
  uint32_t n = ddsi_serdata_size(out);
  void *encoded = malloc(n);
  ddsi_serdata_to_ser(out, 0, n, encoded);
  put(encoded, n);
  free(encoded);
  ddsi_serdata_unref(out);
  ddsi_serdata_unref(in);
  ddsi_sertype_free_sample(type, sample, DDS_FREE_CONTENTS);
  free(sample);
}

int main(void)
{
  dds_entity_t participant = dds_create_participant(DDS_DOMAIN_DEFAULT, NULL, NULL);
  if (participant < 0)
    die("no participant");
  uint32_t head[3];
  while (get(head, sizeof head)) {
    if (head[0] >= TYPES || head[1] >= REPRESENTATIONS)
      die("no such type or representation");
    void *bytes = malloc(head[2]);
    if (!get(bytes, head[2]))
      die("input ends within a sample");
    const struct ddsi_sertype *type = sertype(participant, head[0], head[1]);
    if (type)
      echo(type, types[head[0]]->m_size, bytes, head[2]);
    else
      put(NULL, REFUSED);
    free(bytes);
  }
  dds_delete(participant);
  return 0;
}
