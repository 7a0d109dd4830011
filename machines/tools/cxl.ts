/**
 * `cxl list`: memory devices, regions and the decoders of roots, wherever the flags put them: in lists of their own
 * (`memdevs`, `regions`, `root decoders`) or below buses, ports and endpoints (`ports:root0`, `decoders:root0`, …);
 * cxl-list(1).
 *
 * @module
 */

import type { CxlInventory, CxlMemdev, CxlRegion, CxlRootDecoder } from "../inventory/inventory.ts";
import * as v from "../../base/valibot.ts";
import { bytes, count, deviceName, fitted, listed, listedObject, repeated, state } from "./json.ts";
import { known, type Parsed, unknown } from "../inventory/tool.ts";

/** Names of lists, and the name that each of their entries has; those inside something carry its name: `decoders:port1`. */
const ENTRY_NAMES: Readonly<Record<string, string>> = {
  "buses": "bus",
  "ports": "port",
  "endpoints": "endpoint",
  "memdevs": "memdev",
  "anon memdevs": "memdev",
  "decoders": "decoder",
  "root decoders": "decoder",
  "port decoders": "decoder",
  "endpoint decoders": "decoder",
  "regions": "region",
};
const CONTAINERS = Object.keys(ENTRY_NAMES);

/** The kind of a list, without the name of what it is inside. */
function kindOf(list: string): string {
  return list.replace(/:.*$/, "");
}

const MEMDEV = /^mem\d+$/;
const REGION = /^region\d+$/;

const memdevSchema = v.pipe(
  listedObject({
    memdev: deviceName(MEMDEV),
    pmem_size: v.optional(bytes),
    ram_size: v.optional(bytes),
    host: v.optional(v.string()),
    numa_node: v.optional(v.pipe(count, v.maxValue(1023, "is no NUMA node"))),
    serial: v.optional(v.unknown()),
    state: v.optional(state),
  }),
  v.transform((value): CxlMemdev => ({
    memdev: value.memdev,
    pmemSize: value.pmem_size,
    ramSize: value.ram_size,
    host: value.host,
    numaNode: value.numa_node,
    ...(value.state === undefined ? {} : { disabled: true }),
  })),
);

const regionSchema = v.pipe(
  listedObject({
    region: deviceName(REGION),
    size: v.optional(bytes),
    type: v.optional(v.picklist(["pmem", "ram", "mixed", "none", "dc"], "is no type of a CXL region")),
    decode_state: v.optional(v.picklist(["commit", "reset"], "is no state of a decoder")),
    mappings: v.optional(
      v.array(listedObject({ memdev: v.optional(deviceName(MEMDEV)), position: v.optional(count) })),
    ),
    state: v.optional(state),
  }),
  v.transform((value): CxlRegion => ({
    region: value.region,
    size: value.size,
    type: value.type,
    decodeState: value.decode_state,
    memdevs: (value.mappings ?? []).flatMap(({ memdev }) => memdev ?? []),
    ...(value.state === undefined ? {} : { disabled: true }),
  })),
);

const flag = v.optional(v.boolean("is neither true nor false"));

const rootDecoderSchema = v.pipe(
  listedObject({
    decoder: deviceName(/^decoder\d+\.\d+$/),
    size: v.optional(bytes),
    max_available_extent: v.optional(bytes),
    pmem_capable: flag,
    volatile_capable: flag,
    interleave_ways: v.optional(count),
  }, CONTAINERS),
  v.rawTransform(({ dataset, addIssue, NEVER }): CxlRootDecoder => {
    const { value } = dataset;
    if ((value.max_available_extent ?? 0) > (value.size ?? Infinity)) {
      addIssue({ message: `(${value.decoder}) has more available than its size` });
      return NEVER;
    }
    return {
      decoder: value.decoder,
      size: value.size,
      maxAvailableExtent: value.max_available_extent,
      pmemCapable: value.pmem_capable ?? false,
      volatileCapable: value.volatile_capable ?? false,
      interleaveWays: value.interleave_ways,
    };
  }),
);

