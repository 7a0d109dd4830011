/** `tierbench ask`: words in, a plan file that `tierbench plan` takes, and one page. */

import "../native_library.ts";
import { targetOf } from "../../cli/ask.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "../assert.ts";
import { inFolder, runCommand } from "./command.ts";

const WORDS = ["ask", "--rows", "200GB", "--target", "500k/s", "--among", "dram", "--as-of", "2026-11"];

Deno.test("tierbench ask writes a plan that tierbench plan answers alike, a page that is whole, and JSON", async () => {
  await inFolder(async (folder) => {
    const before = Deno.cwd();
    Deno.chdir(folder);
    try {
      const said = await runCommand(WORDS, 120);
      assertEquals(said.code, 0, said.err);
      assertStringIncludes(said.out, "$ a month, the whole bill");
      const plan = "reports/out/ask-200GB-of-rows/plan.jsonc";
      assertStringIncludes(said.out, plan);
      const [again, planned, valid, whole] = await Promise.all([
        runCommand(["ask", plan, "--json"], 120),
        runCommand(["plan", plan, "--simulate", "--json"], 120),
        runCommand(["validate", plan], 120),
        runCommand(["verify", "reports/out/ask-200GB-of-rows/index.html"], 120),
      ]);
      assertEquals(
        [again.code, planned.code, valid.code, whole.code],
        [0, 0, 0, 0],
        again.err + planned.err + valid.err,
      );
      const [one, other] = [JSON.parse(again.out), JSON.parse(planned.out)];
      assertEquals(one.ways[0].machine, other.best.machine.name);
      assertEquals(one.ways[0].billPerHour, other.best.billPerHour);
      assertEquals(one.simulated[0].stepSeconds, other.simulated[0].stepSeconds);
      // The same words again change nothing; others keep the plan that was there.
      await runCommand(WORDS, 120);
      assertEquals([...Deno.readDirSync("reports/out/ask-200GB-of-rows")].map(({ name }) => name).sort(), [
        "index.html",
        "plan.jsonc",
        "summary.json",
      ]);
      const set = await runCommand([...WORDS, "--set", "perRowNs=80", "--boundary", "parameter-servers"], 120);
      assertEquals(set.code, 0, set.err);
      assertStringIncludes(set.out, "the machines that hold the tables alone");
      assert(Deno.readTextFileSync(plan).includes('"perRowNs": 80'), "what was set is in the plan");
      assert(!Deno.readTextFileSync("reports/out/ask-200GB-of-rows/plan-1.jsonc").includes('"perRowNs"'));
    } finally {
      Deno.chdir(before);
    }
  });
});

Deno.test("tierbench ask names the user's offers, their currency, and a medium that was measured", async () => {
  await inFolder(async (folder) => {
    const before = Deno.cwd();
    Deno.chdir(folder);
    try {
      await Deno.writeTextFile(
        "offers.csv",
        "provider,name,role,vcpus,dram_gib,pmem_gib,network_gb_s,price,unit,currency,from,to,region,source,mark,note,nvme_count,nvme_gb\n" +
          "Vendor,drives,memory,64,512,0,12.5,,hour,USD,2026-10,2026-11,here,an offer,V,,4,3840\n",
      );
      const medium = await Deno.readTextFile(new URL("../../models/media/nvme-tlc.jsonc", import.meta.url));
      await Deno.writeTextFile("mine.jsonc", medium.replace('"name": "nvme-tlc"', '"name": "mine"'));
      const said = await runCommand(
        [...WORDS, "--prices", "offers.csv", "--medium", "nvme-tlc=mine.jsonc", "--name", "offers", "--json"],
        120,
      );
      assertEquals(said.code, 0, said.err);
      const { ways } = JSON.parse(said.out);
      const offer = ways.find(({ name }: { name: string }) => name === "DRAM + SSD, quoted");
      assert(offer.machine === "Vendor drives" && offer.win.perHour > 0, said.out.slice(0, 400));
      assertStringIncludes(Deno.readTextFileSync("reports/out/ask-offers/plan.jsonc"), '"../../../mine.jsonc"');
    } finally {
      Deno.chdir(before);
    }
  });
});

Deno.test("tierbench ask refuses words that say nothing, or twice, and what fits nowhere", async () => {
  await inFolder(async (folder) => {
    const before = Deno.cwd();
    Deno.chdir(folder);
    try {
      const cases: [string[], string][] = [
        [["ask"], "expected a plan file, or either --rows"],
        [["ask", "--rows", "2TB"], "expected --target such as 500k/s"],
        [["ask", "--rows", "2TB", "--tables", "x.jsonc", "--target", "1/s"], "either --rows"],
        [["ask", "--rows", "2 cats", "--target", "1/s"], 'unknown unit "cats"'],
        [[...WORDS, "--among", "tape"], 'Cannot choose among "tape": expected dram, cxl, nvme, pmem'],
        [[...WORDS, "--skew", "1", "--profile", "oe-retail"], "Cannot use --skew with --profile"],
        [[...WORDS, "--optimizer", "adagard"], "expected none, sgd, adagrad"],
        [[...WORDS, "--medium", "nvme-tlc"], "expected NAME=FILE"],
        [["ask", "plan.jsonc", "--rows", "2TB"], 'Cannot use --rows with "plan.jsonc"'],
      ];
      for (const [words, expected] of cases) {
        const { code, err } = await runCommand(words, 200);
        assert(code !== 0, words.join(" "));
        assertStringIncludes(err, expected);
      }
      const over = await runCommand(
        ["ask", "--rows", "9e14", "--dim", "64", "--target", "1/s", "--among", "dram"],
        200,
      );
      assertEquals(over.code, 1, over.err);
      assertStringIncludes(over.out, "rows take 4");
      const said = over.out.replaceAll(/\s+/g, " ");
      assertStringIncludes(said, "do not fit into the 256 that may be used");
      // 9e14 rows of 512 bytes with 35 beside each, in nine tenths of 32 modules of 256 GiB.
      const hosts = Math.ceil(9e14 * (512 + 35.125) / (32 * 256 * 2 ** 30 * 0.9));
      assertStringIncludes(said, `; ${hosts.toLocaleString("en-US")} of it would hold them`);
    } finally {
      Deno.chdir(before);
    }
  });
});

Deno.test("a target is samples a second, a step, or both", () => {
  assertEquals(targetOf("500k/s"), { samplesPerSecond: 500_000 });
  assertEquals(targetOf("2.5M/s, 20 ms"), { samplesPerSecond: 2_500_000, p99Ms: 20 });
  for (const text of ["500k", "fast", "0/s", "-1ms", ""]) assertThrows(() => targetOf(text), Error, "Cannot aim at");
});
