/* The media model against the published figures it stands on, and its options. Prints the mean error; the table of all
 * errors must be the one in docs/emulation.md (run with the argument "table" to print it). */
#include "emulation/media_model.h"
#include "test/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_file(const char *path) {
  FILE *file = fopen(path, "r");
  if (file == NULL) return NULL;
  size_t n = 0, got;
  char *text = malloc(1u << 20);
  while (text != NULL && n < (1u << 20) - 1 && (got = fread(text + n, 1, (1u << 20) - 1 - n, file)) > 0) n += got;
  fclose(file);
  if (text != NULL) text[n] = '\0';
  return text;
}

/* Runs of spaces become one: the formatter of the documents aligns tables with them. */
static void squeeze(char *text) {
  char *to = text;
  for (const char *from = text; *from != '\0'; from++)
    if (*from != ' ' || to == text || to[-1] != ' ') *to++ = *from;
  *to = '\0';
}

static char *calibration;

/* A row of calibration.csv in SI units: bytes/ns for bandwidths, ns for latencies; 0 if there is none. */
static double row(const char *id) {
  size_t n = strlen(id);
  for (const char *line = calibration; line != NULL; line = strchr(line, '\n')) {
    if (*line == '\n') line++;
    if (strncmp(line, id, n) != 0 || line[n] != ',') continue;
    char unit[16];
    double value;
    if (sscanf(line + n + 1, "%lf,%15[^,]", &value, unit) != 2) return 0;
    if (strcmp(unit, "MiB/s") == 0) return value * 1048576 / 1e9;
    if (strcmp(unit, "GiB/s") == 0) return value * 1073741824 / 1e9;
    return value; /* GB/s or ns */
  }
  return 0;
}

static double published(const char *pattern, int bytes, int threads) {
  char id[128];
  snprintf(id, sizeof id, pattern, bytes, threads);
  return row(id);
}

static void set(ts_config *config, const char *key, double value) {
  char text[64];
  snprintf(text, sizeof text, "%.9g", value);
  CHECK(ts_config_set(config, key, text, NULL, 0) == TS_OK);
}

typedef struct operation {
  const char *name, *option, *pattern; /* pattern of row ids: bytes, threads */
  ts_media_op op;
  double first, next, in_flight;
} operation;

typedef struct medium {
  const char *name;
  int granule, bandwidth_bytes; /* access size whose published bandwidth is the medium's */
  double bound;                 /* factor that no figure may be off by: a wrong unit or a lost factor shows here */
  int sizes[3], threads[3];
  operation operations[3];
} medium;

/* What the medium can do with T threads: below the knee the published figure is the cores' limit, not the medium's. */
static double capacity(const operation *o, int bytes, int threads) {
  double best = 0;
  for (int t = threads; t <= 64; t++) best = fmax(best, published(o->pattern, bytes, t));
  return best;
}

static ts_emulation *open_medium(const medium *m, int threads) {
  ts_config *config;
  CHECK(ts_config_create(&config) == TS_OK);
  ts_config_set(config, "emulate.medium", m->name, NULL, 0);
  set(config, "emulate.threads", threads);
  set(config, "emulate.granule", m->granule);
  for (int i = 0; i < 3; i++) {
    const operation *o = &m->operations[i];
    char key[64];
    snprintf(key, sizeof key, "emulate.%s_latency_ns", o->option);
    set(config, key, o->first);
    snprintf(key, sizeof key, "emulate.%s_next_latency_ns", o->option);
    set(config, key, o->next);
    snprintf(key, sizeof key, "emulate.%s_in_flight", o->option);
    set(config, key, o->in_flight);
    snprintf(key, sizeof key, "emulate.%s_bandwidth", o->option);
    set(config, key, capacity(o, m->bandwidth_bytes, threads) * 1e9);
  }
  char message[256] = "";
  ts_emulation *emulation = NULL;
  CHECK_MSG(ts_emulation_create(config, &emulation, (ts_err){message, sizeof message}) == TS_OK, "%s", message);
  ts_config_free(config);
  return emulation;
}

static double sum_error, max_error;
static int compared;

static void compare(const medium *m, ts_text *table) {
  for (int i = 0; i < 3; i++) {
    const operation *o = &m->operations[i];
    if (o->name == NULL) continue;
    for (int s = 0; s < 3; s++) {
      ts_text_add(table, "| %s | %s | %d |", m->name, o->name, m->sizes[s]);
      for (int t = 0; t < 3; t++) {
        int bytes = m->sizes[s], threads = m->threads[t];
        ts_emulation *emulation = open_medium(m, threads);
        uint64_t ns = ts_emulation_cost_ns(emulation, o->op, (uint32_t)bytes, 1000000);
        ts_emulation_destroy(emulation);
        double want = published(o->pattern, bytes, threads);
        CHECK_MSG(want > 0, "no row for %s %s %d B %d T", m->name, o->name, bytes, threads);
        double model = (double)bytes * 1e6 * threads / (double)ns, error = model / want - 1;
        ts_text_add(table, " %.2f / %.2f (%+.0f %%) |", model, want, error * 100);
        CHECK_MSG(model / want < m->bound && want / model < m->bound,
                  "%s %s %d B %d T: model %.2f GB/s, published %.2f GB/s", m->name, o->name, bytes, threads, model,
                  want);
        sum_error += fabs(error);
        max_error = fmax(max_error, fabs(error));
        compared++;
      }
      ts_text_add(table, "\n");
    }
  }
}

