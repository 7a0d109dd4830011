/**
 * The OpenCL device whose memory holds an HBM tier: asked of the library, which opens a small one on it.
 *
 * @module
 */

import { EmbeddingStore } from "../ffi/store.ts";
import type { Found, HbmDevice } from "./availability.ts";

/** Bytes of the tier that is tried: 64 KiB is the least. */
const TRIED = 65_536;

/**
 * Looks for the device that a store would take.
 *
 * @param wanted Part of its name or of its platform's. Default: a GPU, or else any.
 * @returns What it is; or what is missing and which package brings it.
 * @throws {TierstoreError} If the device is there and refuses.
 */
export function probeHbmDevice(wanted?: string): Found<{ readonly device: HbmDevice }> {
  const options = {
    storage: "HBM_DRAM",
    hbm: "opencl",
    size: [TRIED, 8 * 2 ** 20],
    ...(wanted === undefined ? {} : { hbmDevice: wanted }),
  } as const;
  const found = EmbeddingStore.probe(options);
  if (!found.available) return { ...found, emulable: false };
  using store = EmbeddingStore.open(options);
  const facts = store.describe()[0]?.facts ?? {};
  const fact = (name: string) => facts[name] ?? "unknown";
  return {
    available: true,
    device: {
      name: fact("device"),
      platform: fact("platform"),
      driver: fact("driver"),
      version: fact("version"),
      isCpu: fact("device_type") === "cpu",
    },
  };
}
