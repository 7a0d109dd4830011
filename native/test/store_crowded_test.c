/* Many tables over SSDHASH in a first tier that is small for them: index, buffers and working memory of several calls at
 * once share its headroom. All rows have a place below, so every call is served. */
#include "test/store_types.h"

#include <pthread.h>

#define TABLES 26u
#define DIM 16u
#define CHUNK 2048u

/* Rows of the tables of a small sample: a 100th of Criteo's, four tables of 50,000 to 100,000 rows among them. */
static const uint32_t cardinality[TABLES] = {15, 6,  101312, 22026, 3,  3, 125,   6, 3, 931,  57, 83516, 32,
                                             3,  150, 54613,  3,     57, 22, 3, 70465, 3, 3, 2862, 3,  1426};

typedef struct filling {
  ts_store *store;
  uint32_t tables[TABLES], divisor;
  atomic_uint next;
  atomic_int status;
  char text[512];
} filling;

static void *fill_tables(void *argument) {
  filling *f = argument;
  float *rows = malloc(sizeof(float) * CHUNK * DIM);
  int64_t keys[CHUNK];
  for (uint32_t t; (t = atomic_fetch_add(&f->next, 1)) < TABLES;)
    for (uint32_t left = cardinality[t] / f->divisor; left > 0 && f->status == TS_OK;) {
      uint32_t n = 0;
      while (n < CHUNK && left > 0) keys[n++] = (int64_t)ts_mix64(--left * 64 + t);
      char text[512];
      int32_t status = ts_table_lookup(f->store, f->tables[t], keys, n, rows, text, sizeof text);
      if (status == TS_OK) continue;
      f->status = status;
      snprintf(f->text, sizeof f->text, "%s", text);
    }
  free(rows);
  return NULL;
}

static void fills(const char *type, const char *sizes, uint32_t divisor, uint32_t threads, const char *evictors) {
  ts_config *config = CONFIG("storage", type, "pmem", "memkind", "size", sizes, "path", folder, "eviction_threads", evictors);
  filling f = {.store = open_config(config), .divisor = divisor};
  if (f.store == NULL) return;
  for (uint32_t t = 0; t < TABLES; t++) {
    char name[16];
    snprintf(name, sizeof name, "C%u", t + 1);
    f.tables[t] = add_config(f.store, CONFIG("name", name, "optimizer", "adagrad", "initializer", "constant"));
  }
  pthread_t ids[16];
  for (uint32_t i = 0; i < threads; i++) pthread_create(&ids[i], NULL, fill_tables, &f);
  for (uint32_t i = 0; i < threads; i++) pthread_join(ids[i], NULL);
  CHECK_MSG(f.status == TS_OK, "%s, %u threads, %s eviction threads: %s", type, threads, evictors, f.text);
  CHECK(limits_hold(f.store) && charges_agree(f.store));
  ts_store_close(f.store);
}

int main(void) {
  if (!make_folder("crowded")) return 1;
  fills("DRAM_SSDHASH", "10804736,1073741824", 1, 2, "1");
  fills("DRAM_SSDHASH", "5402368,1073741824", 2, 4, "0");
  fills("DRAM_SSDHASH", "10804736,1073741824", 2, 8, "2");
  fills("DRAM_PMEM_SSDHASH", "10804736,4194304,1073741824", 1, 3, "1");
  remove_folder();
  return test_result();
}
