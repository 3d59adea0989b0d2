// Reads large bodies beside the main thread, and hands their content over in slices.

import { parentPort } from "node:worker_threads";
import type { TaskSubmission } from "../api.ts";
import type { FromBodyThread, ToBodyThread } from "./body-messages.ts";
import { Problem } from "./problems.ts";
import { type BodyContent, readBody } from "./read-body.ts";

/** Tasks or nodes of a slice. Small requests wait for all work on one slice: with 500 items that took 70 to 300 ms, with 100 up to 50 ms. */
const SLICE_ITEMS = 100;
const SLICE_CHARACTERS = 1024 * 1024;

const held = new Map<number, { readonly items: BodyContent["items"]; next: number }>();

parentPort?.on("message", (message: ToBodyThread) => {
  if (message.type === "read") read(message);
  else if (message.type === "next") sendSlice(message.id);
  else held.delete(message.id);
});

function read({ id, form, bytes }: ToBodyThread & { type: "read" }): void {
  try {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
    const content = readBody(form, text);
    held.set(id, { items: content.items, next: 0 });
    say({ type: "read", id, run: content.of === "run" ? content.run : undefined });
  } catch (error) {
    if (error instanceof Problem) {
      const { code, message: detail, errors } = error;
      say({ type: "refused", id, problem: { code, detail, errors } });
    } else say({ type: "failed", id, error: (error as Error).stack ?? String(error) });
  }
}

function sendSlice(id: number): void {
  const body = held.get(id);
  if (!body) return;
  const { items } = body;
  let end = body.next;
  let characters = 0;
  while (end < items.length && end - body.next < SLICE_ITEMS && characters < SLICE_CHARACTERS) {
    characters += (items[end] as Partial<TaskSubmission>).payload?.length ?? 0;
    end++;
  }
  const isLast = end >= items.length;
  const slice = items.slice(body.next, end);
  body.next = end;
  if (isLast) held.delete(id);
  say({ type: "slice", id, items: slice, isLast });
}

function say(message: FromBodyThread): void {
  parentPort?.postMessage(message);
}
