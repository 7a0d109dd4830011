/* owner.h - which process a handle belongs to.
 *
 * A fork copies memory and nothing else: locks stay as they were, threads are gone, files and rings are shared with the
 * parent. So a handle is of the process that opened it alone. Its mark lies on a page that the kernel clears in a forked
 * child (MADV_WIPEONFORK, Linux 4.14), so that asking costs one load and nothing is registered for the whole program;
 * where the kernel cannot, the process's number is compared. */
#ifndef TS_OWNER_H
#define TS_OWNER_H

#include "base/base.h"

#include <unistd.h>

#define TS_OWNER_BYTES UINT64_C(4096)

typedef struct ts_owner {
  const volatile uint32_t *mark; /* NULL: the kernel does not clear pages; 0 in a child */
  int32_t process;
} ts_owner;

void ts_owner_make(ts_owner *owner);
void ts_owner_free(ts_owner *owner);

static inline bool ts_owner_is_here(const ts_owner *owner) {
  return TS_LIKELY(owner->mark != NULL) ? *owner->mark != 0 : owner->process == (int32_t)getpid();
}

void ts_owner_refuse(const ts_owner *owner, const char *what, ts_err err); /* the message alone */

/* TS_EINVAL in a process that was forked from the owner. what: "store", "trainer". */
static inline int32_t ts_owner_check(const ts_owner *owner, const char *what, ts_err err) {
  if (TS_LIKELY(ts_owner_is_here(owner))) return TS_OK;
  ts_owner_refuse(owner, what, err);
  return TS_EINVAL;
}

/* Of a library that has threads of its own: a process that was forked after they began has none of them, and waits for ever.
 * One static object a library, TS_FIRST_USER at first. */
typedef struct ts_first_user {
  pthread_mutex_t lock;
  _Atomic bool used;
  ts_owner owner; /* the process that used it first: this one, or a parent */
} ts_first_user;
#define TS_FIRST_USER {.lock = PTHREAD_MUTEX_INITIALIZER}
void ts_first_user_note(ts_first_user *user);
/* Errors: TS_EUNAVAILABLE in a child of the process that used it. */
int32_t ts_first_user_check(const ts_first_user *user, const char *library, ts_err err);

#endif
