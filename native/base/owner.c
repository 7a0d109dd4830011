/* owner.c - see owner.h. */
#include "base/owner.h"

#include <stdatomic.h>
#include <sys/mman.h>

#ifndef MADV_WIPEONFORK /* glibc 2.26 */
#define MADV_WIPEONFORK 18
#endif

void ts_owner_make(ts_owner *owner) {
  *owner = (ts_owner){.process = (int32_t)getpid()};
  const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
  uint32_t *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  if (madvise(page, bytes, MADV_WIPEONFORK) != 0) {
    munmap(page, bytes);
    return;
  }
  *page = 1;
  owner->mark = page;
}

void ts_owner_free(ts_owner *owner) {
  if (owner->mark != NULL) munmap((void *)(uintptr_t)owner->mark, (size_t)sysconf(_SC_PAGESIZE));
  owner->mark = NULL;
}

void ts_owner_refuse(const ts_owner *owner, const char *what, ts_err err) {
  ts_fail(err, TS_EINVAL,
          "Cannot use this %s: process %d opened it, and this is process %d, forked from it; open another one here", what,
          owner->process, (int)getpid());
}

void ts_first_user_note(ts_first_user *user) {
  pthread_mutex_lock(&user->lock);
  if (!atomic_load(&user->used)) ts_owner_make(&user->owner);
  atomic_store(&user->used, true);
  pthread_mutex_unlock(&user->lock);
}

int32_t ts_first_user_check(const ts_first_user *user, const char *library, ts_err err) {
  if (!atomic_load(&user->used) || ts_owner_is_here(&user->owner)) return TS_OK;
  return ts_fail(err, TS_EUNAVAILABLE,
                 "Cannot use %s in process %d: it was forked from process %d, which had %s open before, and its threads stayed "
                 "there; fork before the first store over %s, or start a new program",
                 library, (int)getpid(), user->owner.process, library, library);
}
