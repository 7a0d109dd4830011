/* crc32c.h - CRC32C (Castagnoli, reflected polynomial 0x82f63b78, RFC 3720 appendix B.4): the checksum of everything that
 * lies in files. It finds every error of one to three bits in blocks of up to 256 MiB, and every burst of up to 32 bits. */
#ifndef TS_CRC32C_H
#define TS_CRC32C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The checksum of what `crc` is the checksum of (0: nothing) with n more bytes behind it. */
uint32_t ts_crc32c(uint32_t crc, const void *bytes, size_t n);

/* The checksum of what `first` is the checksum of with n bytes behind it whose own checksum is `second`. Takes a step a byte. */
uint32_t ts_crc32c_join(uint32_t first, uint32_t second, uint64_t n);

/* Where the one flipped bit lies of n bytes whose checksum should be `stored` and is `found`. False: it is not one bit of
 * these bytes (it may be one of the stored checksum). */
bool ts_crc32c_flipped(uint32_t stored, uint32_t found, uint64_t n, uint64_t *byte, uint32_t *bit);

#endif
