/* same_options.c - whether two tables were created with the same options, by the lines that say all of them. */
#include "store/store.h"

#include <string.h>

/* The value of a line "key=value", without its end; NULL: there is none. */
static const char *option_of(const char *lines, const char *key, size_t n, size_t *length) {
  for (const char *at = lines; *at != '\0';) {
    const char *end = strchr(at, '\n');
    if (end == NULL) end = at + strlen(at);
    if ((size_t)(end - at) > n && strncmp(at, key, n) == 0 && at[n] == '=') {
      *length = (size_t)(end - at) - n - 1;
      return at + n + 1;
    }
    at = *end == '\0' ? end : end + 1;
  }
  return NULL;
}

/* Each option of the one that the other has not, or otherwise. The learning rate changes as training goes on. */
static int32_t compare(const char *what, const char *name, const char *ours, const char *here, const char *theirs,
                       const char *there, bool turned, ts_err err) {
  for (const char *at = ours; *at != '\0';) {
    const char *end = strchr(at, '\n'), *is = memchr(at, '=', strlen(at));
    if (end == NULL || is == NULL || is > end) break;
    const size_t n = (size_t)(is - at);
    size_t length = 0;
    const char *other = option_of(theirs, at, n, &length);
    const bool same = other != NULL && length == (size_t)(end - is - 1) && strncmp(other, is + 1, length) == 0;
    if (!same && !(n == strlen("learning_rate") && strncmp(at, "learning_rate", n) == 0)) {
      const int mine = (int)(end - is - 1), other_length = other == NULL ? 4 : (int)length;
      const char *words = other == NULL ? "none" : other;
      return ts_fail(err, TS_EINVAL, "Cannot %s table \"%s\": option \"%.*s\" is %.*s in %s and %.*s in %s", what, name, (int)n, at,
                     turned ? other_length : mine, turned ? words : is + 1, turned ? there : here, turned ? mine : other_length,
                     turned ? is + 1 : words, turned ? here : there);
    }
    at = end + 1;
  }
  return TS_OK;
}

int32_t ts_table_same_options(const char *what, const char *name, const char *ours, const char *here, const char *theirs,
                              const char *there, ts_err err) {
  const int32_t status = compare(what, name, ours, here, theirs, there, false, err);
  return status == TS_OK ? compare(what, name, theirs, there, ours, here, true, err) : status;
}
