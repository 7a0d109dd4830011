/* library.h - opens libtierstore by path, so that one program measures builds that differ. */
#ifndef BENCH_LIBRARY_H
#define BENCH_LIBRARY_H

#include "contender.h"
#include "tierstore.h"

/* NULL: it cannot be opened, or has another ABI. */
void *bench_library_open(const char *path, char *error);
/* NULL: it has none of this name. */
void *bench_library_function(void *library, const char *name, char *error);
/* Gives a configuration the options that start with the prefix, without it. */
bool bench_configure(__typeof__(ts_config_set) *set, const bench_options *options, const char *prefix, ts_config *config,
                     char *error);

#endif
