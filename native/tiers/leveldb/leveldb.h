/* leveldb.h - the LEVELDB tier: rows in a LevelDB database a table, behind records.h; and its manual.
 *
 * Options of ts_store_open; "DRAM" is the limit of the first tier, "limit" that of this one:
 *   leveldb.cache_bytes         block cache of a table, used for compressed tables and those that are not mapped
 *                                                                        (default DRAM / 1024, from 64 KiB to 16 MiB)
 *   leveldb.write_buffer_bytes  a memtable, of which there are two; 64 KiB..1 GiB
 *                                                                         (default DRAM / 256, from 64 KiB to 4 MiB)
 *   leveldb.bloom_bits          bits a key of the tables' Bloom filters, 0: none                        (default 10)
 *   leveldb.block_bytes         what one read brings in, 1024..4194304                                  (default 4096)
 *   leveldb.file_bytes          most bytes of a table file, 1 MiB..1 GiB   (default limit / 1024, from 2 MiB to 64 MiB)
 *   leveldb.open_files          tables held open, 74..50000   (default: all that `limit` can hold, from 1000 to 50000)
 *   leveldb.compression         none | snappy; rows of random bits do not compress                      (default none)
 *   leveldb.random_access       0 | 1: reads of single rows bring in no neighbours, see below           (default 1)
 *
 * Records. Key: 8 bytes, big-endian, sign bit flipped, so that LevelDB's order is the numbers'. Value: 8 bytes of
 * version, little-endian, then the row. LevelDB keeps a checksum of each block; it is verified at every read from a
 * file, and the value's length besides. Nothing is synced but at flush and at close(keep): the tier is volatile. walk
 * takes at least two rows a call (a 64-bit cursor has one state too few for calls of one row).
 *
 * Kept and left-over databases. close(keep) writes a mark (row bytes, number of rows) that open takes away again. A
 * database without the mark was not closed: a killed process left it, the rows in memory that belong to it are lost, so
 * its rows are discarded, and describe says discarded=1. One in use by another store is an error.
 *
 * Number of rows: exact, and writes are blind as DeepRec's are: the store says with each put and removal whether the key
 * has a record, which it knows from the row's flag in memory or from having looked for it on the way up. Only what it
 * cannot know is looked up before (a memtable search and Bloom filters for a new key): what a refused call may have
 * written in part, and everything of a table whose medium has failed once. records.h, store/records.c.
 *
 * Limit of the medium. Charged before anything is written, and so that the limit holds at every moment:
 *     files as measured + 2 x bytes logged since (log, then table) + 32 bytes a row (so that it can always be removed)
 *     + room for a compaction, which keeps old and new tables side by side: at most what is there, and at most
 *       25 file_bytes + 14 write_buffer_bytes + 10 MiB (LevelDB's bounds for one compaction)
 * or, where that is more, what the same rows need to be replaced, a batch at a time, after a whole compaction: so a put of
 * keys that have records is not refused. LevelDB's manifest grows by some 30 bytes a table written until the database is
 * opened again: 32 KiB and a 64th of the limit, at most 1 MiB, are kept for it, and when it is longer (and twice as long
 * as in the beginning) the tier closes the database and opens it again, which waits for the reads under way. It does so,
 * too, before it would refuse to replace: files that reads had still used are removed then.
 * Files are measured (their sizes, rounded up to 4 KiB) each time a write buffer's worth was logged and before a
 * refusal. Before a put is refused, the memtable is written out and, if replaced and removed rows could make the room,
 * the database compacted. So a small tier holds rows of about half its limit, a large one its limit less the room for
 * a compaction a table. What is not covered: the text file LOG between two measurements (a line a compaction; it is cut
 * beyond 16 KiB), and the file system's own metadata.
 *
 * DRAM. Charged at open as buffers: two write buffers, the cache, one batch, the buffers of log, manifest and table
 * files. Charged as the database grows: index and filter blocks of all its tables. LevelDB's own number
 * (leveldb.approximate-memory-usage: memtables and cache) is in describe as memory=, and excess= is what it is above
 * the charge for these, 0 unless the bounds here are wrong.
 *
 * Reads through mappings. LevelDB 1.23 maps up to 1000 tables a process and reads the rest with pread; nothing in its C
 * interface, nor an environment variable, changes that (only a test helper that is not exported). A mapped table does
 * not use the block cache, and a fault brings in the device's whole read-ahead window, often hundreds of times the
 * block. So the tier looks its tables up in /proc/self/maps and advises MADV_RANDOM on them: faults then read one page.
 * It looks again when tables have come, for at most a twentieth of the time; so a table's first read still brings in a
 * window. Seen with 1.5 million rows of 128 bytes and a window of 8 MiB: 5 KiB a cold row after the first reads of the
 * tables; without the advice, all 226 MiB of tables within the first 2560 rows, which is good for a database that fits
 * the page cache and only for that. Compactions pay: they read cold tables page by page. Consequences: the pages are
 * the kernel's (clean page cache, shown in the process's shared memory, outside the budgets); and where the device
 * cannot read a mapped page, the kernel sends SIGBUS, which a library must not catch.
 *
 * Also out of reach: a table file deleted by someone else is "not found" in LevelDB, like an absent key, until the
 * database is opened again, which tells; a failed allocation inside LevelDB ends the process.
 *
 * Counts: reads = lookups, writes = batches; bytes_written = logged bytes + tables, and bytes_read = what compactions
 * read, both tables' numbers from LevelDB's statistics, which has whole MiB a level and covers this opening; bytes of
 * single rows come through mappings, nobody counts them. compactions = whole ones that this tier asked for. */
#ifndef TS_LEVELDB_H
#define TS_LEVELDB_H

#include "tiers/records.h"

#endif
