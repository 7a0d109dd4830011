/* parameters.c - rows of dense weights. */
#include "wdl/dense/parameters.h"

#define STEP_ROWS 64u /* rows handed to a kernel at a time */

void ts_parameters_prepare(ts_parameters *p, const ts_optimizer *rule, uint32_t rows, uint32_t width) {
  memcpy(&p->optimizer, rule, sizeof *rule); /* atomics in it are not shared yet */
  ts_optimizer_prepare(&p->optimizer, TS_FP32, width, false, false, 0, ts_cpu_level());
  p->rows = rows;
  p->width = width;
  p->stride = TS_ROUND_UP(p->optimizer.layout.stride, 64u) / (uint32_t)sizeof(float);
}

void ts_parameters_plan_values(ts_parameters *p, ts_workspace *space) {
  p->value = ts_workspace_take(space, (uint64_t)p->rows * p->stride, sizeof(float));
}

void ts_parameters_plan_gradient(ts_parameters *p, ts_workspace *space) {
  p->gradient = ts_workspace_take(space, (uint64_t)p->rows * p->width, sizeof(float));
}

void ts_parameters_start(ts_parameters *p) {
  for (uint32_t r = 0; r < p->rows; r++) ts_optimizer_start_row(&p->optimizer, ts_parameters_row(p, r), NULL);
}

void ts_parameters_step(const ts_parameters *p, const ts_optimizer_call *call, uint32_t first, uint32_t count) {
  void *rows[STEP_ROWS];
  const float *gradients[STEP_ROWS];
  for (uint32_t done = 0; done < count; done += STEP_ROWS) {
    uint32_t some = TS_MIN(STEP_ROWS, count - done);
    for (uint32_t r = 0; r < some; r++) {
      rows[r] = ts_parameters_row(p, first + done + r);
      gradients[r] = p->gradient + (size_t)(first + done + r) * p->width;
    }
    p->optimizer.apply(&p->optimizer, call, rows, gradients, NULL, some);
  }
}

uint64_t ts_parameters_digest(const ts_parameters *p, uint64_t h) {
  for (uint32_t r = 0; r < p->rows; r++) h = ts_hash_bytes(ts_parameters_row(p, r), p->optimizer.layout.stride, h);
  return h;
}
