/* Options of the update rules, and where the parts of a row lie. */
#include "test/optimizer_table.h"

static void options_have_their_defaults_and_limits(void) {
  ts_optimizer o;
  CHECK(read_optimizer("dim 4", &o) == TS_EINVAL && strstr(message, "unknown option \"dim\"") != NULL);
  ts_config *config;
  ts_config_create(&config);
  ts_config_reader r = ts_config_read(config, "table", ERR);
  CHECK(ts_optimizer_read(&r, "t", &o) == TS_OK && o.kind == TS_SGD && o.learning_rate == 0.01f);
  ts_config_free(config);
  CHECK(read_optimizer("optimizer adagrad-decay", &o) == TS_OK && o.decay_step == 100000 && o.decay_rate == 0.9f &&
        o.initial_accumulator == 0.1f && o.decay_baseline == 0.1f);
  CHECK(read_optimizer("optimizer adagrad-decay initial_accumulator 3", &o) == TS_OK && o.decay_baseline == 3.0f);
  CHECK(read_optimizer("optimizer adamw", &o) == TS_OK && o.beta1 == 0.9 && o.beta2 == 0.999 && o.epsilon == 1e-8f &&
        o.weight_decay == 1e-4f);
  CHECK(read_optimizer("optimizer ftrl", &o) == TS_OK && o.l1 == 0 && o.l2 == 0 && o.l2_shrinkage == 0);
  static const char *const wrong[][2] = {
      {"optimizer adamax", "unknown optimizer \"adamax\", known are sgd, adagrad"},
      {"optimizer sgd initial_accumulator 1", "unknown option \"initial_accumulator\""},
      {"optimizer sgd beta1 0.5", "unknown option \"beta1\""},
      {"optimizer adagrad decay_step 5", "unknown option \"decay_step\""},
      {"optimizer adam weight_decay 0.1", "unknown option \"weight_decay\""},
      {"optimizer adam apply_sparse_rmsprop 1", "unknown option \"apply_sparse_rmsprop\""},
      {"optimizer adam l1 1", "unknown option \"l1\""},
      {"optimizer adam beta1 1", "option \"beta1\" must be a number from 0 to 0.999999, found \"1\""},
      {"optimizer adam epsilon 0", "option \"epsilon\""},
      {"optimizer adagrad initial_accumulator 0", "option \"initial_accumulator\""},
      {"optimizer adagrad-decay decay_step 0", "option \"decay_step\" must be a whole number from 1"},
      {"optimizer adagrad-decay decay_rate 1.5", "option \"decay_rate\" must be a number from 0 to 1"},
      {"optimizer adam-async apply_sparse_rmsprop 2", "option \"apply_sparse_rmsprop\""},
      {"optimizer adamw weight_decay 2", "option \"weight_decay\""},
      {"optimizer rowwise-adagrad epsilon 0", "option \"epsilon\""},
      {"optimizer rowwise-adagrad initial_accumulator -1", "option \"initial_accumulator\" must be a number from 0"},
      {"optimizer rowwise-adagrad decay_step 5", "unknown option \"decay_step\""},
      {"optimizer ftrl l2_shrinkage -1", "option \"l2_shrinkage\""},
      {"optimizer ftrl learning_rate 0", "Cannot create table \"t\": ftrl needs a learning_rate above 0"},
      {"optimizer sgd learning_rate nan", "option \"learning_rate\""},
  };
  for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    message[0] = '\0';
    CHECK_MSG(read_optimizer(wrong[i][0], &o) == TS_EINVAL && strstr(message, wrong[i][1]) != NULL, "%s: %s",
              wrong[i][0], message);
  }
  CHECK(read_optimizer("optimizer ftrl-row-norm", &o) == TS_OK);
  CHECK(ts_optimizer_set_learning_rate(&o, "t", 0, ERR) == TS_EINVAL && strstr(message, "to 0: ftrl divides") != NULL);
  CHECK(ts_optimizer_set_learning_rate(&o, "t", -1, ERR) == TS_EINVAL && strstr(message, "from 0 to 1e6") != NULL);
  CHECK(ts_optimizer_set_learning_rate(&o, "t", (double)NAN, ERR) == TS_EINVAL);
  CHECK(ts_optimizer_set_learning_rate(&o, "t", 0.5, ERR) == TS_OK && o.learning_rate == 0.5f);
}

