/**
 * Ranks in network namespaces of their own, whose links are limited: a cluster of two machines on this one. Needs root, `ip`
 * and `tc` of iproute2 and MPICH, whose launcher starts ranks without a network.
 *
 * @module
 */

import { shimOf } from "../../ffi/ranks.ts";
import type { MeasuredExchange } from "../../models/validation/exchanges.ts";
import { quantile } from "../../base/statistics.ts";
import { run } from "../program.ts";
import { ratioRow } from "../rows.ts";
import { parseValues } from "../simulator/rows.ts";

/** Rates of the links, bit/s. */
export const RATES = [1e9, 2.5e9, 1e10] as const;

/**
 * Bytes of a packet, and what the limit counts of it beside MPI's bytes: Ethernet 14; IP 20, TCP 20 and its time stamps 12.
 * Larger packets than 1500, as in data centres, so that processors are not what limits.
 */
const MTU = 9000, ETHERNET = 14, IP_AND_TCP = 52;

/** What a limit lets pass at once, bytes: little beside a message, and enough for a fast link's timer. */
const BURST = 128 * 1024;

const ROUNDS = 9, TABLES = 26, BATCH = 1024, DIM = 128, VOCABULARY = 100_000;

/** Namespaces and their links; gone when disposed. */
class Network implements AsyncDisposable {
  readonly name = `tierbench-${Deno.pid}`;

  async make(): Promise<void> {
    await run("ip", ["link", "add", this.#link(0), "mtu", `${MTU}`, "type", "veth", "peer", "name", this.#link(1)]);
    for (const rank of [0, 1]) {
      const space = `${this.name}-${rank}`;
      await run("ip", ["netns", "add", space]);
      await run("ip", ["link", "set", this.#link(rank), "mtu", `${MTU}`, "netns", space, "name", "eth0"]);
      await run("ip", ["-n", space, "addr", "add", `10.231.77.${rank + 1}/24`, "dev", "eth0"]);
      for (const device of ["lo", "eth0"]) await run("ip", ["-n", space, "link", "set", device, "up"]);
    }
  }

  /** Limits both directions, each where its packets leave. */
  async limit(rate: number): Promise<void> {
    for (const rank of [0, 1]) {
      const words = ["rate", `${rate}bit`, "burst", `${BURST}`, "latency", "50ms"];
      await run("ip", [
        ...["netns", "exec", `${this.name}-${rank}`, "tc", "qdisc", "replace", "dev", "eth0", "root", "tbf"],
        ...words,
      ]);
    }
  }

  #link(rank: number): string {
    return `tb${Deno.pid}-${rank}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await run("ip", ["link", "del", this.#link(0)]).catch(() => {}); // in its namespace by now, and gone with it
    for (const rank of [0, 1]) await run("ip", ["netns", "del", `${this.name}-${rank}`]).catch(() => {}); // was not made
  }
}

/** Words before a program that give it real-time priority, so that other work on the machine takes no processor from it. */
async function atFirst(): Promise<string[]> {
  return await run("chrt", ["-r", "1", "true"]).then(() => ["chrt", "-r", "1"], () => []);
}

async function measure(network: Network, program: string, rate: number): Promise<MeasuredExchange> {
  await network.limit(rate);
  const numbers = [ROUNDS, TABLES, BATCH, DIM, VOCABULARY].map(String);
  const rank = `exec ip netns exec ${network.name}-$PMI_RANK "$0" "$@"`;
  const [first = "", ...rest] = [
    ...["env", "UCX_TLS=tcp,self", "UCX_NET_DEVICES=eth0", "MPIR_CVAR_NOLOCAL=1", ...await atFirst()],
    ...["mpirun.mpich", "-n", "2", "sh", "-c", rank, program, shimOf("mpich"), ...numbers, "1", "yield"],
  ];
  const values = parseValues(await run(first, rest));
  const seconds = (values.get("fused") ?? []).map((ns) => ns / 1e9);
  const { value, low, high } = ratioRow("seconds", seconds, "");
  return {
    rate,
    payload: (MTU - IP_AND_TCP) / (MTU + ETHERNET),
    latency: quantile(values.get("latency") ?? [], 0.5) / 1e9,
    tables: TABLES,
    dim: DIM,
    keys: quantile(values.get("keys") ?? [], 0.5),
    seconds: value ?? NaN,
    low: low ?? NaN,
    high: high ?? NaN,
  };
}

/**
 * Measures a step's exchange between a worker and a server over links of each of {@linkcode RATES}.
 *
 * @param program Path of `ranks_exchange`.
 * @returns The exchanges, or why they cannot be measured here.
 */
export async function measureExchanges(program: string): Promise<MeasuredExchange[] | string> {
  await using network = new Network();
  try {
    await run("mpirun.mpich", ["--version"]);
    await run("tc", ["-V"]);
    await network.make();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  const exchanges: MeasuredExchange[] = [];
  for (const rate of RATES) exchanges.push(await measure(network, program, rate));
  return exchanges;
}
