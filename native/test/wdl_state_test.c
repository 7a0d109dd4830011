/* A trainer's state: taken from one trainer into another that goes on exactly as the first does, for each model, rule and
 * option; refused by name where the trainers differ; a damaged one is refused and changes nothing. The rows of tables are
 * carried over by hand. */
#include "store/store.h"
#include "test/wdl_fixture.h"
#include "wdl/state.h"

/* `more`: see set_pairs; it comes after what a test's trainer has. */
static both open_both(const char *more) {
  both b = {0};
  ts_config *config = options("storage", "DRAM", "seed", "5", NULL);
  CHECK_MSG(ts_store_open(config, &b.store, message, sizeof message) == TS_OK, "%s", message);
  ts_config_free(config);
  config = options("data", in_folder("train.cache"), "batch", "100", "hidden", "24,9", "dim", "4", "seed", "1",
                   "wide_buckets", "300", NULL);
  set_pairs(config, more);
  const int32_t status = ts_trainer_open(b.store, config, &b.trainer, message, sizeof message);
  if (status != TS_EUNAVAILABLE) CHECK_MSG(status == TS_OK, "%s: %s", more, message);
  ts_config_free(config);
  return b;
}

static void *row_of(ts_table *table, int64_t key) {
  ts_shard *shard = ts_shard_of(table, ts_index_hash(key));
  const ts_location l = ts_index_find_one(&shard->index, key);
  return l == TS_LOCATION_NONE ? NULL : ts_rows_at(&shard->rows[0], TS_LOCATION_ROW(l));
}

static void carry_rows(const both *from, const both *to) {
  static int64_t keys[100000];
  static float weights[100000 * 16];
  for (uint32_t t = 0; t < from->store->table_count; t++) {
    uint64_t n = 0;
    CHECK(ts_table_keys(from->store, t, keys, 100000, &n, message, sizeof message) == TS_OK);
    CHECK(ts_table_lookup(to->store, t, keys, n, weights, message, sizeof message) == TS_OK);
    ts_table *a = from->store->tables[t], *b = to->store->tables[t];
    for (uint64_t i = 0; i < n; i++) memcpy(row_of(b, keys[i]), row_of(a, keys[i]), a->layout.stride);
    atomic_store(&b->optimizer.steps, atomic_load(&a->optimizer.steps));
  }
}

/* The same options; false where the machine does not have them. */
static bool resumes(const char *more, const char *others) {
  char with[512];
  snprintf(with, sizeof with, "%s %s", more, others);
  both first = open_both(more), second = open_both(with);
  const bool opened = first.trainer != NULL && second.trainer != NULL;
  if (opened) {
    train_both(&first, 13);
    ts_named state;
    CHECK(ts_trainer_save_state(first.trainer, &state, (ts_err){message, sizeof message}) == TS_OK);
    const uint64_t at_cut = digest_of(&first);
    carry_rows(&first, &second);
    const double expected = train_both(&first, 11); /* the state is a copy */
    CHECK_MSG(ts_trainer_load_state(second.trainer, &state, (ts_err){message, sizeof message}) == TS_OK, "%s: %s", more,
              message);
    CHECK_MSG(digest_of(&second) == at_cut, "%s: another state", more);
    const double found = train_both(&second, 11);
    CHECK_MSG(found == expected, "%s: loss %.17g, expected %.17g", more, found, expected);
    CHECK_MSG(digest_of(&second) == digest_of(&first), "%s: another digest", more);
    ts_named_free(&state);
  } else SKIP("wdl_state_test", "%s: %s", more, message);
  close_both(&first);
  close_both(&second);
  return opened;
}

