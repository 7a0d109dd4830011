/**
 * `ndctl list`: buses, their DIMMs and regions, the namespaces in those. Layouts follow the flags (ndctl-list(1)):
 * with `-B` regions lie in their bus, without it they lie on top, and namespaces lie in their region where that is asked
 * for.
 *
 * @module
 */

import type { NdBus, NdNamespace, NdRegion } from "../inventory/inventory.ts";
import * as v from "../../base/valibot.ts";
import { bytes, count, deviceName, fitted, identity, listed, listedObject, repeated, state } from "./json.ts";
import { known, type Parsed, unknown } from "../inventory/tool.ts";

/** A DIMM as `ndctl list -D` prints it. */
type NdDimm = NdBus["dimms"][number];

/** What `ndctl list` printed, whatever its flags; what lies in something else is not repeated here. */
interface NdctlListing {
  readonly buses: readonly NdBus[];
  /** Regions outside a bus. */
  readonly regions: readonly NdRegion[];
  /** Namespaces outside a region. */
  readonly namespaces: readonly NdNamespace[];
  /** DIMMs outside a bus. */
  readonly dimms: readonly NdDimm[];
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const NO_UUID = "00000000-0000-0000-0000-000000000000";
const name = v.pipe(v.string(), v.nonEmpty("is empty"));
const node = v.pipe(count, v.maxValue(1023, "is no NUMA node"));
const powerOfTwo = v.pipe(
  bytes,
  v.check((value) => value === undefined || (value > 0 && Number.isInteger(Math.log2(value))), "is no power of 2"),
);
const positive = v.pipe(bytes, v.check((value) => value === undefined || value > 0, "is 0"));

/** Names of modes before ndctl 60. */
const MODES: Readonly<Record<string, string>> = { memory: "fsdax", dax: "devdax", safe: "sector" };

const daxDevice = listedObject({
  chardev: deviceName(/^dax\d+\.\d+$/),
  size: v.optional(bytes),
  target_node: v.optional(node),
  align: v.optional(powerOfTwo),
  mode: v.optional(v.string()),
});

const namespaceSchema = v.pipe(
  listedObject({
    dev: deviceName(/^namespace\d+\.\d+$/),
    mode: v.optional(
      v.picklist(["raw", "fsdax", "devdax", "sector", "memory", "dax", "safe"], "is no mode of a namespace"),
    ),
    map: v.optional(v.picklist(["mem", "dev", "none"], 'is neither "mem" nor "dev"')),
    size: v.optional(bytes),
    uuid: v.optional(deviceName(UUID)),
    sector_size: v.optional(positive),
    align: v.optional(powerOfTwo),
    blockdev: v.optional(deviceName(/^pmem\d+(\.\d+)?s?$/)),
    chardev: v.optional(deviceName(/^dax\d+\.\d+$/)),
    name: v.optional(v.string()),
    numa_node: v.optional(node),
    target_node: v.optional(node),
    state: v.optional(state),
    daxregion: v.optional(
      listedObject({ id: v.optional(count), size: v.optional(bytes), devices: v.array(daxDevice) }),
    ),
  }),
  v.rawTransform(({ dataset, addIssue, NEVER }): NdNamespace => {
    const { value } = dataset;
    // With -X and -v, and after a creation, the device lies in its DAX region.
    const devices = value.daxregion?.devices ?? [];
    const device = devices.length === 1 ? devices[0] : undefined;
    const differ = <T>(a: T | undefined, b: T | undefined) => a !== undefined && b !== undefined && a !== b;
    if (differ(value.chardev, device?.chardev) || differ(value.target_node, device?.target_node)) {
      addIssue({ message: `(${value.dev}) contradicts its DAX region` });
      return NEVER;
    }
    return {
      dev: value.dev,
      mode: value.mode === undefined ? undefined : MODES[value.mode] ?? value.mode,
      map: value.map,
      size: value.size,
      uuid: value.uuid,
      sectorSize: value.sector_size,
      align: value.align,
      blockdev: value.blockdev,
      chardev: value.chardev ?? device?.chardev,
      name: value.name,
      targetNode: value.target_node ?? device?.target_node,
      numaNode: value.numa_node,
      disabled: value.state !== undefined,
    };
  }),
);

const regionSchema = v.pipe(
  listedObject({
    dev: deviceName(/^region\d+$/),
    size: v.optional(bytes),
    align: v.optional(positive),
    available_size: v.optional(bytes),
    max_available_extent: v.optional(bytes),
    type: v.optional(v.picklist(["pmem", "volatile", "blk", "block", "unknown"], "is no type of a region")),
    persistence_domain: v.optional(
      v.picklist(["memory_controller", "cpu_cache", "unknown"], "is no persistence domain"),
    ),
    numa_node: v.optional(node),
    target_node: v.optional(node),
    iset_id: v.optional(identity),
    mappings: v.optional(v.array(listedObject({ dimm: deviceName(/^nmem\d+$/) }))),
    namespaces: v.optional(v.array(namespaceSchema)),
    state: v.optional(state),
  }),
  v.rawTransform(({ dataset, addIssue, NEVER }): NdRegion => {
    const { value } = dataset;
    const namespaces = value.namespaces ?? [];
    const number = value.dev.slice("region".length);
    const size = value.size ?? Infinity;
    const used = namespaces.reduce((sum, space) => sum + (space.size ?? 0), value.available_size ?? 0);
    const problem = used > size || (value.max_available_extent ?? 0) > size
      ? "has more in it than its size"
      : namespaces.some((space) => !space.dev.startsWith(`namespace${number}.`))
      ? "holds a namespace of another region"
      : undefined;
    if (problem !== undefined) {
      addIssue({ message: `(${value.dev}) ${problem}` });
      return NEVER;
    }
    return {
      dev: value.dev,
      size: value.size,
      align: value.align,
      availableSize: value.available_size,
      maxAvailableExtent: value.max_available_extent,
      type: value.type,
      persistenceDomain: value.persistence_domain,
      targetNode: value.target_node,
      numaNode: value.numa_node,
      isetId: value.iset_id,
      dimms: (value.mappings ?? []).map(({ dimm }) => dimm),
      namespaces,
      disabled: value.state !== undefined,
    };
  }),
);

const dimmSchema = v.pipe(
  listedObject({ dev: deviceName(/^nmem\d+$/), id: v.optional(name), state: v.optional(state) }),
  v.transform((value): NdDimm => ({ dev: value.dev, id: value.id, disabled: value.state !== undefined })),
);

const busSchema = v.pipe(
  listedObject({
    dev: deviceName(/^ndbus\d+$/),
    provider: name,
    dimms: v.optional(v.array(dimmSchema)),
    regions: v.optional(v.array(regionSchema)),
  }),
  v.transform((value): NdBus => ({
    dev: value.dev,
    provider: value.provider,
    dimms: value.dimms ?? [],
    regions: value.regions ?? [],
  })),
);

const platformSchema = listedObject({
  buses: v.optional(v.array(busSchema)),
  dimms: v.optional(v.array(dimmSchema)),
  regions: v.optional(v.array(regionSchema)),
  namespaces: v.optional(v.array(namespaceSchema)),
  // That of a bus that lost its name.
  provider: v.optional(v.never("is here, but not the name of its bus")),
});

/** A name or device that is listed twice, or named and not listed. */
function contradiction({ buses, regions, namespaces, dimms }: NdctlListing): string | undefined {
  const allRegions = [...regions, ...buses.flatMap((bus) => bus.regions)];
  const spaces = [...namespaces, ...allRegions.flatMap((region) => region.namespaces)];
  const allDimms = [...dimms, ...buses.flatMap((bus) => bus.dimms)];
  const twice = repeated(buses.map((one) => one.dev)) ?? repeated(allRegions.map((one) => one.dev)) ??
    repeated(spaces.map((one) => one.dev)) ?? repeated(allDimms.map((one) => one.dev)) ??
    repeated(spaces.map((one) => one.blockdev)) ?? repeated(spaces.map((one) => one.chardev)) ??
    repeated(spaces.map((one) => one.uuid === NO_UUID ? undefined : one.uuid)) ??
    allRegions.map((region) => repeated(region.dimms)).find((dimm) => dimm !== undefined);
  if (twice !== undefined) return `"${twice}" is listed twice`;
  const listedDimms = new Set(allDimms.map((dimm) => dimm.dev));
  const lost = allRegions.flatMap((region) => region.dimms).find((dimm) => !listedDimms.has(dimm));
  return listedDimms.size > 0 && lost !== undefined ? `a region names "${lost}", which is not listed` : undefined;
}

/** Parses what `ndctl list` printed, with any flags, or a namespace that `ndctl create-namespace` printed. */
export function parseNdctl(text: string): Parsed<NdctlListing> {
  const elements = listed(text);
  if (!elements.known) return elements;
  const buses: NdBus[] = [];
  const regions: NdRegion[] = [];
  const namespaces: NdNamespace[] = [];
  const dimms: NdDimm[] = [];
  for (const element of elements.value) {
    const dev = typeof element === "object" && element !== null && "dev" in element ? String(element.dev) : undefined;
    const kinds: [RegExp, v.GenericSchema<unknown, unknown>, unknown[]][] = [
      [/^ndbus/, busSchema, buses],
      [/^region/, regionSchema, regions],
      [/^namespace/, namespaceSchema, namespaces],
      [/^nmem/, dimmSchema, dimms],
    ];
    if (dev !== undefined) {
      const kind = kinds.find(([pattern]) => pattern.test(dev));
      if (kind === undefined) return unknown(`"${dev}" is no bus, region, namespace or DIMM`, text);
      const value = fitted(kind[1], element, text);
      if (!value.known) return value;
      kind[2].push(value.value);
      continue;
    }
    const platform = fitted(platformSchema, element, text);
    if (!platform.known) return platform;
    const parts = [platform.value.buses, platform.value.dimms, platform.value.regions, platform.value.namespaces];
    if (parts.every((part) => part === undefined)) {
      return unknown("an entry is no bus, region, namespace or DIMM", text);
    }
    buses.push(...platform.value.buses ?? []);
    dimms.push(...platform.value.dimms ?? []);
    regions.push(...platform.value.regions ?? []);
    namespaces.push(...platform.value.namespaces ?? []);
  }
  const listing = { buses, regions, namespaces, dimms };
  const problem = contradiction(listing);
  return problem === undefined ? known(listing) : unknown(problem, text);
}

/** Parses what `ndctl list -B` with `-D`, `-R`, `-N` printed: everything lies in a bus. */
export function parseNdctlBuses(text: string): Parsed<readonly NdBus[]> {
  const listing = parseNdctl(text);
  if (!listing.known) return listing;
  const { buses, regions, namespaces, dimms } = listing.value;
  return regions.length + namespaces.length + dimms.length === 0
    ? known(buses)
    : unknown("it lists things outside a bus, although buses were asked for", text);
}
