/** Files of torch.save(): read without running anything, or refused by the name of what they should not have. */

import "../../../native_library.ts";
import { gzipSync } from "node:zlib";
import { randomNumbers } from "../../../../base/random.ts";
import { TraceError } from "../../../../models/workloads/trace/batch.ts";
import { parseColumns } from "../../../../models/workloads/trace/columns.ts";
import { readPickle } from "../../../../models/workloads/trace/pickle.ts";
import { inspectTrace, readTrace, type TraceOptions } from "../../../../models/workloads/trace/read.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../../assert.ts";
import { bytesOf, int64, type Packed, pickle, tensor, torchFile, zip } from "./archives.ts";

async function withFile<T>(data: Uint8Array, use: (path: string) => Promise<T>): Promise<T> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeFile(`${folder}/t`, data);
    return await use(`${folder}/t`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** `table keys / lengths of its bags`, a batch a line. */
const read = (data: Uint8Array, options: TraceOptions = {}) =>
  withFile(data, async (path) => {
    const lines: string[] = [];
    for await (const { table, keys, bags } of readTrace(path, { inOrder: true, ...options })) {
      lines.push(`${table} ${keys.join(",")}${bags === undefined ? "" : ` / ${bags.join(",")}`}`);
    }
    return lines;
  });

async function refusal(data: Uint8Array, options?: TraceOptions): Promise<string> {
  return (await assertRejects(() => read(data, options), TraceError)).message;
}

/** Two tables of three samples. */
const INDICES = [5, 6, 7, 8, 9, 10, 11], OFFSETS = [0, 2, 2, 3, 4, 4, 7], LENGTHS = [2, 0, 1, 1, 0, 3];
const STORAGES = [INDICES, OFFSETS, LENGTHS].map(int64);
const PARTS = [[7], [7], [2, 3]].map((shape, storage) => tensor({ storage, shape }));
const REQUESTS = pickle("(", ...PARTS, "t");
const EXPECTED = ["table0 5,6,7 / 2,0,1", "table1 8,9,10,11 / 1,0,3"];

Deno.test("readTrace() reads bags of indices, offsets and lengths, table after table, stored in any way that zip has", async () => {
  const order: Packed = { name: "t/byteorder", data: bytesOf("little") };
  assertEquals(await read(torchFile(REQUESTS, STORAGES)), EXPECTED);
  assertEquals(await read(torchFile(REQUESTS, STORAGES, { deflated: true }, [order])), EXPECTED);
  assertEquals(await read(torchFile(REQUESTS, STORAGES, { large: true })), EXPECTED);
  assertEquals(await read(torchFile(REQUESTS, STORAGES, { crc: 0 })), EXPECTED);
  const empty = [0, 0, 0, 0, 4, 7, 7];
  assertEquals(await read(torchFile(REQUESTS, [STORAGES[0]!, int64(empty), STORAGES[2]!])), [
    "table1 5,6,7,8,9,10,11 / 4,3,0",
  ]);
  const named = ["lengths", "indices", "offsets"].flatMap((name) => [
    bytesOf("X", [name.length, 4], name),
    PARTS[["indices", "offsets", "lengths"].indexOf(name)] ?? "",
  ]);
  assertEquals(await read(torchFile(pickle("}(", ...named, "u"), STORAGES)), EXPECTED);
  assertEquals(await read(torchFile(pickle("ccollections\nOrderedDict\n)R(", ...named, "u"), STORAGES)), EXPECTED);
  const big = STORAGES.map((storage) => {
    const view = new DataView(storage.slice().buffer);
    for (let at = 0; at < view.byteLength; at += 8) view.setBigInt64(at, view.getBigInt64(at, true), false);
    return new Uint8Array(view.buffer);
  });
  assertEquals(await read(torchFile(REQUESTS, big, {}, [{ ...order, data: bytesOf("big") }])), EXPECTED);
});

Deno.test("readTrace() reads one tensor as keys or as columns, and a view from where it begins", async () => {
  const one = (shape: number[], offset = 0) =>
    torchFile(pickle(tensor({ storage: 0, shape, offset, elements: 7 })), STORAGES);
  assertEquals(await read(one([7])), ["keys 5,6,7,8,9,10,11"]);
  assertEquals(await read(one([3], 2)), ["keys 7,8,9"]);
  assertStringIncludes(await refusal(one([3, 2])), "it has 2 columns, which can be read in several ways");
  assertEquals(await read(one([3, 2]), { columns: parseColumns("key=2") }), ["keys 6,8,10"]);
  assertStringIncludes(await refusal(one([8])), 'a tensor reaches beyond its storage "0"');
  assertStringIncludes(await refusal(one([1, 1, 1])), "its shape is (1, 1, 1)");
});

Deno.test("inspectTrace() counts tables and samples of a file of tensors", async () => {
  const facts = await withFile(torchFile(REQUESTS, STORAGES), (path) => inspectTrace(path));
  assertEquals([facts.format, facts.columns], [
    "torch",
    "indices and offsets: 2 tables of 3 samples, table after table",
  ]);
  assertEquals(facts.tables, [
    { name: "table0", lookups: 3, keys: 3, samples: 3 },
    { name: "table1", lookups: 4, keys: 4, samples: 3 },
  ]);
});

Deno.test("readTrace() runs nothing of a pickle and names what it refuses", async () => {
  for (
    const [operations, message] of [
      [["cposix\nsystem\n(X\x02\0\0\0ls", "tR"], '"posix.system", which is no part of a tensor'],
      [["c__builtin__\neval\n(tR"], '"__builtin__.eval"'],
      [[bytesOf("X", [5, 4], "posix", "X", [6, 4], "system", new Uint8Array([0x93]))], '"posix.system"'],
      [["ctorch.storage\n_load_from_bytes\n(tR"], '"torch.storage._load_from_bytes"'],
      [["ccollections\nOrderedDict\n)R}b"], "the operation BUILD"],
      [["(cposix\nsystem\no"], '"posix.system"'],
      [["(iposix\nsystem\n"], "the operation INST"],
      [[new Uint8Array([0x82, 1])], "the operation EXT1"],
      [["ccollections\nOrderedDict\n)\x81"], "the operation NEWOBJ"],
      [["\xff"], "the operation 0xff"],
      [["Ptext\n"], "the operation PERSID"],
      [["]"], "it has no tensors; expected one tensor of keys"],
      [["N"], "a value in it is no tensor"],
      [["}X\x01\0\0\0aNs"], '"a" in it is no tensor'],
      [["(", PARTS[0]!, PARTS[0]!], "does not end where it should"],
      [["t"], "an operation has too little to work on"],
      [["R"], "an operation has too little to work on"],
      [["h\x05"], "an operation has too little to work on"],
      [["X\xff"], "cut short"],
      [[new Uint8Array([0x8a, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9])], "a number beyond 53 bits"],
      [[new Uint8Array([0x80, 9])], "protocol 9, expected at most 5"],
      [["ctorch._utils\n_rebuild_tensor_v2\n)R"], "a tensor is not described as torch.save() does"],
    ] as const
  ) assertStringIncludes(await refusal(torchFile(pickle(...operations), STORAGES)), message);
  // A list of itself, and one that would have 2^40 items if it were gone through.
  assertStringIncludes(await refusal(torchFile(pickle("]q\0h\0a"), STORAGES)), "a value in it is no tensor");
  const twice = Array.from({ length: 40 }, (_, i) => bytesOf("q", [i, 1], "h", [i, 1], new Uint8Array([0x86])));
  assertStringIncludes(await refusal(torchFile(pickle("]", ...twice), STORAGES)), "a value in it is no tensor");
  assertStringIncludes(
    await refusal(torchFile(new Uint8Array((1 << 20) + 1), STORAGES)),
    '"t/data.pkl" has 1048577 bytes, expected at most 1048576',
  );
});

Deno.test("readPickle() takes thousands of damaged pickles without a crash", () => {
  const next = randomNumbers(20261124), below = (n: number) => Math.floor(next() * n);
  let errors = 0;
  for (let i = 0; i < 5000; i++) {
    let data = REQUESTS.slice();
    for (let changes = 1 + below(4); changes > 0; changes--) {
      const at = below(data.length), kind = below(4);
      if (kind === 0) data[at] = below(256);
      else if (kind === 1) data = bytesOf(data.subarray(0, at), data.subarray(below(data.length)));
      else if (kind === 2) data.fill(below(2) === 0 ? 255 : 0, at, at + 1 + below(8));
      else data = bytesOf(data.subarray(0, at), data.subarray(at, at + below(40)), data.subarray(at));
    }
    try {
      readPickle(data, (name) => name.startsWith("torch.") || name.startsWith("torch._utils."), (what) => {
        throw new TraceError(what);
      });
    } catch (error) {
      if (!(error instanceof TraceError)) throw error;
      assert(error.message.length < 200, error.message);
      errors++;
    }
  }
  assert(errors > 2500 && errors < 5000, `${errors} pickles were refused`);
});

Deno.test("readTrace() refuses tensors whose tables cannot be told, and those that contradict each other", async () => {
  const made = (...operations: (string | Uint8Array)[]) => torchFile(pickle(...operations), STORAGES);
  const [indices = "", offsets = ""] = PARTS, flat = tensor({ storage: 2, shape: [6] });
  for (const bytes of [made("(", indices, offsets, flat, "t"), made("(", indices, offsets, "t")]) {
    assertStringIncludes(
      await refusal(bytes),
      "which may be samples of one table, or of several tables one after the other",
    );
  }
  assertStringIncludes(
    await refusal(made("(", indices, offsets, tensor({ storage: 2, shape: [2, 2], elements: 6 }), "t")),
    "lengths are 2 tables of 2 samples, expected 5 offsets, found 7",
  );
  assertStringIncludes(
    await refusal(made(tensor({ storage: 0, shape: [7], type: "Double" }))),
    "float64 (7,); expected whole",
  );
  assertStringIncludes(
    await refusal(made(tensor({ storage: 0, shape: [2, 3], strides: [1, 2], elements: 7 }))),
    "a tensor of 2 x 3 is not stored in order",
  );
  assertStringIncludes(
    await refusal(made(tensor({ storage: 9, shape: [7] }))),
    'the storage "9" of a tensor is missing',
  );
  assertStringIncludes(
    await refusal(made(tensor({ storage: 0, shape: [8] }))),
    'the storage "0" has 56 bytes, expected 64',
  );
  const changed = (at: number, value: number) =>
    refusal(torchFile(REQUESTS, [STORAGES[0]!, int64(OFFSETS.with(at, value)), STORAGES[2]!]));
  assertStringIncludes(await changed(0, 1), "offset 1 of 7: it is 1, expected 0");
  assertStringIncludes(await changed(3, 1), "offset 4 of 7: it is 1, which is less than the 2 before it");
  assertStringIncludes(await changed(6, 8), "offset 7 of 7: it is 8, and there are 7 indices");
  assertStringIncludes(await changed(6, 6), "offset 7 of 7: it is 6, and there are 7 indices");
  const long = [0, 40_000, 40_000, 40_000, 40_000, 40_000, 40_000];
  const many = pickle("(", tensor({ storage: 0, shape: [40_000] }), PARTS[1]!, PARTS[2]!, "t");
  assertStringIncludes(
    await refusal(torchFile(many, [new Uint8Array(320_000), int64(long), STORAGES[2]!])),
    "has 40000 keys, expected at most 32768",
  );
});

Deno.test("readTrace() refuses archives that are damaged, encrypted, or something else", async () => {
  const whole = torchFile(REQUESTS, STORAGES), at = whole.length - 22;
  assertStringIncludes(await refusal(whole.slice(0, -1)), "an archive's directory is missing at its end");
  assertEquals(
    await read(zip([{ name: "t/data.pkl", data: pickle(tensor({ storage: 0, shape: [7] })) }, {
      name: "t/data/0",
      data: int64(INDICES),
    }], "a comment")),
    ["keys 5,6,7,8,9,10,11"],
  );
  const counted = whole.slice();
  counted[at + 10] = 9;
  assertStringIncludes(await refusal(counted), "its directory has 4 entries and states 9");
  const flipped = whole.slice();
  flipped[whole.findIndex((_, i) => whole[i] === 11 && whole[i + 1] === 0 && whole[i - 8] === 10)] = 12;
  assertStringIncludes(await refusal(flipped), "it is damaged: the checksum of its bytes is");
  assertStringIncludes(await refusal(torchFile(REQUESTS, STORAGES, { flags: 1 })), '"t/data.pkl" is encrypted');
  assertStringIncludes(await refusal(torchFile(REQUESTS, STORAGES, { method: 12 })), "packed by method 12");
  const packed = torchFile(REQUESTS, STORAGES, { deflated: true });
  const inside = packed.findIndex((_, i) => String.fromCharCode(...packed.subarray(i, i + 7)) === "padding") + 7;
  packed.fill(255, inside, inside + 9);
  assertStringIncludes(await refusal(packed), "its packed data are damaged or cut short");
  assertStringIncludes(
    await refusal(zip([{ name: "t/data.pkl", data: REQUESTS }, { name: "t/data.pkl", data: REQUESTS }])),
    "twice",
  );
  assertStringIncludes(
    await refusal(zip([{ name: "word/document.xml", data: REQUESTS }])),
    "it looks like a zip archive",
  );
});

Deno.test("readTrace() reads the form of before PyTorch 1.6, and refuses it damaged", async () => {
  const whole = await Deno.readFile(new URL("../../../fixtures/traces/old.pt", import.meta.url));
  const text = (place: string) =>
    whole.findIndex((_, i) => String.fromCharCode(...whole.subarray(i, i + place.length)) === place);
  const changed = (at: number, byte: number) => {
    const copy = whole.slice();
    copy[at] = byte;
    return refusal(copy);
  };
  assertEquals((await read(whole)).length, 4);
  assertStringIncludes(await refusal(whole.slice(0, -1)), `it has ${whole.length - 1} bytes, expected ${whole.length}`);
  assertStringIncludes(
    await refusal(bytesOf(whole, "x")),
    `it has ${whole.length + 1} bytes, expected ${whole.length}`,
  );
  assertStringIncludes(await refusal(gzipSync(whole.slice(0, -900))), "it ends too early");
  assertStringIncludes(await changed(18, 1), "its form has version 769, expected 1001");
  assertStringIncludes(await changed(text("LongStorage"), 75), '"torch.KongStorage", which is no part of a tensor');
  assertStringIncludes(await refusal(whole.slice(0, 100)), "its pickle is cut short");
});

Deno.test("readTrace() streams tensors: 88 MB of them take less than half", async () => {
  const samples = 100_000, tables = 10, keys = samples * tables * 10;
  const offsets = int64(Array.from({ length: samples * tables + 1 }, (_, i) => i * 10));
  const parts = [[keys], [samples * tables + 1], [tables, samples]].map((shape, i) =>
    tensor({ storage: Math.min(i, 1), shape, elements: i === 0 ? keys : samples * tables + 1 })
  );
  const file = torchFile(pickle("(", ...parts, "t"), [new Uint8Array(8 * keys), offsets]);
  await withFile(file, async (path) => {
    let lookups = 0, most = 0;
    const before = Deno.memoryUsage().external;
    for await (const batch of readTrace(path)) {
      lookups += batch.keys.length;
      most = Math.max(most, Deno.memoryUsage().external - before);
    }
    assertEquals(lookups, keys);
    assert(most < 44e6, `${most} bytes`);
  });
});
