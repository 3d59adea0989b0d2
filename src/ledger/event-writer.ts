import type { WireSpec } from "../graph/index.ts";
import type { Reason } from "../placement/index.ts";
import type { ByteWriter } from "./byte-writer.ts";
import { encodeEvent, wireReason } from "./codec.ts";
import type { AttemptFinished, LedgerEvent, TaskAssigned, TaskSubmitted } from "./events.ts";

/** Writes what `encodeEvent` gives. The kinds that a task always has are written by hand: they are most of a ledger. */
export function writeEvent(to: ByteWriter, event: LedgerEvent): void {
  switch (event.kind) {
    case "TaskAssigned":
      writeAssigned(to, event);
      break;
    case "AttemptFinished":
      writeFinished(to, event);
      break;
    case "TaskSubmitted":
      writeSubmitted(to, event);
      break;
    default:
      to.text(encodeEvent(event));
  }
}

function writeAssigned(to: ByteWriter, event: TaskAssigned): void {
  to.ascii('["TaskAssigned",');
  to.number(event.run);
  writeNumber(to, event.node);
  writeNumber(to, event.attempt);
  writeNumber(to, event.worker);
  to.ascii(",");
  writeReason(to, event.reason);
  writeNumber(to, event.runnerUp);
  to.ascii(",");
  writeNumbers(to, event.rejected);
  to.ascii("]");
}

function writeReason(to: ByteWriter, reason: Reason): void {
  if (reason.type === "OnlyWorkerAvailable") to.ascii('["OnlyWorkerAvailable"]');
  else if (reason.type === "LeastLoaded") {
    to.ascii('["LeastLoaded"');
    writeNumber(to, reason.queueDepth);
    to.ascii("]");
  } else to.text(JSON.stringify(wireReason(reason)));
}

function writeFinished(to: ByteWriter, event: AttemptFinished): void {
  to.ascii('["AttemptFinished",');
  to.number(event.run);
  writeNumber(to, event.node);
  writeNumber(to, event.attempt);
  writeNumber(to, event.startedAt);
  to.ascii(",");
  to.quoted(event.resultHash);
  writeNumber(to, event.resultBytes);
  const { costMicros, assessment, used, held, movedBytes, transfers, tookMicros } = event;
  if (assessment ?? used ?? held ?? movedBytes ?? transfers) {
    const rest = [costMicros, assessment, used, held, movedBytes, transfers, tookMicros];
    while (rest.at(-1) === undefined) rest.pop();
    to.text(`,${JSON.stringify(rest).slice(1)}`);
    return;
  }
  if (tookMicros !== undefined) {
    if (costMicros === undefined) to.ascii(",null");
    else writeNumber(to, costMicros);
    to.ascii(",null,null,null,null,null");
    writeNumber(to, tookMicros);
  } else if (costMicros !== undefined) writeNumber(to, costMicros);
  to.ascii("]");
}

function writeSubmitted(to: ByteWriter, event: TaskSubmitted): void {
  to.ascii('["TaskSubmitted",');
  to.quoted(event.id);
  to.ascii(",");
  to.quoted(event.agent);
  to.ascii(",");
  to.quoted(event.zone);
  to.ascii(",");
  to.text(specText(event.spec));
  to.ascii(",");
  to.quoted(event.requestState);
  writeNumber(to, event.boostMicros);
  writeNumber(to, event.deadline);
  writeNumber(to, event.runAt);
  to.ascii(",");
  to.quoted(event.requestHash);
  writeNumber(to, event.attempts);
  if (event.requeued !== undefined) to.ascii(`,${event.requeued}`);
  to.ascii("]");
}

const SPEC_TEXTS = new WeakMap<WireSpec, string>();

/** Tasks of one kind share their specification. */
function specText(spec: WireSpec): string {
  let text = SPEC_TEXTS.get(spec);
  if (text === undefined) {
    text = JSON.stringify(spec);
    SPEC_TEXTS.set(spec, text);
  }
  return text;
}

function writeNumber(to: ByteWriter, value: number): void {
  to.ascii(",");
  to.number(value);
}

function writeNumbers(to: ByteWriter, values: readonly number[]): void {
  if (values.length === 0) to.ascii("[]");
  else to.ascii(JSON.stringify(values));
}
