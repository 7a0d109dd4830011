import { identity, telling } from "../../../scenarios/contribution/identity.ts";
import { redact, redactor } from "../../../scenarios/contribution/redact.ts";
import type { Result } from "../../../scenarios/record.ts";
import { assert, assertEquals } from "../../assert.ts";
import { fixtureResult } from "../../fixtures/result_fixture.ts";
import { ADA, both, captured } from "./machines.ts";

const told = (text: string): string => redactor(ADA)(text).text;

Deno.test("redactor() takes out what identifies a machine or a person", () => {
  for (
    const [text, kept] of [
      ["uuid f4e9b3c2-25f5-4e27-9056-36b98ac0501a.", "uuid <UUID>."],
      ["eth0 52:54:00:12:34:56 up", "eth0 <hardware address> up"],
      ["nmem0 8089-a2-1837-00000bb3", "nmem0 <serial number>"],
      ['{"dev":"nmem0","id":"8680-56341200"}', '{"dev":"nmem0","id":"<serial number>"}'],
      [
        '{"serial":"0x12","iset_id":10248187106440278,"size":5}',
        '{"serial":<serial number>,"iset_id":<serial number>,"size":5}',
      ],
      ["Serial Number: PHAB-1234.x", "Serial Number: <serial number>"],
      ["lock 0xdeadbeef01", "lock <serial number>"],
      ["Cannot open /home/ada lovelace/pmem/pool: no", "Cannot open <path>: no"],
      ["on /mnt/customer/pmem0, a DAX file system", "on <path>, a DAX file system"],
      ['at file:///srv/x.ts:12 "/opt/a b"', 'at file:<path> "<path> b"'],
      ["limit in /sys/fs/cgroup/user.slice/user-1000.slice/memory.max.", "limit in /sys/fs/cgroup/<path>."],
      ["ext4 on /dev/mapper/acme-pool", "ext4 on <device>"],
      ["by adalovelace@vault7.acme.example (vault7)", "by <user>@<host> (<host>)"],
    ] as const
  ) assertEquals(told(text), kept);
});

Deno.test("redactor() keeps what decides on a figure", () => {
  for (
    const text of [
      "ext4 mounted with DAX on /dev/pmem0p1, NVDIMM (region0, ACPI.NFIT)",
      "/dev/pmem1.2s and /dev/dax0.0 and /dev/shm",
      "48.1 k samples/s, 7168 MB/s, and/or",
      "/sys/devices/system/node/node2, /proc/meminfo",
      "6.1.0-56-cloud-amd64",
      "AMD EPYC 9654 96-Core Processor",
      "criteo-kaggle × 0.05",
      "10 21 17 28",
      "2026-11-20T12:00:00.000Z",
      "adalovelaces vault77",
    ]
  ) assertEquals(redactor(ADA)(text), { text, removed: [] });
});

Deno.test("redactor() leaves no identifier of the tools' captured outputs", async () => {
  const folder = new URL("../../fixtures", import.meta.url).pathname;

  const walk = async (at: string): Promise<void> => {
    for await (const { name, isDirectory, isFile } of Deno.readDir(at)) {
      if (isDirectory) await walk(`${at}/${name}`);
      else if (isFile && /\.(json|txt)$/.test(name)) {
        const text = await Deno.readTextFile(`${at}/${name}`);
        const found = /[0-9a-f]{8}-[0-9a-f]{4}-|"iset_id":\s*\d|"id":"[0-9a-f]{4}-[0-9a-f]{8}"/;
        if (!found.test(text)) continue;

        assert(!found.test(told(text)), `${name}: ${found.exec(told(text))?.[0]}`);
      }
    }
  };
  await walk(folder);
  // A listing as ndctl 76.1 prints it.
  const listing = '{"provider":"ACPI.NFIT","dimms":[{"dev":"nmem1","id":"8680-57341200","handle":2,"phys_id":0}],' +
    '"regions":[{"iset_id":10248195696374871,"namespaces":[{"uuid":"bc074ef8-6422-4eca-9fa7-f0e7a38dda07"}]}]}';
  assertEquals(
    told(listing),
    '{"provider":"ACPI.NFIT","dimms":[{"dev":"nmem1","id":"<serial number>","handle":2,"phys_id":0}],' +
      '"regions":[{"iset_id":<serial number>,"namespaces":[{"uuid":"<UUID>"}]}]}',
  );
});

