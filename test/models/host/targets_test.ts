// What is to be measured, and what is refused before anything is.

import "../../native_library.ts";
import { statfsSync } from "node:fs";
import { assert, assertEquals, assertRejects, assertThrows } from "../../assert.ts";
import { inspectMachine, type MachineRecord } from "../../../machines/machine.ts";
import { calibrationTargets, checkTargets } from "../../../models/host/targets.ts";
import {
  calibrate,
  calibrateMachine,
  calibrateSoftware,
  CalibrationError,
  CalibrationInterrupted,
  TierstoreError,
} from "../../../mod.ts";

const TMPFS = 0x01021994;

/** Two sockets, memory without CPUs at the second, and a process that may not run on CPU 0. */
const MACHINE: MachineRecord = {
  ...inspectMachine(),
  cpus: 7,
  facts: {
    "cpu.allowed": "1-7",
    "node.0.cpus": "0-3",
    "node.0.total": "1000000000",
    "node.0.distance": "10 21 28",
    "node.1.cpus": "4-7",
    "node.1.total": "1000000000",
    "node.1.distance": "21 10 14",
    "node.2.cpus": "",
    "node.2.total": "4000000000",
    "node.2.distance": "28 14 10",
    "node.3.cpus": "",
    "node.3.total": "0",
  },
};

Deno.test("calibrationTargets(): of several nodes each is measured by the CPUs nearest to it that the process may use", () => {
  const found = calibrationTargets(MACHINE, {}).map(({ name, kind, threads, medium }) => {
    return [name, kind, threads, medium.kind === "memory" ? medium.node : undefined, medium.cpus];
  });
  assertEquals(found, [
    ["node0", "dram", 3, 0, [1, 2, 3]],
    ["node1", "dram", 4, 1, [4, 5, 6, 7]],
    ["node2", "cxl", 4, 2, [4, 5, 6, 7]],
  ]);
  const [one] = calibrationTargets({ ...MACHINE, facts: { "node.0.cpus": "0-1", "node.0.total": "1000000000" } }, {});
  assertEquals([one?.medium, one?.threads], [{ kind: "memory" }, 7]);
  assertThrows(() => calibrationTargets(MACHINE, { nodes: [3] }), CalibrationError, "nodes with memory: 0, 1, 2");
});

Deno.test("calibrationTargets(): two media whose files would have one name are refused, and folders alone leave nodes out", () => {
  assertThrows(() => calibrationTargets(MACHINE, { nodes: [1, 1] }), CalibrationError, "would be node1.jsonc");
  assertThrows(
    () => calibrationTargets(MACHINE, { drives: ["/mnt/a-b", "/mnt/a/b"] }),
    CalibrationError,
    "would be drive-mnt-a-b.jsonc",
  );
  const both = calibrationTargets(MACHINE, { drives: ["/data"], files: ["/mnt/pmem0/"] });
  assertEquals(both.map(({ name, kind }) => [name, kind]), [["file-mnt-pmem0", "pmem"], ["drive-data", "ssd"]]);
});

Deno.test("checkTargets(): bytes and folders that cannot be measured, each with what was found and what to do", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const machine = inspectMachine(), file = `${folder}/file`;
    await Deno.writeTextFile(file, "");
    const refused = (options: Parameters<typeof calibrationTargets>[1], bytes: number, message: string) =>
      assertThrows(
        () => checkTargets(machine, calibrationTargets(machine, options), bytes),
        CalibrationError,
        message,
      );
    refused({ nodes: [0] }, 5, "over 5 B: expected 1 MiB or more");
    refused({ nodes: [0] }, NaN, "expected 1 MiB or more");
    refused({ nodes: [0] }, 2 ** 50, "at most half of its memory is taken");
    refused({ drives: [`${folder}/none`] }, 2 ** 20, "No such file or directory; expected a folder");
    refused({ files: [file] }, 2 ** 20, "devices and files themselves are never written");
    assertEquals(await Deno.readTextFile(file), "");
    assertEquals([...Deno.readDirSync(folder)].length, 1);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

const shm = (() => {
  try {
    return statfsSync("/dev/shm").type === TMPFS;
  } catch {
    return false;
  }
})();

Deno.test({
  name: "a drive that is memory is none, and a file in memory must have room (needs a memory file system at /dev/shm)",
  ignore: !shm,
  fn: () => {
    const machine = inspectMachine();
    const check = (options: Parameters<typeof calibrationTargets>[1], bytes: number) => () =>
      checkTargets(machine, calibrationTargets(machine, options), bytes);
    assertThrows(check({ drives: ["/dev/shm"] }, 2 ** 20), TierstoreError, "its file system is in memory");
    assertThrows(check({ files: ["/dev/shm"] }, 2 ** 60), CalibrationError, "are free; free some space");
  },
});

Deno.test("what is refused or stopped before a medium is measured leaves no folder behind, nor changes one that was there", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const out = `${folder}/a/b`, quick = { quick: true, bytes: 2 ** 20, nodes: [0] };
    const file = `${folder}/file`;
    await Deno.writeTextFile(file, "mine");
    await assertRejects(() => calibrate({ ...quick, out: file }), CalibrationError, "it is a file, expected a folder");
    await assertRejects(() => calibrate({ ...quick, out: `${file}/x` }), CalibrationError, "Cannot write");
    await assertRejects(
      () => calibrate({ ...quick, out, drives: [`${folder}/none`] }),
      CalibrationError,
      "No such file",
    );
    const stop = new AbortController();
    const stopped = calibrate({
      ...quick,
      out,
      signal: stop.signal,
      onProgress: ({ done }) => done === 3 && stop.abort(),
    });
    const error = await assertRejects(() => stopped, CalibrationInterrupted, "nothing was written");
    assertEquals(error.files, []);
    assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name), ["file"]);
    assertEquals(await Deno.readTextFile(file), "mine");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("calibrateMachine(): stopped among the runs of our store, complete media stay; what is there is refused before all", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const out = `${folder}/out`, stop = new AbortController();
    const options = { out, quick: true, bytes: 2 ** 20, nodes: [0] };
    const stopped = calibrateMachine({
      ...options,
      signal: stop.signal,
      onProgress: ({ part, done }) => part === "software" && done === 2 && stop.abort(),
    });
    const error = await assertRejects(() => stopped, CalibrationInterrupted, "node0.jsonc");
    assertEquals(error.files, [`${out}/node0.jsonc`]);
    assertEquals([...Deno.readDirSync(out)].map(({ name }) => name), ["node0.jsonc"]);
    const ours = { out, quick: true, memory: `${out}/node0.jsonc`, folder, signal: AbortSignal.abort() };
    await assertRejects(() => calibrateSoftware(ours), CalibrationInterrupted, "nothing was written");
    assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name), ["out"], "no pool is left");
    await Deno.rename(`${out}/node0.jsonc`, `${out}/software.jsonc`);
    let asked = 0;
    const again = () => calibrateMachine({ ...options, onProgress: () => void asked++ });
    await assertRejects(again, CalibrationError, "software.jsonc");
    assert(asked === 0, "refused before anything is measured");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