static void figures_agree(bool print) {
  calibration = read_file("../scenarios/media/calibration.csv");
  char *doc = read_file("../docs/emulation.md");
  CHECK_MSG(calibration != NULL, "run in native/: ../scenarios/media/calibration.csv is not there");
  CHECK_MSG(doc != NULL, "../docs/emulation.md is not there");
  if (calibration == NULL || doc == NULL) return;
  squeeze(doc);
  double dram = row("OS-LAT-dram-Read-Random"), pmem = row("OS-LAT-pmem-Read-Random");
  double loads = dram * row("OS-RAND-dram6-Load-0W-64B-1T") / 64;
  double nt = row("OS-LAT-dram-Write-ntstore") * row("OS-RAND-dram6-NTStore-0W-256B-1T") / 64;
  double stores = dram * row("OS-RAND-dram6-Store-0W-256B-1T") / 64;
  double lines = row("CXL-LAT-randomread-local-avg") * row("CXL-SPLIT-randomread-64B-1T-0pct") / 64;
  double write = 64 / row("CXL-BW-randomwrite-1dev-64B-1T");
  double write_next = (1024 / row("CXL-BW-randomwrite-1dev-1024B-1T") - write) / 15;
  double read = 64 / row("CXL-BW-randomread-1dev-64B-1T");
  double read_next = (1024 / row("CXL-BW-randomread-1dev-1024B-1T") - read) / 15;
  operation load = {"load", "read", NULL, TS_MEDIA_READ, pmem, row("OS-LAT-pmem-Read-Sequential"), loads};
  operation nt_store = {"nt-store", "write_nt", NULL, TS_MEDIA_WRITE_NT, row("OS-LAT-pmem-Write-ntstore"),
                        row("OS-LAT-pmem-Write-ntstore"), nt};
  operation store = {"cached store", "write_cached", NULL, TS_MEDIA_WRITE_CACHED, pmem, pmem, stores};
  const char *cxl_write = "CXL-BW-randomwrite-1dev-%dB-%dT";
  medium media[] = {
      {"optane-100-6x256", 256, 256, 1.5, {64, 256, 4096}, {1, 2, 4}, {load, nt_store, store}},
      {"optane-100-1x256", 256, 256, 1.5, {64, 256, 4096}, {1, 2, 4}, {load, nt_store, store}},
      {"cxl-type3-ddr4", 64, 64, 2, {64, 1024, 4096}, {1, 4, 8},
       {{"load", "read", "CXL-BW-randomread-1dev-%dB-%dT", TS_MEDIA_READ, read * lines, read_next * lines, lines},
        {NULL, "write_nt", cxl_write, TS_MEDIA_WRITE_NT, write * lines, write_next * lines, lines},
        {"store", "write_cached", cxl_write, TS_MEDIA_WRITE_CACHED, write * lines, write_next * lines, lines}}},
  };
  static const char *const patterns[2][3] = {
      {"OS-RAND-pmem6-Load-15W-%dB-%dT", "OS-RAND-pmem6-NTStore-15W-%dB-%dT", "OS-RAND-pmem6-Store-15W-%dB-%dT"},
      {"OS-RAND-pmem1-Load-15W-%dB-%dT", "OS-RAND-pmem1-NTStore-15W-%dB-%dT", "OS-RAND-pmem1-Store-15W-%dB-%dT"}};
  for (int m = 0; m < 2; m++)
    for (int i = 0; i < 3; i++) media[m].operations[i].pattern = patterns[m][i];
  ts_text table = {0};
  for (int m = 0; m < 3; m++) compare(&media[m], &table);
  ts_text_add(&table, "Mean absolute error over %d figures: %.1f %%; largest: %.0f %%.\n", compared,
              sum_error / compared * 100, max_error * 100);
  if (print) printf("%s", table.bytes);
  for (char *line = strtok(table.bytes, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    CHECK_MSG(strstr(doc, line) != NULL, "docs/emulation.md lacks \"%s\"", line);
    if (!print && line[0] == 'M') printf("media model: %s\n", line);
  }
  free(table.bytes);
  free(calibration);
  free(doc);
}

static ts_config *simple(void) {
  ts_config *config;
  CHECK(ts_config_create(&config) == TS_OK);
  static const char *const pairs[][2] = {
      {"emulate.medium", "made-up"},           {"emulate.in_flight", "10"},          {"emulate.granule", "256"},
      {"emulate.read_latency_ns", "300"},
      {"emulate.read_bandwidth", "1e9"},       {"emulate.read_next_latency_ns", "100"},
      {"emulate.write_nt_latency_ns", "100"},  {"emulate.write_nt_bandwidth", "1e10"},
      {"emulate.write_cached_latency_ns", "200"}, {"emulate.write_cached_bandwidth", "2e9"},
      {"storage", "DRAM_PMEM"}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) ts_config_set(config, pairs[i][0], pairs[i][1], NULL, 0);
  return config;
}

/* By hand: 1 GB/s is one byte a nanosecond. */
static void formula_is_the_stated_one(void) {
  ts_config *config = simple();
  ts_emulation *e = NULL;
  CHECK(ts_emulation_create(config, &e, (ts_err){0}) == TS_OK && e != NULL);
  CHECK(strcmp(ts_emulation_medium(e), "made-up") == 0);
  CHECK(ts_emulation_cost_ns(e, TS_MEDIA_READ, 128, 10) == 2560);         /* 256 B moved at 1 B/ns */
  CHECK(ts_emulation_cost_ns(e, TS_MEDIA_READ, 257, 10) == 5120);         /* two granules */
  CHECK(ts_emulation_cost_ns(e, TS_MEDIA_READ, 64, 1) == 300);            /* never under the latency */
  CHECK(ts_emulation_cost_ns(e, TS_MEDIA_WRITE_NT, 256, 1000) == 40000);  /* 4 lines x 100 / 10 */
  CHECK(ts_emulation_cost_ns(e, TS_MEDIA_WRITE_CACHED, 128, 100) == 6400); /* 128 B at 2 B/ns: no granule */
  CHECK(ts_emulation_cost_ns(e, TS_MEDIA_READ, 0, 10) == 0 && ts_emulation_cost_ns(e, TS_MEDIA_READ, 64, 0) == 0);
  ts_emulation_destroy(e);
  ts_config_set(config, "emulate.read_bandwidth", "1e12", NULL, 0);
  CHECK(ts_emulation_create(config, &e, (ts_err){0}) == TS_OK);
  CHECK(ts_emulation_cost_ns(e, TS_MEDIA_READ, 256, 1000) == 60000); /* (300 + 3 x 100) / 10 */
  ts_emulation_destroy(e);
  ts_config_set(config, "emulate.threads", "4", NULL, 0);
  CHECK(ts_emulation_create(config, &e, (ts_err){0}) == TS_OK);
  CHECK(ts_emulation_cost_ns(e, TS_MEDIA_WRITE_CACHED, 128, 100) == 25600);
  ts_emulation_destroy(e);
  ts_config_free(config);
}

static void refused(const char *key, const char *value, const char *said) {
  ts_config *config = simple();
  ts_config_set(config, key, value, NULL, 0);
  char message[256] = "";
  ts_emulation *e = (ts_emulation *)config;
  CHECK_MSG(ts_emulation_create(config, &e, (ts_err){message, sizeof message}) == TS_EINVAL, "%s", key);
  CHECK(e == NULL);
  CHECK_MSG(strstr(message, said) != NULL, "message \"%s\"", message);
  ts_config_free(config);
}

static void options_are_checked(void) {
  refused("emulate.raed_bandwidth", "1", "unknown option \"emulate.raed_bandwidth\"");
  refused("emulate.granule", "100", "power of two");
  refused("emulate.threads", "0", "emulate.threads");
  refused("emulate.read_latency_ns", "fast", "emulate.read_latency_ns");
  ts_config *config;
  CHECK(ts_config_create(&config) == TS_OK);
  char message[256] = "";
  ts_err err = {message, sizeof message};
  ts_emulation *e = NULL;
  CHECK(ts_emulation_create(config, &e, err) == TS_OK && e == NULL);
  CHECK(ts_emulation_cost_ns(NULL, TS_MEDIA_READ, 64, 10) == 0);
  ts_config_set(config, "emulate.threads", "2", NULL, 0);
  CHECK(ts_emulation_create(config, &e, err) == TS_EINVAL && strstr(message, "emulate.threads") != NULL);
  ts_config_set(config, "emulate.medium", "x", NULL, 0);
  CHECK(ts_emulation_create(config, &e, err) == TS_EINVAL && strstr(message, "emulate.read_latency_ns") != NULL);
  ts_config_free(config);
}

int main(int argc, char **argv) {
  formula_is_the_stated_one();
  options_are_checked();
  figures_agree(argc > 1 && strcmp(argv[1], "table") == 0);
  return test_result();
}
