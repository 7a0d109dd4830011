/**
 * Tensors in a file of torch.save(). In its zip form, of PyTorch 1.6 and later, `data.pkl` says what there is, and a file a storage
 * has the numbers.
 *
 * @module
 */

import { TraceError } from "./batch.ts";
import { TraceBytes } from "./bytes.ts";
import { OLD_TORCH_BYTES, oldTorchEnd, readOldTensors } from "./old_tensors.ts";
import { readPickle } from "./pickle.ts";
import { allowedInTensors, type DescribedTensor, describedTensors } from "./tensor_pickle.ts";
import { openEntry, readZip, type ZipEntry } from "./zip.ts";

/** A tensor, and how the storage it is in is opened. */
export interface Tensor extends DescribedTensor {
  /** Opens the storage. */
  readonly open: () => Promise<TraceBytes>;
}

/** What a file of tensors has. */
export interface TensorFile {
  /** Its tensors, by name where they are in a dictionary, else by place. */
  readonly tensors: readonly { readonly name?: string; readonly tensor: Tensor }[];
  /** The lowest byte of a number comes first. */
  readonly little: boolean;
}

const LONGEST_PICKLE = 1 << 20;

async function textOf(path: string, entry: ZipEntry): Promise<Uint8Array> {
  if (entry.size > LONGEST_PICKLE) {
    throw new TraceError(
      `Cannot read the tensors in "${path}": "${entry.name}" has ${entry.size} bytes, expected at most ${LONGEST_PICKLE}`,
    );
  }
  using bytes = await openEntry(path, entry);
  const text = (await bytes.peek(entry.size)).slice();
  await bytes.advance(text.length);
  await bytes.peek(1); // to the end, where the checksum is
  return text;
}

/** What the zip form has. */
async function readZipped(path: string, refuse: (what: string) => never) {
  const entries = await readZip(path), pickle = entries.find(({ name }) => name.endsWith("/data.pkl"));
  if (pickle === undefined) return refuse("it is a zip archive without data.pkl, which torch.save() writes");
  const folder = pickle.name.slice(0, -"data.pkl".length);
  const order = entries.find(({ name }) => name === `${folder}byteorder`);
  const byteorder = order === undefined ? "little" : new TextDecoder().decode(await textOf(path, order));
  if (byteorder !== "little" && byteorder !== "big") {
    refuse(`its order of bytes is ${JSON.stringify(byteorder.slice(0, 20))}`);
  }
  const tensors = describedTensors(readPickle(await textOf(path, pickle), allowedInTensors, refuse), refuse);
  const prefix = `${folder}data/`;
  const storages = new Map(
    entries.filter(({ name }) => name.startsWith(prefix)).map((entry) =>
      [entry.name.slice(prefix.length), { size: entry.size, open: () => openEntry(path, entry) }] as const
    ),
  );
  return { tensors, storages, little: byteorder === "little" };
}

/**
 * The tensors of a file. Their numbers are not read.
 *
 * @param path The file, plain or packed with gzip or zstd.
 * @throws {TraceError} If it has anything but tensors, alone or in a tuple, a list or a dictionary.
 */
export async function readTensors(path: string): Promise<TensorFile> {
  const refuse = (what: string): never => {
    throw new TraceError(`Cannot read the tensors in "${path}": ${what}`);
  };
  const old = await isOld(path);
  // The old form has the lowest byte first on every machine.
  const { tensors, storages, little } = old
    ? { ...await readOldTensors(path, refuse), little: true }
    : await readZipped(path, refuse);
  return {
    tensors: tensors.map(({ tensor, ...named }) => {
      const { key, storageBytes } = tensor, storage = storages.get(key);
      if (storage === undefined) return refuse(`the storage "${key.slice(0, 40)}" of a tensor is missing`);
      if (storage.size !== storageBytes) {
        refuse(`the storage "${key}" has ${storage.size} bytes, expected ${storageBytes}`);
      }
      return { ...named, tensor: { ...tensor, open: storage.open } };
    }),
    little,
  };
}

async function isOld(path: string): Promise<boolean> {
  using bytes = await TraceBytes.open(path);
  return oldTorchEnd(await bytes.peek(OLD_TORCH_BYTES)) !== undefined;
}

/** The bytes of a tensor's elements, and no others. @throws {TraceError} If they are not there. */
export async function openTensor({ open, storageBytes, start, bytes: size }: Tensor): Promise<TraceBytes> {
  const storage = await open();
  if (size === storageBytes) return storage;
  try {
    await storage.advance(start);
    return TraceBytes.part(storage, { path: storage.path, packed: size, size, deflated: false, crc: 0 });
  } catch (error) {
    storage[Symbol.dispose]();
    throw error;
  }
}
