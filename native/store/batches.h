/* batches.h - what the trainer asks of a store beyond the public calls: rows straight into a wider matrix, gradients
 * straight out of one, and rows brought up ahead of their lookup. Threads and errors are those of the public calls. */
#ifndef TS_STORE_BATCHES_H
#define TS_STORE_BATCHES_H

#include "base/base.h"

/* As ts_table_lookup and ts_table_update, with row i at rows + i * stride and its gradient at gradients + i * stride;
 * stride is in floats, at least dim. What lies between the rows is left alone. times: key i counts as that many lookups, to
 * admission and to the row's frequency; NULL: as one. */
int32_t ts_table_lookup_strided(ts_store *store, uint32_t table, const int64_t *keys, const uint32_t *times, uint64_t n,
                                float *rows, uint64_t stride, ts_err err);
int32_t ts_table_update_strided(ts_store *store, uint32_t table, const int64_t *keys, uint64_t n,
                                const float *gradients, uint64_t stride, ts_err err);

/* Brings the rows of these keys that are in lower tiers to the first, as a lookup does. Creates no row, counts no
 * lookup and changes no value: recorded frequencies are those without it. To the policy a row that comes up is as one that
 * a lookup brought, and is kept up as long; the lookup that it comes up for is a use beside that. *lower is the number of
 * keys, duplicates included, that were not in the first tier. */
int32_t ts_table_promote(ts_store *store, uint32_t table, const int64_t *keys, uint64_t n, uint64_t *lower, ts_err err);

/* Counts an update without keys, which an optimizer that numbers its steps goes on by. Errors: TS_EINVAL. */
int32_t ts_table_skip_update(ts_store *store, uint32_t table, ts_err err);

/* ts_store_digest in two parts, whose sum it is: of the rows, which may be added over stores that share the rows of
 * equal tables, and of the tables' names. */
int32_t ts_store_digest_parts(ts_store *store, uint64_t *rows, uint64_t *names, ts_err err);

/* Whether a key gets a row at its first lookup; if not, *otherwise is what each weight is meanwhile, else 0. */
bool ts_table_admits_all(ts_store *store, uint32_t table, float *otherwise);

#endif
