export { auditHash } from "./audit-hash.ts";
export {
  type AuditStore,
  type Inbox,
  isAway,
  type Leadership,
  type Member,
  type SavedSnapshot,
  type ScheduleStore,
  type ServiceStore,
  type Store,
  type StoredPayload,
  StoreError,
  type TicketStore,
} from "./contract.ts";
export { abandonPostmasters } from "./embedded/postmaster.ts";
export { FileStore } from "./file.ts";
export {
  type DatabaseFacts,
  type DataDirFacts,
  inspectDatabase,
  inspectDataDir,
  USE_SESSIONS,
} from "./inspect.ts";
export { headPath, LedgerFile, readSnapshot, snapshotPath } from "./ledger-file.ts";
export { MemoryStore } from "./memory.ts";
export { newId } from "./new-id.ts";
export { openServiceStore } from "./open.ts";
export {
  type AlternativeTask,
  type ApiKeyRow,
  type AuditRow,
  type ChosenTask,
  type FoundTasks,
  type IdempotencyKey,
  type InboxRow,
  type KeyedTask,
  type ListCursor,
  type LogLine,
  NO_CHANGES,
  type ProgressedTask,
  QUEUED,
  type RefusedRow,
  type Retention,
  ROW_STATUSES,
  type RowChanges,
  type RowStatus,
  type RunRow,
  type ScheduleFired,
  type ScheduleRow,
  type SubmittedTask,
  type TaskFilter,
  type TaskLine,
  type TaskProgress,
  type TaskRow,
  type TaskSearch,
  type Usage,
  waitedMs,
} from "./rows.ts";
export { VersionedRows } from "./versioned-rows.ts";
export type {
  Delivery,
  DeliveryProgress,
  DeliveryRow,
  EndedTask,
  EndsCursor,
  WebhookRow,
  WebhookStore,
} from "./webhook-rows.ts";
