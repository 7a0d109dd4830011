/* by_width.h - TS_BY_WIDTH(BODY, dim, ...) calls the always-inlined BODY(..., dim) with the width as a constant where
 * it is a common one, so that short rows become straight vector code. */
#ifndef TS_BY_WIDTH_H
#define TS_BY_WIDTH_H

#define TS_BY_WIDTH(BODY, dim, ...)         \
  switch (dim) {                            \
    case 4: BODY(__VA_ARGS__, 4); break;    \
    case 8: BODY(__VA_ARGS__, 8); break;    \
    case 16: BODY(__VA_ARGS__, 16); break;  \
    case 32: BODY(__VA_ARGS__, 32); break;  \
    case 64: BODY(__VA_ARGS__, 64); break;  \
    case 128: BODY(__VA_ARGS__, 128); break; \
    default: BODY(__VA_ARGS__, dim);        \
  }

#endif
