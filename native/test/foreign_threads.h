/* foreign_threads.h - for tests whose libraries are not built for the thread sanitizer (LevelDB): it does not see their
 * atomics and takes what they hand from thread to thread for races. Accesses made inside them are then left out; those
 * of our own code are still watched. */
#ifndef TS_TEST_FOREIGN_THREADS_H
#define TS_TEST_FOREIGN_THREADS_H

#if defined(__SANITIZE_THREAD__)
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "ignore_noninstrumented_modules=1"; }
#endif

#endif
