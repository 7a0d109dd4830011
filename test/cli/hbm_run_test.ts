/** A run with rows on an OpenCL device: real workers, on PoCL where it is installed. */

import { EmbeddingStore } from "../../ffi/store.ts";
import { readResult } from "../../scenarios/result.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import "../native_library.ts";
import { inFolder } from "./command.ts";

const CLI = decodeURIComponent(new URL("../../cli.ts", import.meta.url).pathname);

const SCENARIO = {
  name: "hbm",
  workload: {
    steps: 4,
    warmup: 1,
    batch: 64,
    hidden: [16],
    data: { synthetic: "criteo-kaggle", rows: 2000, testRows: 256, scale: 0.0005 },
  },
  configurations: {
    "dram": { storage: "DRAM" },
    "hbm-dram": { storage: "HBM_DRAM", hbm: "opencl" },
    "hbm-ssd": { storage: "HBM_DRAM_SSDHASH", hbm: "opencl" },
    "hbm-grows": {
      storage: "HBM_DRAM",
      hbm: "opencl",
      size: ["64 KiB", "16 MiB"],
      hbmPoolSteps: 2,
      hbmHostBytes: "1 MiB",
    },
  },
  quality: { samples: 256, evaluations: 2 },
  seed: 7,
};

const PROBE = EmbeddingStore.probe({ storage: "HBM", hbm: "opencl", size: ["1 MiB"] });
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

async function run(folder: string, scenario: object, env: Record<string, string>, ...more: string[]) {
  await Deno.writeTextFile(`${folder}/hbm.jsonc`, JSON.stringify(scenario));
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", CLI, "run", "hbm.jsonc", ...more],
    cwd: folder,
    env: { NO_COLOR: "1", ...env },
  }).output();
  return { code, out: text(stdout), err: text(stderr) };
}

Deno.test({
  name: "tierbench run trains with rows on an OpenCL device: the same rows, and what crossed the link is in the record",
  ignore: !PROBE.available,
  fn: () =>
    inFolder(async (folder) => {
      const { code, out, err } = await run(folder, SCENARIO, {});
      assertEquals([code, err], [0, ""], out);
      const { samples } = await readResult(`${folder}/reports/out/hbm/result.jsonl`);
      assertEquals(samples.length, 12);
      for (const sample of samples) {
        assert(sample.status === "completed");
        assertEquals(sample.digest, samples[0]?.status === "completed" ? samples[0].digest : "", sample.id);
        const [first] = sample.tiers;
        const onDevice = sample.configuration !== "dram";
        assertEquals(first?.kind, onDevice ? "hbm" : "dram");
        for (const name of ["link_up_bytes", "link_down_bytes", "link_transfers", "link_ns"]) {
          assertEquals((sample.statistics[name] ?? -1) > 0, onDevice, `${sample.id}: ${name}`);
        }
        if (!onDevice) continue;
        const { device, driver, version, kind, device_type: type } = first?.facts ?? {};
        assertEquals(kind, type === "cpu" ? "emulated" : "measured");
        assertEquals(sample.evidence, kind);
        const grows = sample.configuration === "hbm-grows";
        assertEquals(first?.facts["pool_plan"] !== undefined, grows, sample.id);
        assertEquals((sample.statistics["link_host_bytes"] ?? -1) > 0, grows, sample.id);
        assertEquals(Number(first?.facts["host_bytes"]) > 0 && Number(first?.facts["host_ns"]) > 0, grows, sample.id);
        assert(Number(first?.facts["pool_bytes"]) > 0 && Number(first?.facts["pool_ns"]) > 0, sample.id);
        for (const said of [device, driver, version]) assertStringIncludes(sample.how, said ?? "nothing");
        // Every looked-up row of a step that is on the device is fetched: 26 columns of 64 keys, at most.
        const most = 4 * 26 * 64 * 16 * 4;
        assert((sample.statistics["link_down_bytes"] ?? 0) < 8 * most, "what is fetched is what steps need");
      }
      const page = await Deno.readTextFile(`${folder}/reports/out/hbm/index.html`);
      assertStringIncludes(page, "Rows on a device, a step");
      for (const title of ["sized from first steps", "of the host", "reached there"]) assertStringIncludes(page, title);
      assertMatch(out.replaceAll(/\s+/g, " "), /hbm-dram.* and hbm-\w+: emulated\. Rows took the way to a GPU/);
    }),
});

Deno.test({
  name: "tierbench run --require measured refuses a device that is a CPU",
  ignore: !PROBE.available,
  fn: () =>
    inFolder(async (folder) => {
      const { code, err } = await run(folder, {
        ...SCENARIO,
        configurations: { one: SCENARIO.configurations["hbm-dram"] },
      }, {
        CUDA_VISIBLE_DEVICES: "",
      }, "--require=measured");
      assertEquals(code === 0, false);
      assertMatch(err.replaceAll(/\s+/g, " "), /one cannot be measured here: the OpenCL device "[^"]+" is a CPU/);
    }),
});

Deno.test("tierbench run without a driver, or without HBM's node, says what is missing and what brings it", async () => {
  await inFolder(async (folder) => {
    const { code, err } = await run(
      folder,
      {
        ...SCENARIO,
        configurations: { one: SCENARIO.configurations["hbm-dram"], two: { storage: "HBM_DRAM", hbm: "mbind" } },
      },
      { OCL_ICD_VENDORS: `${folder}/none` },
    );
    const words = err.replaceAll(/\s+/g, " ");
    assertEquals(code === 0, false);
    assertMatch(words, /one cannot run here: Cannot open OpenCL: .*(pocl-opencl-icd|ocl-icd-libopencl1)/);
    assertMatch(words, /two cannot run here: no plain NUMA node has memory and no CPUs/);
  });
});
