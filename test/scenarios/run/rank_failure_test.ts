import "../../native_library.ts";
import { RANK_WATCH } from "../../../ffi/ranks.ts";
import { failureText, type RankError, type RankJobEnd } from "../../../scenarios/run/rank_failure.ts";
import { type RankEnd, rankEnd } from "../../../scenarios/run/rank_lines.ts";
import { assert, assertEquals } from "../../assert.ts";

const hello = (rank: number) => ({
  ...{ rank, host: "n1", pid: 40 + rank, library: "x" },
  machine: { cpu: "c", cpus: 1, memoryBytes: 1, kernel: "6" },
});
/** Three ranks that joined, of which nothing more is known. */
const JOB: RankJobEnd = {
  count: 3,
  hellos: new Map([0, 1, 2].map((rank) => [rank, hello(rank)])),
  errors: new Map(),
  ends: [],
  printed: "",
  how: "exit code 137",
};
const end = (rank: number, more: Partial<RankEnd> = {}): RankEnd => ({
  ...{ rank, host: "n1", pid: 40 + rank, code: 0, signal: 0, us: 1000 + rank },
  ...more,
});
const error = (message: string, lost = false): RankError => ({ type: "error", message, lost });

Deno.test("the rank that a signal ended is named, whoever else ended of it, and in any order of what came", () => {
  const expected = 'Rank 2 of 3 on "n1" (process 42) ended without a word (signal 9); the others were ended';
  const killed = end(2, { signal: 9, us: 2000 });
  const left = [end(0, { signal: 6 }), end(1, { code: 1 })];
  for (const ends of [[killed, ...left], [...left, killed], [killed]]) {
    assertEquals(failureText({ ...JOB, ends, printed: "PID 40 RUNNING AT n1" }), expected);
  }
  // One that lost it said so before.
  const errors = new Map([[0, error("Cannot go on: rank 0 of 3 could not exchange rows: x", true)]]);
  assertEquals(failureText({ ...JOB, errors, ends: [end(0, { code: 1 }), killed] }), expected);
  // Of two the first, by their clock.
  assertEquals(failureText({ ...JOB, ends: [end(1, { signal: 9, us: 2001 }), killed] }), expected);
});

Deno.test("a rank's own words go before ends without a signal from outside, these before lost messages", () => {
  const full = new Map([[0, error("lost", true)], [1, error("the store is full")]]);
  const aborted = end(2, { signal: 6 });
  assertEquals(failureText({ ...JOB, errors: full, ends: [aborted] }), 'Rank 1 of 3 on "n1": the store is full');
  const lost = new Map([[0, error("lost", true)]]);
  assertEquals(
    failureText({ ...JOB, errors: lost, ends: [end(0, { code: 1 }), aborted], printed: "assertion failed\n" }),
    'Rank 2 of 3 on "n1" (process 42) ended without a word (signal 6); the others were ended; it said: assertion failed',
  );
  assertEquals(failureText({ ...JOB, errors: lost, ends: [end(0, { code: 1 })] }), 'Rank 0 of 3 on "n1": lost');
});

Deno.test("a rank that ends before it joined did not start; one without a number is known by its process", () => {
  const text = (ends: RankEnd[], hellos = JOB.hellos) => failureText({ ...JOB, ends, hellos });
  const two = new Map([...JOB.hellos].slice(0, 2));
  assertEquals(
    text([end(2, { code: 127 })], two),
    'Rank 2 of 3 on "n1" (process 42) did not start (exit code 127); the others were ended',
  );
  assertEquals(
    text([end(-1, { pid: 41, signal: 11 })]),
    'Rank 1 of 3 on "n1" (process 41) ended without a word (signal 11); the others were ended',
  );
  assertEquals(
    text([end(-1, { pid: 7, signal: 11 })]),
    'A rank of 3 on "n1" (process 7) ended without a word (signal 11); the others were ended',
  );
});

/** What the program that starts ranks says of a shell with this script, and with which code it ends. */
async function watched(script: string, while_?: (watch: Deno.ChildProcess) => void) {
  const watch = new Deno.Command(RANK_WATCH, {
    args: ["sh", "-c", script],
    env: { PMI_RANK: "5" },
    ...{ stdin: "null", stdout: "piped", stderr: "piped" } as const,
  }).spawn();
  while_?.(watch);
  const { code, signal, stderr } = await watch.output();
  const text = new TextDecoder().decode(stderr);
  assertEquals(text.length % 512, 0); // so that no launcher tears it
  const ends = text.split("\n").flatMap((line) => rankEnd(line) ?? []);
  return { code, signal, ends: ends.map(({ rank, code, signal }) => [rank, code, signal]) };
}

Deno.test("what starts a rank ends as it does, and says how if it did not end well", async () => {
  const before = Date.now() * 1000;
  assertEquals(await watched("exit 0"), { code: 0, signal: null, ends: [] });
  assertEquals(await watched("exit 3"), { code: 3, signal: null, ends: [[5, 3, 0]] });
  assertEquals(await watched("kill -KILL $$"), { code: 137, signal: null, ends: [[5, 0, 9]] });
  const { stderr } = await new Deno.Command(RANK_WATCH, { args: ["/nowhere/program"] }).output();
  const [first = "", ...rest] = new TextDecoder().decode(stderr).split("\n");
  assertEquals(first, 'Cannot start "/nowhere/program": No such file or directory');
  const [said] = rest.flatMap((line) => rankEnd(line) ?? []);
  assertEquals([said?.rank, said?.code, said?.host], [Number(Deno.env.get("PMI_RANK") ?? -1), 127, Deno.hostname()]);
  assert((said?.us ?? 0) >= before && (said?.us ?? 0) <= Date.now() * 1000);
});

Deno.test("a rank that is told to end goes without a word, one that is killed beside that does not", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const there = `${folder}/there`;
    const onceThere = (act: () => void) => {
      const look = setInterval(() => {
        try {
          if (Deno.readTextFileSync(there) === "") return;
        } catch {
          return;
        }
        clearInterval(look);
        act();
      }, 5);
    };
    const forever = `echo $$ > ${there}; while :; do sleep 0.01; done`;
    const term = (watch: Deno.ChildProcess) => onceThere(() => watch.kill("SIGTERM"));
    assertEquals(await watched(forever, term), { code: 143, signal: null, ends: [] });
    await Deno.remove(there);
    // It does not heed SIGTERM, and is killed.
    const deaf = await watched(`trap '' TERM; ${forever}`, (watch) =>
      onceThere(() => {
        watch.kill("SIGTERM");
        Deno.kill(Number(Deno.readTextFileSync(there)), "SIGKILL");
      }));
    assertEquals(deaf, { code: 137, signal: null, ends: [[5, 0, 9]] });
    await Deno.remove(there);
    // What is killed with its watcher is ended by the system.
    let rank = 0;
    const gone = await watched(forever, (watch) =>
      onceThere(() => {
        rank = Number(Deno.readTextFileSync(there));
        watch.kill("SIGKILL");
      }));
    assertEquals([gone.signal, gone.ends], ["SIGKILL", []]);
    for (let tries = 0; isThere(rank); tries++) {
      assert(tries < 200, `process ${rank} is left`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** Whether a process is there and has not ended. */
function isThere(pid: number): boolean {
  try {
    return !/^State:\s*[ZX]/m.test(Deno.readTextFileSync(`/proc/${pid}/status`));
  } catch {
    return false;
  }
}
