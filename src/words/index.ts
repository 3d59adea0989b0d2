export { describeChange, type OneToldChange, type ToldChange } from "./changes.ts";
export { decide, decideFor } from "./decider.ts";
export {
  countOf,
  formatBytes,
  formatCores,
  formatCount,
  formatDuration,
  formatMs,
  formatTime,
} from "./quantities.ts";
export { neutralise } from "./safe-text.ts";
export {
  type AttemptOutcome,
  type Decider,
  describeDecider,
  describeEnd,
  describeInput,
  describeNeeds,
  describeNoWinner,
  describeReason,
  describeRecall,
  describeRejected,
  describeRejection,
  describeWait,
  OUTCOME_WORDS,
  SPECULATION_WORDS,
  STATUS_WORDS,
} from "./sentences.ts";
export { describeUnserved, workerCommand } from "./unserved.ts";
