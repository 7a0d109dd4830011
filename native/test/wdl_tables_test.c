/* Tables of several columns: shared rows, bags, columns without an embedding. What they compute, that they learn what the
 * loss asks for, and that nothing about the schedule changes it. */
#include "test/wdl_fixture.h"
#include "wdl/input/cache_format.h"
#include "wdl/input/criteo_field.h"
#include "wdl/layers/tables.h"

#include <math.h>

#define SHARED "one:3:none:C1,C4;sum:3:sum:C2,C3,C7,C8;mean:3:mean:C9,C10,C11;root:3:sqrtn:C12,C13;last:3:none:C26"
#define ROWS 64u

/* Rows whose ids are few, so that columns of a table have some in common, and whose every third id is missing. */
static void write_rows(const char *path, uint32_t rows, uint64_t seed) {
  ts_text text = {0};
  for (uint32_t r = 0; r < rows; r++) {
    ts_text_add(&text, "%u", (unsigned)(ts_random64(seed, 1, r) % 3 == 0));
    for (uint32_t j = 0; j < TS_NUMERICS; j++) ts_text_add(&text, "\t%u", (unsigned)(ts_random64(seed, 2 + j, r) % 50));
    for (uint32_t c = 0; c < TS_CATEGORIES; c++) {
      const uint64_t id = ts_random64(seed, 100 + c, r);
      if (id % 3 == 0) ts_text_add(&text, "\t");
      else ts_text_add(&text, "\t%x", (unsigned)(id >> 8) % 12);
    }
    ts_text_add(&text, "\n");
  }
  write_text(path, text.bytes, text.length);
  free(text.bytes);
}

static void import_rows(void) {
  write_rows(in_folder("rows.tsv"), ROWS * 2, 9);
  CHECK_MSG(run(ts_data_import,
                options("in", in_folder("rows.tsv"), "train_out", in_folder("ragged.cache"), "test_out",
                        in_folder("held.cache"), "test_every", "2", NULL),
                NULL) == TS_OK,
            "%s", message);
}

static ts_store *open_store(void) {
  ts_store *store = NULL;
  ts_config *config = options("storage", "DRAM", "seed", "5", NULL);
  CHECK_MSG(ts_store_open(config, &store, message, sizeof message) == TS_OK, "%s", message);
  ts_config_free(config);
  return store;
}

/* `more` is "key=value key=value ...". */
static ts_trainer *open_trainer(ts_store *store, const char *tables, const char *more) {
  ts_config *config = options("data", in_folder("ragged.cache"), "batch", "64", "hidden", "20,9", "deep_optimizer", "sgd",
                              "deep_learning_rate", "0.5", "wide_buckets", "50", "initializer", "uniform",
                              "initializer.low", "-0.5", "initializer.high", "0.5", NULL);
  if (tables != NULL) ts_config_set(config, "tables", tables, NULL, 0);
  char text[512];
  snprintf(text, sizeof text, "%s", more);
  for (char *pair = strtok(text, " "); pair != NULL; pair = strtok(NULL, " ")) {
    char *equals = strchr(pair, '=');
    *equals = '\0';
    ts_config_set(config, pair, equals + 1, NULL, 0);
  }
  ts_trainer *t = NULL;
  CHECK_MSG(ts_trainer_open(store, config, &t, message, sizeof message) == TS_OK, "%s", message);
  ts_config_free(config);
  if (t == NULL) exit(2);
  return t;
}

static double loss_now(ts_trainer *t) {
  double result[4] = {NAN};
  CHECK_MSG(ts_trainer_evaluate(t, in_folder("ragged.cache"), 0, result, NULL, message, sizeof message) == TS_OK, "%s",
            message);
  return result[0];
}

static void text_says_what_feeds_a_table(void) {
  ts_tables tables;
  const ts_err err = {message, sizeof message};
  CHECK(ts_tables_read(&tables, SHARED, err) == TS_OK);
  CHECK(tables.count == 5 && tables.vectors == 6 && tables.plans[1].vector == 2 && tables.plans[4].vector == 5);
  CHECK(strcmp(tables.plans[0].name, "one") == 0 && tables.plans[0].columns[1] == 3 && tables.plans[1].count == 4);
  ts_text text = {0};
  ts_tables_write(&tables, &text);
  CHECK_MSG(strcmp(text.bytes, SHARED) == 0, "%s", text.bytes);
  free(text.bytes);
  static const char *const wrong[][2] = {
      {"", "no table"},
      {"a", "\"name:dim:combiner:columns\""},
      {":8:none:C1", "\"name:dim:combiner:columns\""},
      {"a:0:none:C1", "1 to 1024"},
      {"a:1025:none:C1", "1 to 1024"},
      {"a:x:none:C1", "1 to 1024"},
      {"a:8:max:C1", "none, sum, mean or sqrtn"},
      {"a:8:sum:", "has no columns"},
      {"a:8:sum:C27", "C1 to C26"},
      {"a:8:sum:C0", "C1 to C26"},
      {"a:8:sum:I1", "C1 to C26"},
      {"a:8:sum:C1,C2;b:8:none:C2", "C2 of table \"b\" is in a table already"},
      {"a:8:sum:C1;a:8:none:C2", "two tables are called \"a\""},
  };
  for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    CHECK_MSG(ts_tables_read(&tables, wrong[i][0], err) == TS_EINVAL && strstr(message, wrong[i][1]) != NULL,
              "\"%s\": \"%s\" does not say \"%s\"", wrong[i][0], message, wrong[i][1]);
}