static void every_trainer_resumes(void) {
  static const char *const models[] = {"model=wdl", "model=deepfm", "model=dlrm bottom=17,8"};
  static const char *const rules[] = {"deep_optimizer=sgd",
                                      "deep_optimizer=adagrad",
                                      "deep_optimizer=adagrad_decay deep_decay_step=5",
                                      "deep_optimizer=adam",
                                      "deep_optimizer=adam_async",
                                      "deep_optimizer=adamw",
                                      "deep_optimizer=adam embedding_optimizer=ftrl"};
  static const char *const switches[] = {"dropout=0.3",
                                         "micro_batch=3",
                                         "async_embedding=1",
                                         "bf16=rows",
                                         "bf16=dense",
                                         "bf16=all dropout=0.2",
                                         "graph_fusion=0",
                                         "tables=a:4:none:C1,C2;b:4:mean:C3,C4,C5"};
  for (uint32_t m = 0; m < 3; m++) {
    char more[512];
    for (uint32_t r = 0; r < sizeof rules / sizeof *rules; r++) {
      snprintf(more, sizeof more, "%s %s", models[m], rules[r]);
      resumes(more, "threads=2 executor=cost_model stage=0");
    }
    for (uint32_t s = 0; s < sizeof switches / sizeof *switches; s++) {
      snprintf(more, sizeof more, "%s deep_optimizer=adam %s", models[m], switches[s]);
      resumes(more, "threads=2 embedding_fusion=0 memory_reuse=0 stage_what=lookup");
    }
  }
}

static void first_layer_by_distinct_rows_resumes(void) {
  resumes("model=wdl deep_optimizer=adam dim=16 first_layer=distinct", "threads=2 executor=cost_model stage=0");
}

static void other_trainers_are_refused_by_name(void) {
  static const struct {
    const char *more, *words;
  } cases[] = {
      {"batch=101", "option \"batch\" is 101 here and 100 in the checkpoint"},
      {"model=deepfm", "option \"model\" is deepfm here and wdl in the checkpoint"},
      {"seed=2", "option \"seed\" is 2 here and 1 in the checkpoint"},
      {"dim=5", "option \"tables\" is C1:5:none:C1"},
      {"hidden=24,8", "option \"hidden\" is 24,8 here and 24,9 in the checkpoint"},
      {"deep_optimizer=adam", "option \"deep_optimizer\" is adam here and adagrad in the checkpoint"},
      {"deep_learning_rate=0.02", "option \"deep_learning_rate\" is 0.0199999996 here"},
      {"deep_initial_accumulator=0.2", "option \"deep_initial_accumulator\""},
      {"wide_l1=0.5", "option \"wide_l1\" is 0.5 here and 0 in the checkpoint"},
      {"wide_buckets=301", "option \"wide_buckets\""},
      {"micro_batch=2", "option \"micro_batch\""},
      {"dropout=0.1", "option \"dropout\""},
      {"bf16=rows", "option \"bf16\" is rows here and off in the checkpoint"},
      {"async_embedding=1", "option \"async_embedding\""},
      {"deterministic=0", "option \"deterministic\""},
      {"data=other.cache", "the training data are others: \"data.keys\""},
  };
  both first = open_both("");
  train_both(&first, 3);
  ts_named state;
  CHECK(ts_trainer_save_state(first.trainer, &state, (ts_err){message, sizeof message}) == TS_OK);
  for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    both other = open_both(cases[i].more);
    const uint64_t before = digest_of(&other);
    message[0] = '\0';
    CHECK(ts_trainer_load_state(other.trainer, &state, (ts_err){message, sizeof message}) == TS_EINVAL);
    CHECK_MSG(strstr(message, cases[i].words) != NULL, "%s: %s", cases[i].more, message);
    CHECK(digest_of(&other) == before && other.trainer->step == 0);
    close_both(&other);
  }
  ts_named_free(&state);
  close_both(&first);
}

