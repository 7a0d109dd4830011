/**
 * What a drive is asked by whoever keeps rows on it, in the words of what is published of drives.
 *
 * @module
 */

import { evaluateMedia } from "../../../ffi/media.ts";
import type { FigureConditions } from "./bands.ts";
import { type Media, mediaOptions } from "../media.ts";

/** Bytes that are written to a drive at once: rows are gathered first (`native/simulator/access_cost.c`). */
export const DRIVE_BUFFER: number = 2 ** 18;
/** Bytes of the least read of a drive. */
const DRIVE_PAGE = 4096;
/** Bytes of a request in a data sheet's sequential figures: a larger one is several of them, one after the other. */
const SEQUENTIAL_REQUEST = 2 ** 17;
/** From this share of its peak on a drive is kept full: more requests under way change nothing. */
const FULL = 0.95;

/** What is asked. */
export interface DriveDemand {
  /** Reads are of single rows; what is written was gathered. */
  readonly op: "read" | "write";
  /** Bytes of a row. */
  readonly bytes: number;
  /** Requests that wait in its queue, as the engine asks for them: of all threads together. */
  readonly inFlight: number;
}

/**
 * The question that a published figure answers: reads of whole pages, gathered writes in requests of 128 KiB, of one drive.
 * Where the queue keeps it full it is that of its peak, however many requests wait; else that of the queue's depth. Several
 * drives side by side are asked one by one.
 */
export function driveQuestion(media: Media, { op, bytes, inFlight }: DriveDemand): FigureConditions {
  // What a drive is given are requests, which published figures call stores like any other.
  const operation = op === "read" ? "load" : "cached-store";
  const size = op === "read" ? Math.max(DRIVE_PAGE, bytes) : SEQUENTIAL_REQUEST;
  const access = { operation, bytes: size, sequential: op === "write" } as const;
  const [reached = NaN, peak = NaN] = evaluateMedia(mediaOptions(media), [
    { ask: "bandwidth", ...access, threads: inFlight },
    { ask: "peak", ...access, threads: inFlight },
  ]);
  return { operation, bytes: size, ...(reached >= FULL * peak ? {} : { depth: inFlight }) };
}