static void refuse(const char *key, const char *value, const char *wanted) {
  ts_store *store = open_store();
  ts_config *config =
      options("data", in_folder("ragged.cache"), "batch", "64", "tables", "a:8:sum:C1,C2;b:4:none:C3", key, value, NULL);
  ts_trainer *t = NULL;
  const int32_t status = ts_trainer_open(store, config, &t, message, sizeof message);
  CHECK_MSG(status == TS_EINVAL && t == NULL && strstr(message, wanted) != NULL, "%s=%s: %s", key, value, message);
  ts_config_free(config);
  ts_store_close(store);
}

/* Distinct ids of the columns of a table. */
static uint64_t distinct(const char *columns, bool missing) {
  int64_t seen[1024], read[ROWS];
  uint64_t count = 0;
  ts_cache cache;
  CHECK(ts_cache_open(in_folder("ragged.cache"), &cache, (ts_err){message, sizeof message}) == TS_OK);
  for (const char *at = columns; at != NULL; at = strchr(at, ','), at += at != NULL) {
    const uint32_t c = (uint32_t)strtoul(at + 1, NULL, 10) - 1;
    CHECK(ts_cache_read_column(&cache, c, 0, ROWS, read, (ts_err){message, sizeof message}) == TS_OK);
    for (uint32_t r = 0; r < ROWS; r++) {
      bool known = !missing && read[r] == TS_MISSING_KEY;
      for (uint64_t i = 0; i < count; i++) known |= seen[i] == read[r];
      if (!known) seen[count++] = read[r];
    }
  }
  ts_cache_close(&cache);
  return count;
}

/* Fill makes the rows that training looks up, no more and no fewer; what is missing is a row only outside bags. */
static void rows_are_those_of_the_ids(void) {
  static const char *const columns[] = {"C1,C4", "C2,C3,C7,C8", "C9,C10,C11", "C12,C13", "C26"};
  ts_store *store = open_store();
  ts_trainer *t = open_trainer(store, SHARED, "threads=2");
  uint64_t control[TS_CONTROL_WORDS] = {0};
  CHECK(ts_trainer_fill(t, control, message, sizeof message) == TS_OK);
  CHECK(control[TS_CONTROL_DONE] == control[TS_CONTROL_TOTAL]);
  for (uint32_t pass = 0; pass < 2; pass++) {
    for (uint32_t i = 0; i < 5; i++) {
      uint64_t rows = 0;
      CHECK(ts_table_rows(store, i, &rows, 1, message, sizeof message) == TS_OK);
      const uint64_t wanted = distinct(columns[i], i == 0 || i == 4);
      CHECK_MSG(rows == wanted, "table %u has %llu rows, its columns %llu ids", i, (unsigned long long)rows,
                (unsigned long long)wanted);
    }
    CHECK(ts_trainer_train(t, 0, 1, NULL, NULL, NULL, NULL, message, sizeof message) == TS_OK);
  }
  uint32_t table;
  ts_config *config = options("name", "after", NULL);
  CHECK(ts_table_create(store, config, &table, message, sizeof message) == TS_OK && table == 5); /* no C5, no C6 ... */
  ts_config_free(config);
  ts_trainer_close(t);
  ts_store_close(store);
}

/* One batch is the whole file, so evaluation gives the loss that training descends: SGD moves every row by -rate times the
 * slope of that loss, through its bags and all its columns. */
