/* The levels of kernels against each other, to the bit, and what they leave alone. */
#include "test/levels.h"
#include "test/optimizer_table.h"

#define GOLDEN UINT64_C(0x768b1b198e203c45)

static void all_levels_give_the_same_bits(void) {
  static const uint32_t dims[] = {1, 3, 7, 8, 16, 17, 32, 64, 111, 130};
  uint64_t digest = 0;
  for (uint32_t c = 0; c < CONFIGURATIONS; c++)
    for (uint32_t d = 0; d < sizeof dims / sizeof *dims; d++)
      for (ts_row_type type = TS_FP32; type <= TS_BF16; type++) {
        enum { ROWS = 9 };
        const uint32_t dim = dims[d];
        table t[TS_LEVELS];
        float *g = malloc((size_t)ROWS * dim * sizeof *g);
        for (uint32_t level = 0; level <= ts_cpu_level(); level++) {
          make(&t[level], configurations[c], type, dim, ROWS, true, level, NAN); /* rows of 4-byte alignment */
          for (uint32_t s = 1; s <= 4; s++) {
            for (uint32_t i = 0; i < ROWS * dim; i++) g[i] = random_weight(s, i);
            step(&t[level], s, g);
          }
        }
        const size_t bytes = (size_t)ROWS * layout_of(&t[0])->stride;
        for (uint32_t level = 1; level <= ts_cpu_level(); level++) {
          CHECK_MSG(memcmp(t[level].memory, t[0].memory, bytes) == 0, "%s, dim %u, %s, level %u", configurations[c],
                    dim, ts_row_type_names[type], level);
          drop(&t[level]);
        }
        digest = ts_hash_bytes(t[0].memory, bytes, digest);
        drop(&t[0]);
        free(g);
      }
  /* Every machine and every compiler gives these rows: IEEE arithmetic leaves no choice. */
  CHECK_MSG(digest == GOLDEN, "the rows' digest is %llx", (unsigned long long)digest);
}

static void steps_touch_only_their_part_of_the_row(void) {
  static const uint32_t dims[] = {1, 3, 16, 17, 64, 130};
  for (uint32_t c = 0; c < CONFIGURATIONS; c++)
    for (uint32_t d = 0; d < 6; d++)
      for (uint32_t level = 0; level <= ts_cpu_level(); level++)
        for (ts_row_type type = TS_FP32; type <= TS_BF16; type++) {
          table t;
          make(&t, configurations[c], type, dims[d], 1, true, level, NAN);
          const ts_row_layout *l = layout_of(&t);
          unsigned char *row = row_of(&t, 0), *before = malloc(l->stride);
          ts_row_set_frequency(l, row, 0xfeedbeefu);
          ts_row_set_version(l, row, INT64_C(0x123456789abcdef));
          for (uint32_t s = 0; s < l->slots; s++) { /* mark the padding */
            uint32_t used = ts_row_slot_offset(l, s) + ts_row_slot_size(l, s);
            memset(row + used, 0xa5, ts_row_slot_offset(l, s + 1) - used);
          }
          memcpy(before, row, l->stride);
          float *g = malloc(dims[d] * sizeof *g);
          for (uint32_t j = 0; j < dims[d]; j++) g[j] = random_weight(3, j);
          step(&t, 1, g);
          uint32_t wrong = 0;
          for (uint32_t s = 0; s < l->slots; s++) {
            uint32_t used = ts_row_slot_offset(l, s) + ts_row_slot_size(l, s);
            for (uint32_t i = used; i < ts_row_slot_offset(l, s + 1); i++) wrong += row[i] != before[i];
          }
          CHECK_MSG(wrong == 0 && ts_row_frequency(l, row) == 0xfeedbeefu &&
                        ts_row_version(l, row) == INT64_C(0x123456789abcdef),
                    "%s, dim %u, level %u: %u bytes of padding", configurations[c], dims[d], level, wrong);
          free(before);
          free(g);
          drop(&t);
        }
}

int main(void) {
  skip_missing_levels("optimizer_kernels_test");
  all_levels_give_the_same_bits();
  steps_touch_only_their_part_of_the_row();
  return test_result();
}
