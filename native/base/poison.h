/* poison.h - memory that nobody has, made known to AddressSanitizer: it sees what malloc hands out, not what this library cuts
 * from larger mappings by itself. Whoever cuts poisons what nobody has and leaves a page between two pieces where it may. In
 * other builds these are nothing. */
#ifndef TS_POISON_H
#define TS_POISON_H

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define TS_BETWEEN 4096u /* bytes that nobody has after each piece */
#define TS_POISON(at, bytes) __asan_poison_memory_region(at, bytes)
#define TS_UNPOISON(at, bytes) __asan_unpoison_memory_region(at, bytes)
#else
#define TS_BETWEEN 0u
#define TS_POISON(at, bytes) ((void)0)
#define TS_UNPOISON(at, bytes) ((void)0)
#endif
#endif
