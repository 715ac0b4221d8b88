/* Asks Cyclone DDS whether a reader's type is assignable from a writer's: by the matching of endpoints, so by its own rules.
 *
 * stdin has a line for each question, stdout an answer for each: 1 matched, 0 not matched, - if Cyclone DDS does not take a type object.
 *
 *   KIND IGNORE_SEQUENCE_BOUNDS IGNORE_STRING_BOUNDS IGNORE_MEMBER_NAMES PREVENT_TYPE_WIDENING READER_INFO READER_MAPPING WRITER_INFO WRITER_MAPPING
 *
 * KIND is 0 for DISALLOW_TYPE_COERCION and 1 for ALLOW_TYPE_COERCION, the TypeInformation and the TypeMapping are in hexadecimal. */
#include <dds/dds.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blank.h"

static void die(const char *what)
{
  fprintf(stderr, "match: %s\n", what);
  exit(1);
}

static struct dds_type_meta_ser bytes(const char *hex)
{
  size_t n = strlen(hex) / 2;
  unsigned char *data = malloc(n + 1);
  for (size_t i = 0; i < n; i++) {
    unsigned byte;
    if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
      die("no hexadecimal");
    data[i] = (unsigned char) byte;
  }
  return (struct dds_type_meta_ser) { .data = data, .sz = (uint32_t) n };
}

static dds_entity_t topic(dds_entity_t participant, const dds_topic_descriptor_t *blank, const char *name, const char *info, const char *mapping)
{
  dds_topic_descriptor_t *d = malloc(sizeof *d);
  memcpy(d, blank, sizeof *d);
  d->type_information = bytes(info);
  d->type_mapping = bytes(mapping);
  dds_entity_t t = dds_create_topic(participant, d, name, NULL, NULL);
  free((void *) d->type_information.data);
  free((void *) d->type_mapping.data);
  free(d);
  return t;
}

int main(void)
{
  static char line[1 << 22];
  for (unsigned n = 0; fgets(line, sizeof line, stdin); n++) {
    char *field[9];
    for (int i = 0; i < 9; i++)
      if (!(field[i] = strtok(i ? NULL : line, " \n")))
        die("a field is missing");
    char name[32];
    snprintf(name, sizeof name, "question%u", n);
    dds_entity_t readers = dds_create_participant(0, NULL, NULL), writers = dds_create_participant(0, NULL, NULL);
    if (readers < 0 || writers < 0)
      die("no participant");
    dds_entity_t r = topic(readers, &ReaderType_desc, name, field[5], field[6]), w = topic(writers, &WriterType_desc, name, field[7], field[8]);
    if (r < 0 || w < 0)
      puts("-");
    else {
      dds_qos_t *qos = dds_create_qos();
      dds_qset_type_consistency(qos, *field[0] == '0' ? DDS_TYPE_CONSISTENCY_DISALLOW_TYPE_COERCION : DDS_TYPE_CONSISTENCY_ALLOW_TYPE_COERCION,
        *field[1] == '1', *field[2] == '1', *field[3] == '1', *field[4] == '1', false);
      dds_entity_t reader = dds_create_reader(readers, r, qos, NULL), writer = dds_create_writer(writers, w, NULL, NULL);
      if (reader < 0 || writer < 0)
        die("a reader or a writer could not be created");
      dds_publication_matched_status_t matched; /* endpoints of one process match when they are created */
      if (dds_get_publication_matched_status(writer, &matched) < 0)
        die("no status");
      puts(matched.current_count ? "1" : "0");
      dds_delete_qos(qos);
    }
    fflush(stdout);
    dds_delete(readers);
    dds_delete(writers);
  }
  return 0;
}
