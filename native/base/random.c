/* random.c - hashing of names, and elementary functions that give the same bits on every machine.
 *
 * exp and log use argument reduction and polynomials in plain IEEE double arithmetic; the library is compiled with
 * -ffp-contract=off, so no fused operation changes the last bit between machines. */
#include "base/base.h"

#include <string.h>

uint64_t ts_hash_bytes(const void *bytes, size_t n, uint64_t seed) {
  const unsigned char *p = bytes;
  uint64_t h = ts_mix64(seed ^ (n * 0x9e3779b97f4a7c15u));
  while (n > 0) {
    uint64_t word = 0;
    size_t take = TS_MIN(n, sizeof word);
    if (take == sizeof word) memcpy(&word, p, sizeof word); /* as the loop does on a little-endian machine */
    else
      for (size_t i = 0; i < take; i++) word |= (uint64_t)p[i] << (8 * i);
    h = ts_mix64(h ^ word) + 0x9e3779b97f4a7c15u;
    p += take;
    n -= take;
  }
  return ts_mix64(h);
}

/* 2^k by building the exponent field; k in the normal range. */
static double power_of_two(int64_t k) {
  uint64_t bits = (uint64_t)(k + 1023) << 52;
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* e^x = 2^k e^r with |r| <= ln2/2, e^r by its Taylor series to the 13th power (remainder below 1e-17). */
double ts_det_exp(double x) {
  if (x > 709.0) x = 709.0;
  if (x < -708.0) return 0.0;
  double scaled = x * 1.4426950408889634;
  int64_t k = (int64_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
  /* ln2 in two parts so that the reduction keeps full precision. */
  double r = (x - (double)k * 6.93147180369123816490e-01) - (double)k * 1.90821492927058770002e-10;
  double sum = 1.0;
  for (int i = 13; i >= 1; i--) sum = 1.0 + r * sum / (double)i;
  return sum * power_of_two(k);
}

/* log x = k ln2 + log m with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh(s), s = (m-1)/(m+1), |s| < 0.172. */
double ts_det_log(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  int64_t k = (int64_t)(bits >> 52 & 0x7ff) - 1023;
  if (k == -1023) { /* subnormal: scale up exactly */
    x *= 0x1.0p54;
    memcpy(&bits, &x, sizeof bits);
    k = (int64_t)(bits >> 52 & 0x7ff) - 1023 - 54;
  }
  bits = (bits & 0x000fffffffffffffu) | 0x3ff0000000000000u;
  double m;
  memcpy(&m, &bits, sizeof m);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    k++;
  }
  double s = (m - 1.0) / (m + 1.0), z = s * s, sum = 0.0;
  for (int i = 21; i >= 1; i -= 2) sum = sum * z + 1.0 / (double)i;
  return (double)k * 6.93147180559945309417e-01 + 2.0 * s * sum;
}

double ts_det_pow(double x, double y) { return ts_det_exp(y * ts_det_log(x)); }

/* cos(2 pi t) for any t: reduced exactly to an eighth of a turn, then Taylor series of cos or sin. */
double ts_det_cos2pi(double turns) {
  double t = turns - (double)(int64_t)turns;
  if (t < 0) t = -t;
  if (t > 0.5) t = 1.0 - t; /* cos(2 pi t) = cos(2 pi (1 - t)) */
  double sign = 1.0;
  if (t > 0.25) { /* cos(pi - a) = -cos a */
    t = 0.5 - t;
    sign = -1.0;
  }
  const double tau = 6.283185307179586477;
  double sum;
  if (t <= 0.125) {
    double z = t * tau, z2 = z * z;
    sum = 1.0;
    for (int i = 16; i >= 2; i -= 2) sum = 1.0 - z2 * sum / (double)(i * (i - 1));
  } else { /* cos a = sin(pi/2 - a) */
    double z = (0.25 - t) * tau, z2 = z * z;
    sum = 1.0;
    for (int i = 17; i >= 3; i -= 2) sum = 1.0 - z2 * sum / (double)(i * (i - 1));
    sum *= z;
  }
  return sign * sum;
}

double ts_det_normal(uint64_t r1, uint64_t r2) {
  double u = 1.0 - ts_unit(r1); /* (0, 1] */
  /* square root by IEEE, correctly rounded everywhere */
  return __builtin_sqrt(-2.0 * ts_det_log(u)) * ts_det_cos2pi(ts_unit(r2));
}
