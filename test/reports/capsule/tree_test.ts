import { sha256Hex, treeRoot } from "../../../reports/capsule/tree.ts";
import { assertEquals } from "../../assert.ts";

const hex = (text: string): Uint8Array => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/** The leaves with which implementations of RFC 6962 test themselves. */
const LEAVES = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
  .map(hex);

Deno.test("treeRoot() gives the Merkle tree hashes of RFC 6962's test vectors", () => {
  assertEquals(treeRoot([]), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  assertEquals(treeRoot(LEAVES.slice(0, 1)), "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
  assertEquals(treeRoot(LEAVES.slice(0, 2)), "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125");
  assertEquals(treeRoot(LEAVES.slice(0, 3)), "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77");
  assertEquals(treeRoot(LEAVES), "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328");
});

Deno.test("sha256Hex() sums a text as its UTF-8", () => {
  assertEquals(sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  assertEquals(sha256Hex("é"), sha256Hex(Uint8Array.of(0xc3, 0xa9)));
});
