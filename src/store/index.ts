export { type SavedSnapshot, type Store, StoreError } from "./contract.ts";
export { FileStore } from "./file.ts";
export { headPath, LedgerFile, readSnapshot, snapshotPath } from "./ledger-file.ts";
export { MemoryStore } from "./memory.ts";
