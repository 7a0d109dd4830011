/* wdl_fixture.h - what the Wide & Deep tests share: options from a list, a folder of their own, small data files. */
#ifndef TS_TEST_WDL_FIXTURE_H
#define TS_TEST_WDL_FIXTURE_H

#include "base/base.h"
#include "test/check.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char message[512];
static char folder[] = "/tmp/tierbench-test-XXXXXX";

/* Options from "key", "value" pairs ended by NULL. */
static inline ts_config *options(const char *key, ...) {
  ts_config *config = NULL;
  ts_config_create(&config);
  va_list list;
  va_start(list, key);
  for (; key != NULL; key = va_arg(list, const char *)) ts_config_set(config, key, va_arg(list, const char *), NULL, 0);
  va_end(list);
  return config;
}

static inline void make_folder(void) {
  if (mkdtemp(folder) == NULL) exit(2);
}

/* Path of a file in the folder; up to eight results live at a time. */
static inline const char *in_folder(const char *name) {
  static char paths[8][512];
  static int next;
  char *path = paths[next++ % 8];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

/* Number of files in the folder whose name starts so. */
static inline int files_named(const char *start) {
  int count = 0;
  DIR *d = opendir(folder);
  for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) count += strncmp(e->d_name, start, strlen(start)) == 0;
  if (d != NULL) closedir(d);
  return count;
}

static inline void remove_folder(void) {
  DIR *d = opendir(folder);
  for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
    if (e->d_name[0] != '.') unlink(in_folder(e->d_name));
  if (d != NULL) closedir(d);
  rmdir(folder);
}

static inline void write_text(const char *path, const char *text, size_t n) {
  FILE *f = fopen(path, "wb");
  if (f == NULL || fwrite(text, 1, n, f) != n) exit(2);
  fclose(f);
}

/* Runs a call that takes (config, control, err, cap) and frees the options. */
static inline int32_t run(int32_t (*call)(const ts_config *, uint64_t *, char *, uint32_t), ts_config *config,
                          uint64_t *control) {
  message[0] = '\0';
  int32_t status = call(config, control, message, sizeof message);
  ts_config_free(config);
  return status;
}

/* Sets what is in "key=value key=value ..." as well; a path of data is that of a file in the folder. */
static inline void set_pairs(ts_config *config, const char *more) {
  char text[1024];
  snprintf(text, sizeof text, "%s", more);
  for (char *pair = strtok(text, " "); pair != NULL; pair = strtok(NULL, " ")) {
    char *equals = strchr(pair, '=');
    *equals = '\0';
    const bool file = strcmp(pair, "data") == 0;
    CHECK(ts_config_set(config, pair, file ? in_folder(equals + 1) : equals + 1, NULL, 0) == TS_OK);
  }
}

/* A trainer and its store; both NULL: none. */
typedef struct both {
  ts_store *store;
  ts_trainer *trainer;
} both;

static inline void close_both(both *b) {
  ts_trainer_close(b->trainer);
  ts_store_close(b->store);
  *b = (both){0};
}

/* The mean loss of so many steps. */
static inline double train_both(const both *b, uint64_t steps) {
  double loss = 0;
  CHECK_MSG(ts_trainer_train(b->trainer, 0, steps, NULL, NULL, &loss, NULL, message, sizeof message) == TS_OK, "%s", message);
  return loss;
}

static inline uint64_t digest_of(const both *b) {
  uint64_t digest = 0;
  CHECK(ts_trainer_digest(b->trainer, &digest, message, sizeof message) == TS_OK);
  return digest;
}

/* A figure out of ts_data_describe, or NaN. */
static inline double described(const char *path, const char *name) {
  char text[4096];
  uint64_t needed;
  if (ts_data_describe(path, text, sizeof text, &needed, message, sizeof message) != TS_OK) return __builtin_nan("");
  size_t n = strlen(name);
  for (char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n'), line += line != NULL)
    if (strncmp(line, name, n) == 0 && line[n] == '=') return strtod(line + n + 1, NULL);
  return __builtin_nan("");
}

#endif
