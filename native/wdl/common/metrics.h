/* metrics.h - how good scores are: AUC and logloss. */
#ifndef TS_WDL_METRICS_H
#define TS_WDL_METRICS_H

#include "base/base.h"

/* Exact area under the ROC curve: the share of (positive, negative) pairs that the scores order rightly, ties counting
 * half. NaN if a class is missing. Sorts `ranked` in place (see ts_ranked); `scratch` has room for n too. */
double ts_auc(uint64_t *ranked, uint64_t *scratch, uint64_t n);
/* A score and its label in one word that sorts by score. */
uint64_t ts_ranked(float score, bool positive);

/* The same from counts in bins of rising score; scores of one bin are ties. */
double ts_auc_of_bins(const uint64_t *positives, const uint64_t *negatives, uint32_t bins);

/* -log of the probability that a logit gives to the label, the probability clipped to [1e-7, 1 - 1e-7]. */
double ts_logloss(double logit, bool positive);

/* 1 / (1 + e^-x), the same on every machine. */
static inline double ts_sigmoid(double x) { return 1.0 / (1.0 + ts_det_exp(-x)); }

#endif