/** A result whose every free text says who and where. */
function private_(): Result {
  const result = fixtureResult({ failed: true, configurations: ["dram", "fsdax"] });
  const facts = {
    ...both(),
    "mount.1.path": "/home/ada lovelace/pmem",
    "cxl.mem0.serial": "0x9",
    "pmem.namespace0.0.uuid": "f4e9b3c2-25f5-4e27-9056-36b98ac0501a",
    "memory.limit_source": "/sys/fs/cgroup/user.slice/adalovelace/memory.max",
    "library.libdnnl.error": "/home/ada lovelace/lib/libdnnl.so: no such file on vault7",
    "network.eth0": "acme",
    "mount.2.path": "/srv/big customer/pmem",
  };
  const [first, second, ...others] = result.samples;
  if (first === undefined || second === undefined) throw new Error("two samples are needed");
  return {
    ...result,
    run: { ...result.run, machine: { ...result.run.machine, facts } },
    samples: [
      first,
      {
        ...second,
        how: "libpmem on /home/ada lovelace/pmem, a DAX file system, wall clock",
        point: { "workload.data.skew": "vault7" },
        tiers: second.tiers.map((tier) => ({ ...tier, facts: { path: "/home/ada lovelace/pmem/pool", is_pmem: "1" } })),
        environment: { POOL: "/home/ada lovelace/pmem", OTHER: "at /srv/big customer/pmem/pool, full" },
      },
      ...others,
    ],
  };
}

Deno.test("redact() leaves no name, path or number of the machine, says where each was, and keeps every figure", () => {
  const before = private_();
  const { result, removed } = redact(before, ADA);
  const text = JSON.stringify({ ...result, samples: result.samples.map((one) => ({ ...one, point: {} })) });
  for (const name of ["ada", "lovelace", "vault7", "acme", "customer", "f4e9b3c2", "0x9", "/mnt/"]) {
    assert(!text.includes(name), `"${name}" stayed: ${text.slice(Math.max(0, text.indexOf(name) - 60)).slice(0, 120)}`);
  }
  const facts = result.run.machine.facts;
  assertEquals(Object.keys(before.run.machine.facts).filter((key) => !(key in facts)).sort(), [
    "cxl.mem0.serial",
    "network.eth0",
    "pmem.namespace0.0.uuid",
  ]);
  assertEquals(facts["mount.1.path"], "<path>");
  assertEquals(result.samples[1]?.tiers[0]?.facts, { path: "<path>", is_pmem: "1" });
  const places = removed.map(({ where }) => where);
  for (
    const place of [
      "run.machine.facts.cxl.mem0.serial",
      "run.machine.facts.mount.1.path",
      `${before.samples[1]?.id}.how`,
      `${before.samples[1]?.id}.environment.POOL`,
      "fsdax#4 (failed).error",
    ]
  ) assert(places.includes(place), `${place} is not listed in ${places.join(", ")}`);
  assert(!JSON.stringify(removed).includes("lovelace"));
  assertEquals(
    result.samples.map(({ stepNs, digest, id, point }) => [stepNs, digest, id, point]),
    before.samples.map(({ stepNs, digest, id, point }) => [stepNs, digest, id, point]),
  );
  assertEquals(result.run.scenario, before.run.scenario);
});

Deno.test("redact() takes paths out of a scenario and nothing else", () => {
  const before = fixtureResult({ configurations: ["dram", "fsdax"] });
  const { scenario } = before.run;
  const fsdax = { ...scenario.configurations["fsdax"], path: "/mnt/acme" };
  const changed = { ...scenario, configurations: { ...scenario.configurations, fsdax } } as typeof scenario;
  const { result } = redact({ ...before, run: { ...before.run, scenario: changed } }, {
    ...ADA,
    hosts: ["criteo-kaggle"],
  });
  assertEquals(
    result.run.scenario,
    {
      ...changed,
      configurations: { ...changed.configurations, fsdax: { ...fsdax, path: "<path>" } },
    } as typeof scenario,
  );
});

Deno.test("redact() keeps every fact of the captured machines but serial numbers", () => {
  for (const tree of ["bare", "cloud", "cxl", "fsdax", "gpu", "kmem", "memmap", "side-cache", "virtio-pmem"]) {
    const before = fixtureResult();
    const facts = captured(tree);
    const { result } = redact({ ...before, run: { ...before.run, machine: { ...before.run.machine, facts } } }, ADA);
    const kept = result.run.machine.facts;
    const lost = Object.keys(facts).filter((key) => !(key in kept) && !key.endsWith(".serial"));
    assertEquals(lost, [], `${tree}: say in redact.ts whether these are private`);
    const changed = Object.keys(kept).filter((key) =>
      kept[key] !== facts[key] && !/^(mount\.\d+\.(path|device)|memory\.limit_source)$/.test(key)
    );
    assertEquals(changed, [], tree);
  }
});

Deno.test("identity() knows this process, and common names tell nothing", () => {
  const who = identity();
  assert([...who.hosts, ...who.users, ...who.paths].every((name) => name.length > 0 && name !== "root"));
  assertEquals(telling(["a", undefined, "", "root", "localhost", "a.b"]), ["a.b", "a"]);
});
