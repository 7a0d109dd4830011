import { launchersOf, type ProcessFacts, readProcess, watchLaunchers } from "../../../scenarios/run/launchers.ts";
import { assert, assertEquals, assertMatch } from "../../assert.ts";

/** A machine of processes: number to its parent, session and command line. */
function machine(processes: Record<number, readonly [parent: number, session: number, words: string]>) {
  const gone = new Set<number>();
  const read = (pid: number): ProcessFacts | undefined => {
    const found = processes[pid];
    if (found === undefined || gone.has(pid)) return undefined;
    return { parent: found[0], session: found[1], started: `${pid}`, words: found[2].split(" ") };
  };
  return { read, gone };
}

const NPM = machine({
  1: [0, 1, "init"],
  40: [1, 40, "-bash"],
  50: [40, 40, "npm exec deno@2.9.6 task bench"],
  51: [50, 40, "sh -c 'deno' task bench"],
  52: [51, 40, "deno task bench"],
  53: [52, 40, "/usr/bin/deno run -A setup/main.ts bench"],
  54: [53, 40, "/usr/bin/deno run --quiet -A cli.ts run"],
});

Deno.test("launchersOf() are the runtimes above a run and the shells between them, not the user's shell", () => {
  assertEquals(launchersOf(54, NPM.read).map(({ pid }) => pid), [53, 52, 51, 50]);
  const nohup = machine({
    1: [0, 1, "init"],
    60: [1, 60, "sh -c nohup deno task bench &"],
    61: [60, 60, "deno task bench"],
    62: [61, 60, "deno run -A cli.ts"],
  });
  assertEquals(launchersOf(62, nohup.read).map(({ pid }) => pid), [61]);
  const detached = machine({ 70: [1, 70, "node server.js"], 71: [70, 71, "deno run -A cli.ts run"] });
  assertEquals(launchersOf(71, detached.read), [], "a session of its own stands by itself");
});

Deno.test("watchLaunchers() names the one that is gone, also when its number comes again", () => {
  const asked = watchLaunchers(54, NPM.read);
  assertEquals(asked(), undefined);
  NPM.gone.add(51);
  assertEquals(asked(), `"sh -c 'deno' task bench" (process 51)`);
  NPM.gone.clear();
  const [first] = launchersOf(54, NPM.read);
  assert(first !== undefined);
  const again = watchLaunchers(54, NPM.read);
  const other = { ...first.facts, started: "99" };
  let reused = false;
  const watching = watchLaunchers(54, (pid) => reused && pid === first.pid ? other : NPM.read(pid));
  reused = true;
  assertEquals(again(), undefined);
  assertMatch(watching() ?? "", /^"deno run .*main\.ts bench" \(process 53\)$/);
});

Deno.test("readProcess() reads this process, and nothing of one that is not there", () => {
  const own = readProcess(Deno.pid);
  assertEquals(own?.parent, Deno.ppid);
  assertMatch(own?.words[0] ?? "", /deno/);
  assertEquals(readProcess(2 ** 22 + 1), undefined);
});