static void rows_descend_the_loss(const char *model) {
  ts_store *store = open_store();
  char more[128];
  snprintf(more, sizeof more, "model=%s%s", model, strcmp(model, "dlrm") == 0 ? " bottom=11" : "");
  ts_trainer *t = open_trainer(store, SHARED, more);
  CHECK(ts_trainer_fill(t, NULL, message, sizeof message) == TS_OK);
  enum { TABLES = 5, KEYS = 3, DIM = 3 };
  double slope[TABLES][KEYS][DIM], middle = loss_now(t);
  float before[TABLES][KEYS][DIM], after[DIM];
  const float e = 0x1p-9f;
  for (uint32_t i = 0; i < TABLES; i++)
    for (int64_t k = 0; k < KEYS; k++) {
      for (uint32_t d = 0; d < DIM; d++) {
        double side[2];
        float gradient[DIM] = {0};
        for (uint32_t s = 0; s < 2; s++) {
          gradient[d] = s == 0 ? -2 * e : 4 * e; /* rate 0.5: + e, then - e */
          CHECK(ts_table_update(store, i, &k, 1, gradient, message, sizeof message) == TS_OK);
          side[s] = loss_now(t);
        }
        gradient[d] = -2 * e;
        CHECK(ts_table_update(store, i, &k, 1, gradient, message, sizeof message) == TS_OK);
        /* A ReLU that switches inside the interval bends the loss: no slope to compare. */
        slope[i][k][d] = fabs(side[0] + side[1] - 2 * middle) > 1e-7 ? NAN : (side[0] - side[1]) / (2.0 * (double)e);
      }
      CHECK(ts_table_find(store, i, &k, 1, 0, before[i][k], NULL, message, sizeof message) == TS_OK);
    }
  double loss;
  CHECK(ts_trainer_train(t, 0, 1, NULL, NULL, &loss, NULL, message, sizeof message) == TS_OK);
  CHECK_MSG(fabs(loss - middle) < 1e-6, "%s: training had loss %.9g, evaluation %.9g", model, loss, middle);
  uint32_t checked[TABLES] = {0}, moved[TABLES] = {0};
  for (uint32_t i = 0; i < TABLES; i++)
    for (int64_t k = 0; k < KEYS; k++) {
      CHECK(ts_table_find(store, i, &k, 1, 0, after, NULL, message, sizeof message) == TS_OK);
      for (uint32_t d = 0; d < DIM; d++) {
        if (isnan(slope[i][k][d])) continue;
        const double found = ((double)before[i][k][d] - (double)after[d]) / 0.5;
        CHECK_MSG(fabs(found - slope[i][k][d]) < 3e-5 + 0.03 * fabs(slope[i][k][d]), "%s table %u key %lld: moved %g, slope %g",
                  model, i, (long long)k, found, slope[i][k][d]);
        checked[i]++;
        moved[i] += fabs(slope[i][k][d]) > 1e-4;
      }
    }
  for (uint32_t i = 0; i < TABLES; i++)
    CHECK_MSG(checked[i] >= 4 && moved[i] >= 3, "%s table %u: %u checked, %u moved", model, i, checked[i], moved[i]);
  ts_trainer_close(t);
  ts_store_close(store);
}

/* The linear part: FTRL's first step from a weight of 0 is -rate g / sqrt(n + g^2), which gives g back. */
static void linear_weights_descend_the_loss(const char *model) {
  static const char *const names[] = {"wide.numeric", "wide.C1", "wide.C8", "wide.C26"};
  const double rate = 0.2, n = 0.1;
  const float e = 0x1p-6f;
  ts_store *store = open_store();
  char more[64];
  snprintf(more, sizeof more, "model=%s", model);
  ts_trainer *t = open_trainer(store, SHARED, more);
  CHECK(ts_trainer_fill(t, NULL, message, sizeof message) == TS_OK);
  float w[50];
  uint64_t count[4];
  double slope[4][50];
  for (uint32_t i = 0; i < 4; i++) {
    CHECK(ts_trainer_parameters(t, names[i], w, 50, &count[i], message, sizeof message) == TS_OK);
    for (uint64_t k = 0; k < count[i]; k++) {
      double side[2];
      CHECK(w[k] == 0);
      for (uint32_t s = 0; s < 2; s++) {
        w[k] = s == 0 ? e : -e;
        CHECK(ts_trainer_set_parameters(t, names[i], w, count[i], message, sizeof message) == TS_OK);
        side[s] = loss_now(t);
      }
      w[k] = 0;
      slope[i][k] = (side[0] - side[1]) / (2.0 * (double)e);
    }
    CHECK(ts_trainer_set_parameters(t, names[i], w, count[i], message, sizeof message) == TS_OK);
  }
  CHECK(ts_trainer_train(t, 0, 1, NULL, NULL, NULL, NULL, message, sizeof message) == TS_OK);
  for (uint32_t i = 0; i < 4; i++) {
    uint32_t moved = 0;
    CHECK(ts_trainer_parameters(t, names[i], w, 50, NULL, message, sizeof message) == TS_OK);
    for (uint64_t k = 0; k < count[i]; k++) {
      const double now = (double)w[k], g = -now * sqrt(n) / sqrt(rate * rate - now * now);
      CHECK_MSG(fabs(g - slope[i][k]) < 1e-5 + 2e-3 * fabs(slope[i][k]), "%s %s[%llu]: gradient %g, slope %g", model,
                names[i], (unsigned long long)k, g, slope[i][k]);
      moved += fabs(slope[i][k]) > 1e-3;
    }
    CHECK_MSG(moved >= 5, "%s %s: %u moved", model, names[i], moved);
  }
  ts_trainer_close(t);
  ts_store_close(store);
}

