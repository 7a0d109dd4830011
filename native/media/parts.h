/* parts.h - pieces of the media model that bandwidth and latency share. Internal to media/. */
#ifndef TS_MEDIA_PARTS_H
#define TS_MEDIA_PARTS_H

#include "media/media.h"

/* Two times that bend smoothly from the one limit to the other: their p-norm. 0 stands for no limit. */
double ts_media_norm(double a, double b, double p);
double ts_media_lines(const ts_medium *medium, uint32_t bytes);
/* Share of the bytes that are read. */
double ts_media_read_share(const ts_media_access *access);
/* Time of one access with nothing beside it, ns. */
double ts_media_alone_ns(const ts_medium *medium, const ts_media_access *access);
/* So many of a medium side by side. */
ts_medium ts_media_devices(const ts_medium *medium, uint32_t devices);

#endif
