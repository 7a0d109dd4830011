import "../native_library.ts";
import { RunView } from "../../cli/run_view.ts";
import { safeTerminal } from "../../cli/ui/ansi.ts";
import { barText, rateText, secondsText } from "../../cli/ui/progress.ts";
import { tableText } from "../../cli/ui/table.ts";
import type { QualityRecord } from "../../scenarios/record.ts";
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
  return { view: new RunView(safeTerminal({ out, err: out, isTerminal, colors: false, width: 60 })), said: () => text };
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

Deno.test("RunView shows the cases of a plan one by one, or many of a configuration as one", () => {
  const lines = (variants: number) =>
    ["dram", "fsdax"].flatMap((name) =>
      Array.from({ length: variants }, (_, i) => ({
        case: `${name} ablation=${i}`,
        evidence: name === "dram" ? "measured" : "emulated",
        how: "how",
        ...(name === "dram" ? {} : { missing: "no PMEM" }),
      } as const))
    );
  const plan = (variants: number): string => {
    const { view: one, said } = view(false);
    one.show({ type: "plan", name: "x", lines: lines(variants), repetitions: 3, budget: 60, seed: 1 });
    return said();
  };
  const cases = (text: string) => text.split("\n").filter((line) => line.endsWith("how")).map((line) => line.trim());
  assertEquals(cases(plan(2)), [
    "dram ablation=0   measured  how",
    "dram ablation=1   measured  how",
    "fsdax ablation=0  emulated  how",
    "fsdax ablation=1  emulated  how",
  ]);
  const many = plan(24);
  assertEquals(cases(many), ["dram, 24 cases   measured  how", "fsdax, 24 cases  emulated  how"]);
  assertEquals(many.trimEnd().split("\n").at(-1)?.trim(), "fsdax, 24 cases  no PMEM");
});

Deno.test("RunView says of which case a quality run is, where there are several", () => {
  const { view: one, said } = view(false);
  const record = { type: "quality", configuration: "dram", steps: 10, batch: 100, auc: 0.5, logloss: 0.6 } as const;
  one.show({ type: "quality", record: { ...record, point: { ablation: "all" } } as unknown as QualityRecord });
  one.show({ type: "quality", record: record as unknown as QualityRecord });
  assertEquals(said().split("\n").map((line) => line.trim()).slice(0, 3), [
    "quality  AUC 0.5000, logloss 0.6000 after 1,000 samples on",
    "dram (ablation=all)",
    "quality  AUC 0.5000, logloss 0.6000 after 1,000 samples on",
  ]);
});