static void layouts_keep_what_is_asked_for(void) {
  static const uint32_t dims[] = {1, 3, 4, 16, 30, 65536};
  for (uint32_t d = 0; d < 6; d++)
    for (uint32_t slots = 1; slots <= 3; slots++) {
      ts_row_layout l = ts_row_layout_make(TS_FP32, dims[d], slots, 0, false, false);
      uint32_t slot = TS_ROUND_UP(dims[d] * 4, 16u);
      CHECK(l.stride == slots * slot && l.slot_bytes == slot);
      CHECK(l.scalar_offset == 0 && l.frequency_offset == 0 && l.version_offset == 0);
      CHECK(ts_row_slot_offset(&l, slots - 1) == (slots - 1) * slot);
    }
  ts_row_layout l = ts_row_layout_make(TS_BF16, 30, 2, 1, true, true);
  CHECK(l.weight_bytes == 64 && l.slot_bytes == 128 && ts_row_slot_offset(&l, 1) == 64 && l.scalar_offset == 192 &&
        l.frequency_offset == 196 && l.version_offset == 200 && l.stride == 208);
  unsigned char row[208] = {0};
  ts_row_set_scalar(&l, row, 0, 7);
  ts_row_set_frequency(&l, row, UINT32_MAX);
  ts_row_set_version(&l, row, INT64_MAX);
  CHECK(ts_row_scalar(&l, row, 0) == 7 && ts_row_frequency(&l, row) == UINT32_MAX);
  CHECK(ts_row_version(&l, row) == INT64_MAX && ts_row_date(&l, row) == INT64_MAX);
  ts_row_set_version(&l, row, TS_BORN(INT64_MAX));
  CHECK(ts_row_version(&l, row) == TS_NO_VERSION && ts_row_date(&l, row) == INT64_MAX);
  l = ts_row_layout_make(TS_FP32, 4, 1, 0, false, true);
  CHECK(l.version_offset == 16 && l.stride == 24);
  l = ts_row_layout_make(TS_FP32, 4, 1, 0, true, false);
  CHECK(l.frequency_offset == 16 && l.stride == 20 && ts_row_version(&l, row) == TS_NO_VERSION);
  l = ts_row_layout_make(TS_FP32, 4, 1, 0, false, false);
  ts_row_set_frequency(&l, row, 9);
  CHECK(ts_row_frequency(&l, row) == 0);
}

static void rows_begin_with_the_rules_values(void) {
  for (uint32_t c = 0; c < CONFIGURATIONS; c++) {
    table t;
    make(&t, configurations[c], TS_BF16, 5, 2, true, 0, 1.0f / 3);
    const ts_row_layout *l = layout_of(&t);
    ts_optimizer_kind kind = t.optimizer.kind;
    bool adam = kind == TS_ADAM || kind == TS_ADAM_ASYNC || kind == TS_ADAMW;
    uint32_t slots = kind == TS_SGD || kind == TS_ROWWISE_ADAGRAD ? 1 : adam || kind == TS_FTRL || kind == TS_FTRL_ROW_NORM ? 3 : 2;
    CHECK(l->slots == slots);
    CHECK(weight_of(&t, 1, 4) == 0.333984375f); /* the bf16 nearest to a third */
    float values[5], first = (float)parameter(configurations[c], "initial_accumulator", 0.1);
    for (uint32_t s = 1; s < slots; s++) {
      ts_row_read(l, row_of(&t, 1), s, values);
      for (int j = 0; j < 5; j++) CHECK(values[j] == (s == 1 && !adam ? first : 0.0f));
    }
    if (kind == TS_ROWWISE_ADAGRAD) {
      CHECK(l->scalars == 1 && ts_optimizer_readable(&t.optimizer) == 2);
      ts_optimizer_read_row(&t.optimizer, row_of(&t, 1), 1, values);
      first = (float)parameter(configurations[c], "initial_accumulator", 0);
      for (int j = 0; j < 5; j++) CHECK(values[j] == first);
    }
    CHECK(ts_row_frequency(l, row_of(&t, 1)) == 0 && ts_row_version(l, row_of(&t, 1)) == TS_NO_VERSION);
    drop(&t);
  }
}

int main(void) {
  options_have_their_defaults_and_limits();
  layouts_keep_what_is_asked_for();
  rows_begin_with_the_rules_values();
  return test_result();
}
