// `tierbench run --watch`: the page that follows a run.

import "../native_library.ts";
import { LiveRun } from "../../cli/ui/live.ts";
import { CASE, EVENTS, rate } from "../fixtures/run_events.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "../assert.ts";
import { runCommand } from "./command.ts";

const METRICS = { text: () => Promise.resolve("# EOF\n") };

/** What a page is told until it is closed. */
async function following(url: string): Promise<() => Promise<Record<string, unknown>[]>> {
  const response = await fetch(`${url}events`);
  assertEquals(response.headers.get("content-type"), "text/event-stream");
  return async () =>
    (await response.text()).trim().split("\n\n").map((line) => JSON.parse(line.slice("data: ".length)));
}

/** The first line that the server answers to a request as it is. */
async function answer(url: string, request: string): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: Number(new URL(url).port) });
  await connection.write(new TextEncoder().encode(request.replaceAll("\n", "\r\n")));
  const bytes = new Uint8Array(4096);
  const n = await connection.read(bytes) ?? 0;
  return new TextDecoder().decode(bytes.subarray(0, n)).split("\r\n")[0] ?? "";
}

Deno.test("a page that is open, and one that opens later, are told what happens, without records, and that it ended", async () => {
  let early, late;
  {
    await using live = new LiveRun(0, METRICS);
    early = await following(live.url);
    for (const event of EVENTS) live.show(event);
    late = await following(live.url);
    live.end("over");
  }
  const now = (share: number, text: string, secondsLeft: number | null) => ({ type: "now", text, share, secondsLeft });
  const plan = {
    type: "plan",
    name: "<modes>",
    repetitions: 3,
    cases: [{ case: CASE, kind: "measured", how: "measured" }, {
      case: "hbm",
      kind: "left out",
      how: "left out: no device",
    }],
  };
  const done = [
    { type: "sample", case: CASE, rate },
    { type: "sample", case: CASE, rate: null }, // no speed of a virtual medium
  ];
  const second = now(0.375, "2 of 4: dram#1, train", 12), note = { type: "note", text: "a \u{1F600} note" };
  const end = { type: "end", text: "over" };
  assertEquals(await early(), [plan, now(0.0625, "1 of 4: dram#1, train", null), ...done, second, note, end]);
  assertEquals(await late(), [plan, ...done, note, second, end]);
});

Deno.test("the page is one file that may load nothing else, for this machine and GET alone", async () => {
  await using live = new LiveRun(0, METRICS);
  const page = await fetch(live.url), text = await page.text();
  assertMatch(
    page.headers.get("content-security-policy") ?? "",
    /default-src 'none'.*script-src 'sha256-.*connect-src 'self'/,
  );
  assert(!/https?:\/\/|innerHTML|\bsrc=/.test(text));
  const host = `Host: ${new URL(live.url).host}\n\n`;
  assertMatch(await answer(live.url, `GET / HTTP/1.1\n${host}`), /^HTTP\/1.1 200/);
  const metrics = await fetch(`${live.url}metrics`);
  assertMatch(metrics.headers.get("content-type") ?? "", /^application\/openmetrics-text; version=1/);
  assertEquals(await metrics.text(), "# EOF\n");
  assertMatch(await answer(live.url, "GET / HTTP/1.1\nHost: example.org\n\n"), /^HTTP\/1.1 421/);
  assertMatch(await answer(live.url, "GET /metrics HTTP/1.1\nHost: example.org\n\n"), /^HTTP\/1.1 421/);
  assertMatch(await answer(live.url, `POST / HTTP/1.1\nContent-Length: 0\n${host}`), /^HTTP\/1.1 405/);
  assertMatch(await answer(live.url, `GET /constructor HTTP/1.1\n${host}`), /^HTTP\/1.1 404/);
  const { port } = new URL(live.url);
  assertThrows(() => new LiveRun(Number(port), METRICS), Error, `Cannot listen on 127.0.0.1:${port}`);
});

Deno.test("--watch refuses what is no port, and simulations", async () => {
  for (const port of ["0", "65536", "http"]) {
    const { code, err } = await runCommand(["run", "--watch", port], 120);
    assertEquals(code, 2);
    assertStringIncludes(err, `Cannot watch on port "${port}"`);
  }
  const { code, err } = await runCommand(["run", "paper-openembedding", "--watch"], 120);
  assertEquals(code, 2);
  assertStringIncludes(err, "is a simulation");
});
