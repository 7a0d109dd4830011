/** Versions: compared as numbers, never guessed. */

import { assertEquals, assertStringIncludes } from "../../assert.ts";
import { compareVersions, meets, NEEDS, versionWarnings } from "../../../machines/provisioning/versions.ts";
import { bareInventory } from "./inventories.ts";

Deno.test("compareVersions() compares numbers, not texts", () => {
  assertEquals(compareVersions("5.14.0-427.el9", "5.8"), 1);
  assertEquals(compareVersions("5.8", "5.8.0"), 0);
  assertEquals(compareVersions("v66", "71.1"), -1);
  assertEquals(compareVersions("76.1", "76"), 1);
  assertEquals(compareVersions("unknown", "1"), undefined);
});

Deno.test("versionWarnings() tells old, unknown and absent apart", () => {
  const tool = (version: string | undefined, installed = true) =>
    bareInventory({}, { tools: [{ name: "daxctl", installed, ...(version === undefined ? {} : { version }) }] });
  assertEquals(versionWarnings(tool("76.1"), [NEEDS.reconfigure]), []);
  assertStringIncludes(versionWarnings(tool("64.1"), [NEEDS.reconfigure])[0] ?? "", "daxctl 64.1 is here");
  assertStringIncludes(versionWarnings(tool(undefined), [NEEDS.reconfigure])[0] ?? "", "could not be read");
  assertEquals(versionWarnings(tool(undefined, false), [NEEDS.reconfigure]), []);
  assertEquals(meets(bareInventory({ "kernel.release": "?" }), NEEDS.kmem), undefined);
});