/* A first layer by distinct rows adds up in another order; that by samples is unsaid, as in checkpoints that are older. */
static void first_layers_are_told_apart(void) {
  both samples = open_both("dim=16 first_layer=samples"), distinct = open_both("dim=16 first_layer=distinct");
  ts_named of_samples, of_distinct;
  CHECK(ts_trainer_save_state(samples.trainer, &of_samples, (ts_err){message, sizeof message}) == TS_OK);
  CHECK(ts_trainer_save_state(distinct.trainer, &of_distinct, (ts_err){message, sizeof message}) == TS_OK);
  CHECK(memmem(of_samples.bytes, of_samples.used, "first_layer", 11) == NULL);
  CHECK(ts_trainer_load_state(samples.trainer, &of_samples, (ts_err){message, sizeof message}) == TS_OK);
  CHECK(ts_trainer_load_state(distinct.trainer, &of_distinct, (ts_err){message, sizeof message}) == TS_OK);
  CHECK(ts_trainer_load_state(distinct.trainer, &of_samples, (ts_err){message, sizeof message}) == TS_EINVAL);
  CHECK_MSG(strstr(message, "option \"first_layer\" is of this trainer alone") != NULL, "%s", message);
  CHECK(ts_trainer_load_state(samples.trainer, &of_distinct, (ts_err){message, sizeof message}) == TS_EINVAL);
  CHECK_MSG(strstr(message, "option \"first_layer\" is of the checkpoint's trainer") != NULL, "%s", message);
  ts_named_free(&of_samples);
  ts_named_free(&of_distinct);
  close_both(&samples);
  close_both(&distinct);
}

/* Cut short anywhere, longer, another form, another size of a piece: an error, and nothing has changed. */
static void damage_is_refused(void) {
  both first = open_both("deep_optimizer=adam"), second = open_both("deep_optimizer=adam");
  train_both(&first, 3);
  ts_named state, none;
  CHECK(ts_trainer_save_state(first.trainer, &state, (ts_err){message, sizeof message}) == TS_OK);
  const uint64_t before = digest_of(&second);
  for (uint64_t n = 0; n < state.used; n += n < 1000 ? 1 : 997) {
    none = (ts_named){.bytes = state.bytes, .used = n};
    message[0] = '\0';
    CHECK_MSG(ts_trainer_load_state(second.trainer, &none, (ts_err){message, sizeof message}) != TS_OK && message[0] != '\0',
              "%llu bytes", (unsigned long long)n);
  }
  none = (ts_named){.bytes = malloc(state.used + 16), .used = state.used + 16};
  memcpy(none.bytes, state.bytes, state.used);
  memset(none.bytes + state.used, 0, 16);
  CHECK(ts_trainer_load_state(second.trainer, &none, (ts_err){message, sizeof message}) == TS_EFORMAT);
  CHECK_MSG(strstr(message, "more than this library knows") != NULL, "%s", message);
  none.used = state.used;
  char *form = memmem(none.bytes, none.used, "form=1", 6);
  form[5] = '2';
  CHECK(ts_trainer_load_state(second.trainer, &none, (ts_err){message, sizeof message}) == TS_EFORMAT);
  CHECK_MSG(strstr(message, "another version") != NULL, "%s", message);
  form[5] = '1';
  char *step = memmem(none.bytes, none.used, "step=3", 6);
  step[5] = 'x';
  CHECK(ts_trainer_load_state(second.trainer, &none, (ts_err){message, sizeof message}) == TS_EFORMAT);
  CHECK_MSG(strstr(message, "its step") != NULL, "%s", message);
  CHECK(digest_of(&second) == before && second.trainer->step == 0);
  free(none.bytes);
  ts_named_free(&state);
  close_both(&first);
  close_both(&second);
}

int main(void) {
  make_folder();
  CHECK(run(ts_data_generate, options("out", in_folder("train.cache"), "rows", "2050", "scale", "0.001", NULL), NULL) ==
        TS_OK);
  CHECK(run(ts_data_generate,
            options("out", in_folder("other.cache"), "rows", "2050", "scale", "0.001", "seed", "9", NULL), NULL) == TS_OK);
  every_trainer_resumes();
  first_layer_by_distinct_rows_resumes();
  other_trainers_are_refused_by_name();
  first_layers_are_told_apart();
  damage_is_refused();
  remove_folder();
  return test_result();
}
