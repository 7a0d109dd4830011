/** Stores on a machine without a loader, a driver, a library or a node of HBM: the error says which package brings it. */

import "../native_library.ts";
import { assertMatch } from "../assert.ts";

const STORE = new URL("../../ffi/store.ts", import.meta.url).href;

/** What opening a store says in a process of its own. */
async function said(options: object, env: Record<string, string>): Promise<string> {
  const program = `import { EmbeddingStore } from ${JSON.stringify(STORE)};
    try {
      EmbeddingStore.open(${JSON.stringify({ storage: "HBM_DRAM", size: ["1 MiB", "8 MiB"], ...options })});
      console.log("opened");
    } catch (error) {
      console.log(error.message);
    }`;
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), { args: ["eval", "--ext=ts", program], env })
    .output();
  return new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
}

/** A folder in which files of these names are no libraries: whoever looks for them finds them first. */
async function withBroken(names: readonly string[], body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    for (const name of names) await Deno.writeTextFile(`${folder}/${name}`, "no library\n");
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("a store over OpenCL without the loader names the package that brings it", async () => {
  await withBroken(["libOpenCL.so.1"], async (folder) => {
    assertMatch(await said({ hbm: "opencl" }, { LD_LIBRARY_PATH: folder }), /libOpenCL\.so\.1.*ocl-icd-libopencl1/s);
  });
});

Deno.test("a store over OpenCL without a driver names PoCL's package; with one, the device that is not there", async () => {
  const none = await said({ hbm: "opencl" }, { OCL_ICD_VENDORS: "/nowhere" });
  assertMatch(none, /no driver is installed; .*pocl-opencl-icd|ocl-icd-libopencl1/);
  const other = await said({ hbm: "opencl", hbmDevice: "No such GPU" }, {});
  assertMatch(
    other,
    /has "No such GPU" in its name or its platform's; see clinfo -l|pocl-opencl-icd|ocl-icd-libopencl1/,
  );
});

Deno.test("a store over memkind's HBM without the library names its package, and without a node what makes one", async () => {
  await withBroken(["libmemkind.so.0"], async (folder) => {
    assertMatch(await said({ hbm: "memkind" }, { LD_LIBRARY_PATH: folder }), /libmemkind.*libmemkind0/s);
  });
  assertMatch(
    await said({ hbm: "memkind" }, {}),
    /HBM must be memory of a NUMA node of its own with more than 200 GB\/s by the firmware's HMAT|libmemkind0/,
  );
  assertMatch(await said({ hbm: "mbind", hbmNodes: [999] }, {}), /999/);
});
