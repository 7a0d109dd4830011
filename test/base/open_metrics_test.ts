/** OpenMetrics text: what the format wants of names, units, suffixes, escapes and the end. */

import { type MetricFamily, openMetricsText } from "../../base/open_metrics.ts";
import { assertEquals, assertThrows } from "../assert.ts";

const HITS: MetricFamily = {
  name: "store_hits",
  type: "counter",
  help: "Keys that were found.",
  samples: [{ labels: { tier: "0" }, value: 12 }, { labels: { tier: "1" }, value: 0 }],
};

Deno.test("openMetricsText() writes type, unit, help and values of each family, and the end", () => {
  const text = openMetricsText([
    HITS,
    { name: "held_bytes", type: "gauge", unit: "bytes", help: "Bytes.", samples: [{ value: 1.5e300 }] },
    { name: "build", type: "info", help: 'A "quoted"\nword \\.', samples: [{ labels: { a: 'x"\n\\' }, value: 1 }] },
    { name: "gone", type: "gauge", help: "Without a value.", samples: [] },
    {
      name: "edge",
      type: "gauge",
      help: "Edges.",
      samples: [NaN, Infinity, -Infinity].map((value, i) => ({ labels: { i: `${i}` }, value })),
    },
  ]);
  assertEquals(
    text,
    [
      "# TYPE store_hits counter",
      "# HELP store_hits Keys that were found.",
      'store_hits_total{tier="0"} 12',
      'store_hits_total{tier="1"} 0',
      "# TYPE held_bytes gauge",
      "# UNIT held_bytes bytes",
      "# HELP held_bytes Bytes.",
      "held_bytes 1.5e+300",
      "# TYPE build info",
      '# HELP build A \\"quoted\\"\\nword \\\\.',
      'build_info{a="x\\"\\n\\\\"} 1',
      "# TYPE edge gauge",
      "# HELP edge Edges.",
      'edge{i="0"} NaN',
      'edge{i="1"} +Inf',
      'edge{i="2"} -Inf',
      "# EOF",
      "",
    ].join("\n"),
  );
  assertEquals(openMetricsText([]), "# EOF\n");
});

Deno.test("openMetricsText() refuses what the format does not have", () => {
  const refused = (change: Partial<MetricFamily>, why: string) =>
    assertThrows(() => openMetricsText([{ ...HITS, ...change }]), RangeError, why);
  refused({ name: "9lives" }, "expected letters");
  refused({ name: "a b" }, "expected letters");
  refused({ unit: "bytes" }, "expected a name that ends in _bytes");
  refused({ samples: [{ labels: { "a-b": "x" }, value: 1 }] }, 'its label "a-b" is none');
  refused({ samples: [{ value: -1 }] }, "a counter of 0 or more");
  refused({ samples: [{ value: NaN }] }, "a counter of 0 or more");
  assertThrows(() => openMetricsText([HITS, HITS]), RangeError, "it comes twice");
});
