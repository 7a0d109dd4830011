// Run by gc_test.ts with --v8-flags=--expose-gc: forgets stores and prints what was freed, as JSON.
import { handleOf, NativeHandle, own } from "../../ffi/handle.ts";
import { EmbeddingStore, type Table } from "../../ffi/store.ts";

const collect = (globalThis as unknown as { gc(): void }).gc;

/** Collects garbage and lets finalizers run. */
async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

let freed = 0;

function forgetOwners(): void {
  for (let i = 0; i < 100; i++) own({}, new NativeHandle("store", BigInt(i), () => (freed++, 0)));
}

/** Handles stay reachable here while their stores are forgotten, so that one can see that they were closed. */
function forgetStores(): NativeHandle[] {
  return Array.from({ length: 20 }, () => handleOf(EmbeddingStore.open({ storage: "DRAM", size: ["1 MiB"] }), "store"));
}

function keepTable(): Table {
  return EmbeddingStore.open({ storage: "DRAM" }).table({ name: "t", dim: 2, initializer: 5 });
}

forgetOwners();
const handles = forgetStores();
const table = keepTable();
await settle();
const closed = handles.filter((handle) => handle.closed).length;
console.log(JSON.stringify({ freed, closed, rows: [...table.lookup([1])] }));
