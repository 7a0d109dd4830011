/**
 * What torch.save() wrote before PyTorch 1.6, and writes with `_use_new_zipfile_serialization=False`: pickles of a magic number, of
 * the form's version, of the machine, of the tensors, and of the storages' keys; then the storages in this order, each behind its
 * number of elements.
 *
 * @module
 */

import { TraceError } from "./batch.ts";
import { TraceBytes } from "./bytes.ts";
import { readPickleAt } from "./pickle.ts";
import { allowedInTensors, type DescribedTensor, describedTensors } from "./tensor_pickle.ts";

/** A number of 80 bits and the end of its pickle. */
const MAGIC = [0x8a, 10, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, 0x2e];
const PROTOCOL = 0x80, FRAME = 0x95, FRAME_BYTES = 9;
/** Protocols of pickle that are binary; the last two have frames. torch.save() takes the second unless it is told otherwise. */
const PROTOCOLS = { first: 2, framed: 4, last: 5 };

/** Bytes of that pickle at most. */
export const OLD_TORCH_BYTES: number = 2 + FRAME_BYTES + MAGIC.length;

/** Where the pickle of the magic number ends; undefined: the file begins with something else. */
export function oldTorchEnd(head: Uint8Array): number | undefined {
  const protocol = head[1] ?? 0;
  if (head[0] !== PROTOCOL || protocol < PROTOCOLS.first || protocol > PROTOCOLS.last) return undefined;
  const at = 2 + (protocol >= PROTOCOLS.framed && head[2] === FRAME ? FRAME_BYTES : 0);
  return MAGIC.every((byte, i) => head[at + i] === byte) ? at + MAGIC.length : undefined;
}

const VERSION = 1001;
/** Bytes of the pickles at most. */
const LONGEST = 1 << 20;
const COUNT_BYTES = 8;

/** Where a storage is. */
export interface OldStorage {
  /** Its bytes. */
  readonly size: number;
  /** Opens them. */
  readonly open: () => Promise<TraceBytes>;
}

/**
 * Tensors of a file, and the storages they are in by their keys.
 *
 * @param path The file, plain or packed with gzip or zstd.
 * @param refuse Throws the error of this file.
 */
export async function readOldTensors(
  path: string,
  refuse: (what: string) => never,
): Promise<{
  readonly tensors: readonly { readonly name?: string; readonly tensor: DescribedTensor }[];
  readonly storages: ReadonlyMap<string, OldStorage>;
}> {
  using bytes = await TraceBytes.open(path);
  const head = (await bytes.peek(LONGEST)).slice();
  const next = (at: number) => readPickleAt(head, at, allowedInTensors, refuse);
  const begin = oldTorchEnd(head) ?? refuse("it does not begin with torch.save()'s magic number");
  const version = next(begin), machine = next(version.end), root = next(machine.end), keys = next(root.end);
  if (version.value !== VERSION) refuse(`its form has version ${JSON.stringify(version.value)}, expected ${VERSION}`);
  const tensors = describedTensors(root.value, refuse), storages = new Map<string, OldStorage>();
  const described = new Map(tensors.map(({ tensor }) => [tensor.key, tensor] as const)), list = keys.value;
  if (list === null || typeof list !== "object" || list.kind !== "list") return refuse("its storages are not listed");
  let at = keys.end;
  for (const key of list.items) {
    const tensor = typeof key === "string" ? described.get(key) : undefined;
    if (tensor === undefined || storages.has(tensor.key)) return refuse("it lists a storage that no tensor has");
    const { storageBytes: size, elements } = tensor, offset = at;
    storages.set(tensor.key, { size, open: () => openStorage(path, offset, size, elements) });
    at += COUNT_BYTES + size;
  }
  if (bytes.packing === undefined && at !== bytes.size) refuse(`it has ${bytes.size} bytes, expected ${at}`);
  return { tensors, storages };
}

async function openStorage(path: string, offset: number, size: number, elements: number): Promise<TraceBytes> {
  const bytes = await TraceBytes.open(path);
  try {
    await bytes.advance(offset);
    const head = await bytes.peek(COUNT_BYTES);
    const count = head.length < COUNT_BYTES
      ? -1
      : Number(new DataView(head.buffer, head.byteOffset).getBigInt64(0, true));
    if (count !== elements) {
      throw new TraceError(
        `Cannot read the tensors in "${path}": a storage of ${elements} elements is not where it should be`,
      );
    }
    await bytes.advance(COUNT_BYTES);
    return TraceBytes.part(bytes, { path, packed: size, size, deflated: false, crc: 0 });
  } catch (error) {
    bytes[Symbol.dispose]();
    throw error;
  }
}
