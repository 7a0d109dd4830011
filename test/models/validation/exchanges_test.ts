import "../../native_library.ts";
import { compareExchanges, EXCHANGE_TOLERANCE, simulatedExchange } from "../../../models/validation/exchanges.ts";
import { assert, assertAlmostEquals, assertEquals } from "../../assert.ts";

Deno.test("compareExchanges(): the simulator is within its tolerance at three rates of links", async () => {
  const { exchanges, simulated } = await compareExchanges();
  assertEquals(exchanges.map(({ rate }) => rate), [1e9, 2.5e9, 1e10]);
  for (const [i, { rate, seconds }] of exchanges.entries()) {
    const deviation = Math.abs((simulated[i] ?? NaN) / seconds - 1);
    assert(deviation <= EXCHANGE_TOLERANCE, `${rate} bit/s: ${deviation}`);
  }
});

Deno.test("simulatedExchange() is bytes by bandwidth, and latency once a message", async () => {
  const exchange = { rate: 8e9, payload: 0.5, latency: 0, tables: 4, dim: 16, keys: 1000 };
  const measured = { ...exchange, seconds: 1, low: 1, high: 1 };
  // Keys out, rows back, gradients with their keys out.
  const bytes = 1000 * (8 + 64 + 64 + 8);
  assertAlmostEquals(await simulatedExchange(measured), bytes / 0.5e9, 1e-3 * bytes / 0.5e9);
  const late = await simulatedExchange({ ...measured, latency: 1e-3 });
  assertAlmostEquals(late - await simulatedExchange(measured), 3e-3, 1e-6);
});
