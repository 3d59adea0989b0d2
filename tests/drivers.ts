import { Driver } from "../src/driver/driver.ts";
import type { DriverOptions } from "../src/driver/driver-options.ts";
import type { Block } from "../src/ledger/index.ts";
import { DEFAULT_CONFIG } from "../src/scheduler/index.ts";
import { MemoryStore, type Store } from "../src/store/index.ts";

/** A memory store whose commits wait until they are let through, or fail. */
export class GatedStore extends MemoryStore {
  readonly gates: ((how: "commit" | "refuse" | "throw") => void)[] = [];
  gated = false;

  override async commit(block: Block): Promise<boolean> {
    if (!this.gated) return super.commit(block);
    const how = await new Promise<"commit" | "refuse" | "throw">((resolve) => this.gates.push(resolve));
    if (how === "throw") throw new Error("disk full");
    return how === "commit" && super.commit(block);
  }
}

export const worker = {
  id: "w1",
  endpoint: "",
  zone: "z",
  zones: [],
  executors: ["local"],
  capabilities: [],
  cpuMillicores: 1000,
  memoryBytes: 0,
  slots: 1,
};

export const oneNode = {
  kind: "RunSubmitted",
  name: "one",
  agent: "a",
  zone: "z",
  onFailure: "continue",
  graph: {
    specs: [["noop", "local", 1000, 0, 1000, 2, [], 2, 50, 0, 0]],
    ids: ["only"],
    spec: [0],
    needs: [[]],
    requests: [],
    done: [],
  },
} as const;

export function openDriver(store: Store, overrides: Partial<DriverOptions> = {}): Promise<Driver> {
  return Driver.open({
    store,
    config: DEFAULT_CONFIG,
    clock: Date.now,
    onCommitted: () => {},
    onFailed: () => {},
    ...overrides,
  });
}

export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