typedef struct outcome {
  uint64_t digest;
  double loss, auc;
  char text[4096];
} outcome;

static outcome train(const char *tables, const char *more) {
  outcome o = {0};
  ts_store *store = open_store();
  char all[512];
  snprintf(all, sizeof all, "batch=20 deep_optimizer=adagrad deep_learning_rate=0.05 %s", more);
  ts_trainer *t = open_trainer(store, tables, all);
  double result[4], loss[2];
  uint64_t needed;
  for (uint32_t i = 0; i < 2; i++) {
    CHECK_MSG(ts_trainer_train(t, 0, 7, NULL, NULL, &loss[i], NULL, message, sizeof message) == TS_OK, "%s", message);
    CHECK(ts_trainer_evaluate(t, in_folder("held.cache"), 0, result, NULL, message, sizeof message) == TS_OK);
  }
  CHECK(ts_trainer_digest(t, &o.digest, message, sizeof message) == TS_OK);
  CHECK(ts_trainer_describe(t, o.text, sizeof o.text, &needed) == TS_OK);
  o.loss = loss[0] + loss[1];
  o.auc = result[1];
  ts_trainer_close(t);
  ts_store_close(store);
  return o;
}

static void the_schedule_changes_nothing(void) {
  static const char *const others[] = {
      "threads=3 executor=pool stage=0 embedding_fusion=0",
      "threads=2 executor=cost_model stage=3 readers=2 stage_what=lookup",
      "threads=2 executor=pool memory_reuse=0",
      "threads=1 executor=inline memory_reuse=0 embedding_fusion=0",
  };
  static const char *const kinds[] = {"", "async_embedding=1", "model=dlrm bottom=7", "model=deepfm bf16=rows"};
  uint64_t last = 0;
  for (uint32_t k = 0; k < 4; k++) {
    char more[256];
    snprintf(more, sizeof more, "%s threads=1 executor=inline stage=0", kinds[k]);
    const outcome expected = train(SHARED, more);
    CHECK_MSG(expected.digest != last && isfinite(expected.loss), "%s", kinds[k]);
    CHECK_MSG(strstr(expected.text, "\ntables=" SHARED "\n") != NULL && strstr(expected.text, "\ndims=3,3,3,3,3,3\n") != NULL,
              "%s", expected.text);
    last = expected.digest;
    for (uint32_t i = 0; i < 4; i++) {
      snprintf(more, sizeof more, "%s %s", kinds[k], others[i]);
      const outcome found = train(SHARED, more);
      CHECK_MSG(found.digest == expected.digest && found.loss == expected.loss && found.auc == expected.auc,
                "%s: loss %.17g, expected %.17g", more, found.loss, expected.loss);
    }
  }
}

/* Written out, the tables that there are without the option; and a bag of one column whose ids are all there is that column. */
static void single_columns_are_the_default(void) {
  ts_tables tables;
  uint32_t dims[TS_CATEGORIES];
  for (uint32_t c = 0; c < TS_CATEGORIES; c++) dims[c] = 1 + c % 7;
  ts_tables_by_column(&tables, dims);
  ts_text text = {0}, list = {0};
  ts_tables_write(&tables, &text);
  ts_text_add(&list, "dims=");
  for (uint32_t c = 0; c < TS_CATEGORIES; c++) ts_text_add(&list, "%s%u", c == 0 ? "" : ",", dims[c]);
  const outcome written = train(text.bytes, ""), plain = train(NULL, list.bytes);
  CHECK(written.digest == plain.digest && written.loss == plain.loss);
  free(text.bytes), free(list.bytes);
}

int main(void) {
  make_folder();
  import_rows();
  text_says_what_feeds_a_table();
  refuse("dims", "8", "\"tables\" and \"dims\"");
  refuse("model", "dlrm", "table a has 8 and b has 4");
  refuse("model", "deepfm", "table a has 8 and b has 4");
  rows_are_those_of_the_ids();
  rows_descend_the_loss("wdl");
  rows_descend_the_loss("deepfm");
  rows_descend_the_loss("dlrm");
  linear_weights_descend_the_loss("wdl");
  linear_weights_descend_the_loss("deepfm");
  the_schedule_changes_nothing();
  single_columns_are_the_default();
  remove_folder();
  return test_result();
}
