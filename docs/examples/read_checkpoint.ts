// Prints the rows of a checkpoint, a line of JSON each, read as docs/formats.md says and with nothing of tierbench:
//   deno run --allow-read docs/examples/read_checkpoint.ts <folder> [number]

const [folder = ".", wanted] = Deno.args;
type Lines = Map<string, string>;
type Block = { kind: number; table: number; count: number; payload: DataView };
const [ROWS, BEFORE, MAP] = [1, 2, 5];

const crcTable = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let bit = 0; bit < 8; bit++) n = n & 1 ? (n >>> 1) ^ 0x82f63b78 : n >>> 1;
  return n;
});
function crc32c(bytes: Uint8Array): number {
  let crc = ~0;
  for (const byte of bytes) crc = (crcTable[(crc ^ byte) & 255] ?? 0) ^ (crc >>> 8);
  return ~crc >>> 0;
}
function check(right: boolean, what: string): void {
  if (!right) throw new Error(`Cannot read the checkpoint: ${what}`);
}
const unescaped = (value: string) => value.replaceAll(/\\x(..)/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));

function readManifest(number: number): Lines {
  const text = Deno.readTextFileSync(`${folder}/${number.toString(16).padStart(8, "0")}.manifest`);
  const sum = text.lastIndexOf("sum=");
  const counted = new TextEncoder().encode(text.slice(0, sum));
  check(parseInt(text.slice(sum + 4), 16) === crc32c(counted), `manifest ${number} is damaged`);
  check(text.startsWith("format=1\n"), `manifest ${number} is of several ranks, or of a later version`);
  const pairs = text.slice(0, sum).trimEnd().split("\n").map((line) => line.split(/=(.*)/s));
  return new Map(pairs.map(([key = "", value = ""]) => [key, unescaped(value)]));
}

function* readBlocks(lines: Lines): Generator<Block> {
  const file = Deno.readFileSync(`${folder}/${lines.get("data")}`);
  check(file.length === Number(lines.get("bytes")), `"${lines.get("data")}" is not as long as it was`);
  for (let at = 0; at < file.length;) {
    const head = new DataView(file.buffer, at, 64);
    const bytes = Number(head.getBigUint64(24, true));
    const payload = file.subarray(at + 64, at + 64 + bytes);
    const sound = head.getUint32(60, true) === crc32c(file.subarray(at, at + 60)) &&
      head.getUint32(56, true) === crc32c(payload) && Number(head.getBigUint64(32, true)) === at;
    check(sound && file.subarray(at + 40, at + 56).toHex() === lines.get("file"), `the block at ${at} is damaged`);
    const [kind, table, count] = [8, 12, 16].map((place) => head.getUint32(place, true)) as [number, number, number];
    yield { kind, table, count, payload: new DataView(file.buffer, at + 64, bytes) };
    at += 64 + bytes;
  }
}
const all = 2n ** 64n - 1n;
function slotOf(key: bigint, log2: number): number {
  let x = (BigInt.asUintN(64, key) + 0x9e3779b97f4a7c15n) & all;
  x = ((x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n) & all;
  x = ((x ^ (x >> 27n)) * 0x94d049bb133111ebn) & all;
  return Number((x ^ (x >> 31n)) & ((1n << BigInt(log2)) - 1n));
}
type Slots = { log2: number; words: Map<number, bigint> };
const decides = ({ log2, words }: Slots, key: bigint): boolean => {
  const slot = slotOf(key, log2);
  return (((words.get(Math.floor(slot / 64)) ?? 0n) >> BigInt(slot % 64)) & 1n) === 1n;
};

function weights(lines: Lines, table: number, row: DataView): number[] {
  const bf16 = lines.get(`table.${table}.dtype`) === "bf16"; // the upper half of a float
  const bits = (i: number) => bf16 ? row.getUint16(2 * i, true) << 16 : row.getInt32(4 * i, true);
  const count = Number(lines.get(`table.${table}.dim`));
  return [...new Float32Array(Int32Array.from({ length: count }, (_, i) => bits(i)).buffer)];
}

const named = [...Deno.readDirSync(folder)].flatMap(({ name }) => /^([0-9a-f]{8})\.manifest$/.exec(name)?.[1] ?? []);
const newest = Math.max(...named.map((name) => parseInt(name, 16)));
const newer: Slots[][] = []; // of the links that were read, by table
for (let number = Number(wanted ?? newest); number !== 0;) {
  const lines = readManifest(number);
  const blocks = [...readBlocks(lines)];
  const rowsOf = new Map<string, DataView | undefined>();
  for (const what of [BEFORE, ROWS]) {
    for (const { kind, table, count, payload } of blocks) {
      for (let i = 0, step = payload.byteLength / count; kind === what && i < count; i++) {
        const name = `${table}:${payload.getBigInt64(i * step, true)}`;
        const from = what === BEFORE ? 24 : 8;
        const there = what === ROWS || payload.getUint32(i * step + 8, true) === 1;
        const row = new DataView(payload.buffer, payload.byteOffset + i * step + from, step - from);
        if (!rowsOf.has(name)) rowsOf.set(name, there ? row : undefined); // of a key's images the first counts
      }
    }
  }
  for (const [place, row] of rowsOf) {
    const [table, key] = [Number(place.split(":")[0]), BigInt(place.split(":")[1] ?? "")];
    if (row === undefined || newer.some((maps) => maps[table] !== undefined && decides(maps[table], key))) continue;
    const name = lines.get(`table.${table}.name`);
    console.log(JSON.stringify({ table: name, key: String(key), weights: weights(lines, table, row) }));
  }
  const maps: Slots[] = [];
  for (const { payload, table, count } of blocks.filter(({ kind }) => kind === MAP)) {
    const map = maps[table] ??= { log2: payload.getUint32(0, true), words: new Map() };
    const first = Number(payload.getBigUint64(8, true));
    for (let i = 0; i < count; i++) map.words.set(first + i, payload.getBigUint64(16 + 8 * i, true));
  }
  newer.push(maps);
  number = lines.get("kind") === "delta" ? Number(lines.get("parent")) : 0;
}
