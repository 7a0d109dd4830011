import { RunView } from "../../cli/run_view.ts";
import { barText, rateText, secondsText } from "../../cli/ui/progress.ts";
import { tableText } from "../../cli/ui/table.ts";
import { assertEquals } from "../assert.ts";

Deno.test("barText() fills from the left and stays in its width", () => {
  assertEquals([-1, 0, 0.5, 1, 9].map((share) => barText(share, 4)), ["░░░░", "░░░░", "██░░", "████", "████"]);
});

Deno.test("rateText() and secondsText() have units", () => {
  assertEquals([950, 48_100, 1_250_000].map(rateText), ["950 samples/s", "48.1 k samples/s", "1.25 M samples/s"]);
  assertEquals([0.44, 3, 18, 125].map(secondsText), ["0.4 s", "3 s", "18 s", "2 min 5 s"]);
});

Deno.test("tableText() aligns columns and leaves no spaces at line ends", () => {
  assertEquals(tableText([["a", "bb"], ["ccc", ""]], "  "), "  a    bb\n  ccc\n");
});

Deno.test("tableText() breaks the last column at spaces to fit a width, under itself", () => {
  const rows = [["a", "one two three four five six seven"], ["bbb", "x"]];
  assertEquals(tableText(rows, " ", 31), " a    one two three four five\n      six seven\n bbb  x\n");
});

function view(isTerminal: boolean): { view: RunView; said: () => string } {
  let text = "";
  const out = (more: string) => void (text += more);
  return { view: new RunView({ out, err: out, isTerminal, colors: false, width: 60 }), said: () => text };
}

const PROGRESS = {
  type: "progress",
  id: "fsdax#2",
  position: 7,
  samples: 12,
  phase: "train",
  done: 50,
  total: 100,
  rate: 48_100,
  secondsLeft: 18,
} as const;

Deno.test("RunView draws progress over itself on a terminal, in its width, and not at all elsewhere", () => {
  const terminal = view(true);
  terminal.view.show(PROGRESS);
  assertEquals(
    terminal.said(),
    "\r\x1b[2Krun      █████████████░░░░░░░░░░░  7/12  fsdax#2  48.1 k sa",
  );
  terminal.view.line("report", "x");
  assertEquals(terminal.said().endsWith("sa\r\x1b[2Kreport   x\n"), true);
  const pipe = view(false);
  pipe.view.show(PROGRESS);
  assertEquals(pipe.said(), "");
});
