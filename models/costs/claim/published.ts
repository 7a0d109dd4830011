/**
 * Savings that papers and threads publish, as claims that can be taken apart. What a source does not state is an
 * assumption, and said to be one.
 *
 * @module
 */

import { abstractCost } from "../break_even.ts";
import { GIB } from "../cost_model.ts";
import type { Claim } from "./claim.ts";

/** A claim and where it was published. */
export interface PublishedClaim {
  /** The claim in the terms it can be doubted by. */
  readonly claim: Claim;
  /** Where it was published. */
  readonly source: string;
  /** The figure as published, as a share. */
  readonly published: number;
  /** What the source does not state and is assumed here, a sentence each. */
  readonly notes: readonly string[];
}

/** OpenEmbedding's model: 2.1e9 rows of 64 fp32. */
const MODEL_GIB = 2.1e9 * 64 * 4 / GIB;
const OE_SOURCE = "OpenEmbedding (ICDE 2023), Table V and section VI-B";
/** A worker that the paper's bill leaves out: nobody states its price. */
const OE_WORKER = 10;
const OE_WORKER_NOTE =
  `the bill is that of the parameter servers; the worker with 4 V100 that it leaves out is taken as ${OE_WORKER} $/h, an assumption`;

const oeDram = {
  name: "DRAM",
  machine: "ecs.r6e.13xlarge",
  price: 3.035,
  machines: 2,
  overBuy: 2 * 384 / MODEL_GIB,
  time: 5.75,
};
const oePmem = {
  name: "PMem",
  machine: "ecs.re6p.13xlarge",
  price: 3.80,
  machines: 1,
  overBuy: 756 / MODEL_GIB,
  time: 5.33,
};

const openEmbedding: Claim = {
  name: "PMem against DRAM, parameter servers of DeepFM",
  a: oeDram,
  b: oePmem,
  inside: 0,
  outside: OE_WORKER,
  timeRatio: undefined,
};

/** Eight GPUs of a box that is rented as a whole. */
const BOX = 14.75;

/** The claims by name. */
export const PUBLISHED_CLAIMS: Readonly<Record<string, PublishedClaim>> = {
  openembedding: {
    claim: openEmbedding,
    source: OE_SOURCE,
    published: 0.42,
    notes: [OE_WORKER_NOTE],
  },
  "openembedding-two-servers": {
    claim: {
      ...openEmbedding,
      name: "the same with two PMem servers in the bill",
      b: { ...oePmem, machines: 2, overBuy: 2 * oePmem.overBuy },
    },
    source: OE_SOURCE,
    published: -0.16,
    notes: [
      'the text speaks of "two separate PMem servers", the table prices one; −16 % is computed from the table, not published',
      OE_WORKER_NOTE,
    ],
  },
  "openembedding-cache": {
    claim: {
      ...openEmbedding,
      name: "PMem of OpenEmbedding against an LRU cache on PMem",
      a: { ...oePmem, name: "LRU cache on PMem", time: 7.01 },
    },
    source: OE_SOURCE,
    published: 0.24,
    notes: ["both rent the same machine, so all of it is time", OE_WORKER_NOTE],
  },
  "torchrec-uvm": {
    claim: {
      name: "MLPerf DLRM on one A100 with tables in host memory, against eight",
      a: { name: "8 × A100", machine: "p4d.24xlarge", price: BOX, machines: 1, overBuy: 1, time: 4 },
      b: { name: "1 × A100", machine: "an eighth of p4d.24xlarge", price: BOX / 8, machines: 1, overBuy: 1, time: 28 },
      inside: 0,
      outside: 0,
      timeRatio: undefined,
    },
    source: "pytorch/torchrec issue 125: 4 minutes on eight, 28 on one",
    published: 0.125,
    notes: [
      "the saving is computed, not published: it holds if an eighth of a box can be rented for an eighth of its price",
    ],
  },
  "eurosys24-cxl": {
    claim: {
      name: "servers with CXL memory against servers without",
      a: { name: "servers without CXL", machine: "a server", price: 1, machines: 1, overBuy: 1, time: 1 },
      b: {
        name: "servers with CXL",
        machine: "a server with CXL memory",
        price: 1.1,
        machines: 1,
        overBuy: 1,
        time: abstractCost({ dramSpeed: 10, cxlSpeed: 8, dramToCxl: 2, serverCost: 1.1 }).servers,
      },
      inside: 0,
      outside: 0,
      timeRatio: undefined,
    },
    source: "Tang et al., EuroSys 2024, DOI 10.1145/3627703.3650061: the example of the abstract cost model",
    published: 0.2598,
    notes: ["time stands for the servers needed (67.29 % of them); a server without CXL memory costs 1"],
  },
};
