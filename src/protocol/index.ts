// Types alone: the schemas load TypeBox, which takes longer than most commands.
export {
  assignmentOf,
  assignmentsIn,
  assignText,
  type GivenAssignment,
  type GivenData,
  type GivenInput,
} from "./assign-message.ts";
export type {
  AssignedData,
  ChunkHandle,
  ChunkKind,
  InputChunk,
  ResultHandle,
  Transfer,
} from "./chunk-messages.ts";
export {
  type Environment,
  isSecretVariable,
  listedEnvironment,
  ownEnvironment,
} from "./command-environment.ts";
export { type DocumentReader, readDocument } from "./document.ts";
export type { Faults, Path, Problem } from "./faults.ts";
export { type FileNode, META_EXECUTOR, type Work } from "./file-node.ts";
export { type GraphFile, type GraphFileResult, readGraphFile, readGraphValue } from "./graph-file.ts";
export { findJsonError } from "./json-syntax.ts";
export * from "./json-tokens.ts";
export type { CallManner } from "./node-data.ts";
export { isMapping, parseName, refuseUnknownKeys } from "./node-settings.ts";
export { roundedInteger } from "./rounded-integer.ts";
export { closest } from "./suggestion.ts";
export {
  parseCpuMillicores,
  parseDurationMs,
  parseMemoryBytes,
  parsePriority,
  parseTshirtSizeMs,
  type Refusal as UnitRefusal,
  refused,
  shortened,
  shown,
} from "./units.ts";
export type {
  Ack,
  Assessment,
  Assignment,
  Heartbeat,
  LogEntry,
  PollAnswer,
  Progress,
  Recharge,
  Registration,
  Report,
  ServerMessage,
  WorkerMessage,
} from "./worker-messages.ts";
