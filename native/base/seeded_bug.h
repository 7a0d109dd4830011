/* seeded_bug.h - bugs that the crash lab puts into code that promises to survive crashes, to prove that it finds them.
 *
 * TS_BUG("name") is false. Only in the objects that the Makefile compiles for the lab (TS_SEEDED_BUGS) it is true for the one name
 * that is set. Each name stands where the code that is right has a reason: dropping that must show. */
#ifndef TS_SEEDED_BUG_H
#define TS_SEEDED_BUG_H

#if defined(TS_SEEDED_BUGS)
#include <stdbool.h>
bool ts_seeded_bug(const char *name); /* test/crash/bugs.c */
#define TS_BUG(name) ts_seeded_bug(name)
#else
#define TS_BUG(name) 0
#endif

#endif
