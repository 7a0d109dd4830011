import { parseVersion } from "../../../machines/tools/version.ts";
import { assertEquals } from "../../assert.ts";

Deno.test("parseVersion() takes releases without a second number, as whole lines only", () => {
  assertEquals(parseVersion("65\n"), { known: true, value: "65" });
  assertEquals(parseVersion("76.1\n"), { known: true, value: "76.1" });
  for (const text of ["76", "7651\n", "", "\n", "unversioned\n", "65\n65\n"]) {
    assertEquals(parseVersion(text).known, false);
  }
});