/** What else has a name of its own; only what lies below it is of interest. */
const NAMES: Readonly<Record<string, RegExp>> = {
  bus: /^[A-Za-z][\w.-]*\d*$/,
  port: /^port\d+$/,
  endpoint: /^endpoint\d+$/,
  decoder: /^decoder\d+\.\d+$/,
};

const placeSchema = listedObject({
  bus: v.optional(v.string()),
  port: v.optional(v.string()),
  endpoint: v.optional(v.string()),
  memdev: v.optional(v.unknown()),
  /** Printed by cxl 81 for ports and endpoints, and asked for by nobody: named, for it looks like a damaged `decoders`. */
  decoders_committed: v.optional(count),
}, CONTAINERS);

interface Found {
  readonly memdevs: CxlMemdev[];
  readonly regions: CxlRegion[];
  readonly rootDecoders: CxlRootDecoder[];
  /** Names of buses, ports, endpoints and decoders. */
  readonly names: string[];
}

/** Why an element of a listing does not fit; undefined: it was taken. */
function take(element: unknown, list: string, found: Found, text: string): Parsed<undefined> {
  if (typeof element !== "object" || element === null || Array.isArray(element)) {
    return unknown("an entry is no object", text);
  }
  const object = element as Readonly<Record<string, unknown>>;
  const own = ENTRY_NAMES[kindOf(list)];
  if (own !== undefined && !(own in object)) return unknown(`an entry of "${list}" has no "${own}"`, text);
  const add = <T>(schema: v.GenericSchema<unknown, T>, to: T[]): Parsed<undefined> => {
    const value = fitted(schema, object, text);
    if (!value.known) return value;
    to.push(value.value);
    return known(undefined);
  };
  // An endpoint holds its memory device as an object, so only a text makes this a memory device.
  if (typeof object["memdev"] === "string") return add(memdevSchema, found.memdevs);
  const decoder = "decoder" in object;
  if (!decoder && "region" in object) return add(regionSchema, found.regions);
  const name = Object.keys(NAMES).find((one) => one in object);
  const isRoot = decoder &&
    (/^(root decoders|decoders:root\d+)$/.test(list) || "pmem_capable" in object || "volatile_capable" in object);
  const fits = isRoot ? add(rootDecoderSchema, found.rootDecoders) : fitted(placeSchema, object, text);
  if (!fits.known) return fits;
  if (name !== undefined) {
    const value = object[name];
    if (typeof value !== "string" || !NAMES[name]?.test(value)) return unknown(`"${name}" is no name`, text);
    found.names.push(value);
  }
  let lists = 0;
  for (const [key, value] of Object.entries(object)) {
    const inside = key === "memdev" ? [value] : value;
    if (key !== "memdev" && !CONTAINERS.includes(kindOf(key))) continue;
    if (!Array.isArray(inside)) return unknown(`"${key}" is no list`, text);
    lists++;
    for (const one of inside) {
      const taken = take(one, key, found, text);
      if (!taken.known) return taken;
    }
  }
  return name !== undefined || lists > 0 ? known(undefined) : unknown("an entry is nothing that cxl lists", text);
}

/** Parses what `cxl list` printed, with any flags, or the region that `cxl create-region` printed. */
export function parseCxl(text: string): Parsed<CxlInventory> {
  // Other than its sisters, cxl prints an empty list where there is nothing.
  if (text.trim() === "") return unknown("it is empty", text);
  const elements = listed(text);
  if (!elements.known) return elements;
  const found: Found = { memdevs: [], regions: [], rootDecoders: [], names: [] };
  for (const element of elements.value) {
    const taken = take(element, "", found, text);
    if (!taken.known) return taken;
  }
  const { names, ...inventory } = found;
  const twice = repeated(found.memdevs.map((one) => one.memdev)) ?? repeated(found.regions.map((one) => one.region)) ??
    repeated(names) ?? repeated(found.memdevs.map((one) => one.host)) ??
    found.regions.map((region) => repeated(region.memdevs)).find((one) => one !== undefined);
  return twice === undefined ? known(inventory) : unknown(`"${twice}" is listed twice`, text);
}
