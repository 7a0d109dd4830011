/** Tables in the words of TorchRec, NeuroShard and FBGEMM. */

import { assert, assertEquals, assertStringIncludes, assertThrows } from "../../assert.ts";
import { type ConfiguredTable, parseTableConfigs, TableConfigError } from "../../../models/planning/table_configs.ts";
import { mutationsOf, RUNTIME_WORDS } from "../../mutations.ts";

const read = (document: unknown) => parseTableConfigs(JSON.stringify(document), "t.json");
const BAG = {
  name: "t_user",
  num_embeddings: 1000,
  embedding_dim: 64,
  data_type: "DataType.FP16",
  feature_names: ["user"],
};
const SHARD = {
  tables: [
    { index: 0, row: 500, dim: 16, pooling_factor: 12, bin_0: 0.4, bin_1: 0.6 },
    { index: 1, row: 100, dim: 32, pooling_factor: 0, bin_0: 0, bin_1: 0 },
  ],
};
const FBGEMM = {
  T: 3,
  E: 80,
  D: 16,
  Es: [70, 90, 90],
  Ds: [16, 32, 32],
  indices_params: { heavy_hitters: [], zipf_q: 1, zipf_s: 1 },
  pooling_params: { L: 4, Ls: [2, 0.5, 3] },
  embedding_specs: [[70, 16], [90, 32]],
  feature_table_map: [0, 1, 1],
};

Deno.test("parseTableConfigs() reads TorchRec's configs, in a list and by name", () => {
  const listed = read([BAG, { name: "t_item", num_embeddings: 5, embedding_dim: 8, pooling_factors: [1.5, 2] }]);
  assertEquals(listed?.form, "TorchRec");
  assertEquals(listed?.tables, [
    { name: "t_user", rows: 1000, dim: 64, dtype: "bf16" },
    { name: "t_item", rows: 5, dim: 8, dtype: "fp32", lookups: 3.5 },
  ]);
  assertEquals(listed?.notes, [
    "FP16 became bf16, which has as many bytes.",
    "1 of 2 tables do not say how many lookups a sample has; a plan takes 1.",
  ]);
  const named = read({ user: { num_embeddings: 9, embedding_dim: 4, pooling_factor: 2 } });
  assertEquals(named, {
    form: "TorchRec",
    tables: [{ name: "user", rows: 9, dim: 4, dtype: "fp32", lookups: 2 }],
    notes: [],
  });
  assertEquals(read({ tables: [BAG] })?.tables[0]?.name, "t_user");
});

Deno.test("parseTableConfigs() reads NeuroShard's and FBGEMM's tables", () => {
  assertEquals(read(SHARD)?.tables, [
    { name: "table0", rows: 500, dim: 16, dtype: "fp32", lookups: 12 },
    { name: "table1", rows: 100, dim: 32, dtype: "fp32" },
  ]);
  const expected: readonly ConfiguredTable[] = [
    { name: "table0", rows: 70, dim: 16, dtype: "fp32", lookups: 2 },
    { name: "table1", rows: 90, dim: 32, dtype: "fp32", lookups: 3.5 },
  ];
  assertEquals(read(FBGEMM)?.tables, expected);
  assertEquals(read({ ...FBGEMM, embedding_specs: null })?.tables, expected);
  const plain = { ...FBGEMM, embedding_specs: null, feature_table_map: null, pooling_params: { L: 4 } };
  assertEquals(read(plain)?.tables.map(({ name, lookups }) => [name, lookups]), [["table0", 4], ["table1", 4], [
    "table2",
    4,
  ]]);
});

Deno.test("parseTableConfigs() takes nothing else for tables, and refuses tables that cannot be", () => {
  for (const other of [[], {}, 5, null, [1], { a: 1 }, { tables: [] }, { tables: [{ rows: 1 }] }]) {
    assertEquals(read(other), undefined);
  }
  assertEquals(parseTableConfigs("{", "t.json"), undefined);
  for (
    const [document, message] of [
      [[{ ...BAG, num_embeddings: 0 }], "tables[0].num_embeddings is 0, expected a whole number above 0"],
      [[{ ...BAG, data_type: "INT8" }], 'tables[0].data_type is "INT8", expected FP32, FP16, BF16'],
      [[BAG, BAG], 'two tables are called "t_user"'],
      [[{ ...BAG, name: "\u001b[31m" }], "which a plan cannot have as a name"],
      [[BAG, 7], "tables[1] is 7, expected an object"],
      [[{ ...BAG, pooling_factor: -1 }], "tables[0].pooling_factor is -1, expected numbers above 0"],
      [{ ...FBGEMM, embedding_specs: null, Ds: [1] }, "Es, Ds and feature_table_map have different lengths"],
      [{ ...FBGEMM, embedding_specs: [[0, 1]] }, "the number of rows of table 0 is 0"],
    ] as const
  ) {
    const error = assertThrows(() => read(document), TableConfigError);
    assertStringIncludes(error.message, message);
  }
});

Deno.test("parseTableConfigs() says what is wrong with damaged tables in words", () => {
  for (const document of [[BAG, { ...BAG, name: "b", pooling_factor: 3 }], SHARD, FBGEMM]) {
    for (const { name, value } of mutationsOf(document, 400, "tables")) {
      try {
        parseTableConfigs(JSON.stringify(value), "t.json");
      } catch (error) {
        assert(error instanceof TableConfigError, `${name}: ${error}`);
        assert(!RUNTIME_WORDS.test(error.message), `${name}: ${error.message}`);
      }
    }
  }
});
