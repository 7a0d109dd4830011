import "../native_library.ts";
import { UsageError } from "../../cli/exit_codes.ts";
import { vouched } from "../../cli/vouch.ts";
import { assertEquals, assertStringIncludes, assertThrows } from "../assert.ts";
import { inFolder, runCommand } from "./command.ts";

Deno.test("--vouch takes a medium, or one for a configuration, one after the other", () => {
  assertEquals(vouched("fsdax=cxl", vouched("optane-200")), [
    { medium: "optane-200" },
    { medium: "cxl", configuration: "fsdax" },
  ]);
  for (const text of ["", "=", "fsdax=", "=optane-200", "a=b=c", "optane 200"]) {
    assertThrows(() => vouched(text), UsageError, `Cannot vouch for "${text}"`);
  }
});

Deno.test("run --vouch says with exit code 2 what is no medium, and with 3 what nobody can vouch for", async () => {
  await inFolder(async (out) => {
    const run = (...words: string[]) => runCommand(["run", "pmem-modes", "--quick", "--out", out, ...words], 120);
    const wrong = await run("--vouch", "fsdax=optan-200");
    assertEquals(wrong.code, 2);
    assertStringIncludes(wrong.err, 'did you mean "optane-200"?');
    const dram = await run("--vouch", "dram=optane-200");
    assertEquals(dram.code, 3);
    assertStringIncludes(dram.err.replace(/\s+/g, " "), "as the medium of dram: it has no PMEM or CXL memory");
    const virtual = await runCommand(["run", "terabyte", "--vouch", "cxl", "--out", out], 120);
    assertEquals(virtual.code, 2);
    assertStringIncludes(virtual.err, "Cannot use --vouch");
    assertEquals([...Deno.readDirSync(out)].filter(({ name }) => name === "index.html"), []);
  });
});
