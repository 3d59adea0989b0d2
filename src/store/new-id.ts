import { randomFillSync } from "node:crypto";
import { TimeIds } from "../core/index.ts";

const ids = new TimeIds((bytes) => randomFillSync(bytes));

/** An id for what comes into being now: it sorts after those that this process made before. */
export function newId(): string {
  return ids.next(Date.now());
}
