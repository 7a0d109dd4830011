/* Training in BF16: it learns as in FP32, to a difference in AUC that is bounded, and its bits depend on neither threads nor
 * schedule. Products in BF16 need a CPU with avx512_bf16 and are skipped by name without; rows in BF16 work everywhere. */
#include "test/wdl_fixture.h"

#include <math.h>

#define CALLS 3u
#define STEPS 100u

typedef struct outcome {
  uint64_t digest;
  double loss[CALLS], auc;
  char text[4096];
} outcome;

/* False: this CPU has no such products. `more` is "key=value key=value ...". */
static bool train(const char *bf16, const char *model, uint64_t steps, const char *more, outcome *o) {
  *o = (outcome){0};
  ts_config *config = options("storage", "DRAM", "seed", "5", NULL);
  ts_store *store = NULL;
  CHECK_MSG(ts_store_open(config, &store, message, sizeof message) == TS_OK, "%s", message);
  ts_config_free(config);
  config = options("data", in_folder("train.cache"), "batch", "512", "hidden", "64,32", "dim", "16", "bf16", bf16, "model",
                   model, "deep_learning_rate", "0.01", "deep_initial_accumulator", "1e-6", "wide_learning_rate", "0.05",
                   "wide_initial_accumulator", "1e-2", NULL);
  if (strcmp(model, "dlrm") == 0) ts_config_set(config, "bottom", "32", NULL, 0);
  char text[256];
  snprintf(text, sizeof text, "%s", more);
  for (char *pair = strtok(text, " "); pair != NULL; pair = strtok(NULL, " ")) {
    char *equals = strchr(pair, '=');
    *equals = '\0';
    ts_config_set(config, pair, equals + 1, NULL, 0);
  }
  ts_trainer *t = NULL;
  const int32_t status = ts_trainer_open(store, config, &t, message, sizeof message);
  ts_config_free(config);
  CHECK_MSG(status == TS_OK || (status == TS_EUNAVAILABLE && strstr(message, "BF16 products") != NULL), "%s", message);
  if (status == TS_OK) {
    double result[4];
    uint64_t needed;
    for (uint32_t i = 0; i < CALLS; i++)
      CHECK_MSG(ts_trainer_train(t, 0, steps, NULL, NULL, &o->loss[i], NULL, message, sizeof message) == TS_OK, "%s", message);
    CHECK(ts_trainer_evaluate(t, in_folder("test.cache"), 0, result, NULL, message, sizeof message) == TS_OK);
    CHECK(ts_trainer_digest(t, &o->digest, message, sizeof message) == TS_OK);
    CHECK(ts_trainer_describe(t, o->text, sizeof o->text, &needed) == TS_OK);
    o->auc = result[1];
  }
  ts_trainer_close(t);
  ts_store_close(store);
  return status == TS_OK;
}

static const char *const models[] = {"wdl", "deepfm", "dlrm"};
static const char *const kinds[] = {"dense", "rows", "all"};

static bool available(const char *bf16) {
  outcome o;
  const bool yes = train(bf16, "wdl", 1, "", &o);
  if (!yes) SKIP(bf16[0] == 'a' ? "wdl_bf16_test: bf16=all" : "wdl_bf16_test: bf16=dense", "%s", message);
  return yes;
}

static void learns_as_in_fp32(const char *bf16, const char *model, const outcome *fp32) {
  outcome o;
  if (!train(bf16, model, STEPS, "threads=2", &o)) return;
  for (uint32_t i = 0; i < CALLS; i++)
    CHECK_MSG(isfinite(o.loss[i]) && (i == 0 || o.loss[i] < o.loss[i - 1]), "%s %s: losses %f, %f, %f", model, bf16,
              o.loss[0], o.loss[1], o.loss[2]);
  CHECK_MSG(fabs(o.auc - fp32->auc) < 0.002, "%s %s: AUC %f, in FP32 %f", model, bf16, o.auc, fp32->auc);
  char line[32];
  snprintf(line, sizeof line, "\nbf16=%s\n", bf16);
  CHECK_MSG(o.digest != fp32->digest && strstr(o.text, line) != NULL, "%s %s: %s", model, bf16, o.text);
}

static void threads_do_not_change_bits(const char *bf16, const char *model) {
  static const char *const others[] = {"threads=2 executor=pool stage=2 readers=2", "threads=3 executor=cost_model",
                                       "threads=2 executor=cost_model memory_reuse=0 embedding_fusion=0"};
  outcome expected, found;
  if (!train(bf16, model, 4, "threads=1 executor=inline stage=0", &expected)) return;
  for (uint32_t i = 0; i < 3; i++) {
    if (!train(bf16, model, 4, others[i], &found)) return;
    CHECK_MSG(found.digest == expected.digest && found.loss[2] == expected.loss[2] && found.auc == expected.auc,
              "%s %s, %s: loss %.17g, expected %.17g", model, bf16, others[i], found.loss[2], expected.loss[2]);
  }
}

int main(void) {
  make_folder();
  CHECK(run(ts_data_generate,
            options("out", in_folder("train.cache"), "rows", "153600", "scale", "0.0005", "threads", "2", NULL),
            NULL) == TS_OK);
  CHECK(run(ts_data_generate,
            options("out", in_folder("test.cache"), "rows", "10000", "scale", "0.0005", "split", "test", NULL),
            NULL) == TS_OK);
  bool usable[3];
  for (uint32_t k = 0; k < 3; k++) usable[k] = available(kinds[k]);
  CHECK(usable[1]); /* rows */
  for (uint32_t m = 0; m < 3; m++) {
    outcome fp32;
    CHECK(train("off", models[m], STEPS, "threads=2", &fp32));
    CHECK_MSG(fp32.auc > 0.74, "%s: AUC %f", models[m], fp32.auc);
    for (uint32_t k = 0; k < 3; k++) {
      if (!usable[k]) continue;
      /* Rows are the same in all models. */
      if (m == 0 || k == 0) learns_as_in_fp32(kinds[k], models[m], &fp32);
      threads_do_not_change_bits(kinds[k], models[m]);
    }
  }
  remove_folder();
  return test_result();
}
