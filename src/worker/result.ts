import { decode, isByteStream } from "../chunks/index.ts";
import { EncodedResult } from "./encoded-result.ts";
import { PermanentError } from "./permanent-error.ts";

/** What a task may return, as JSON in UTF-8. Larger things belong into a store of their own, and their address here. */
export const MAX_RESULT_BYTES: number = 1024 * 1024;

/** Servers read nothing that is nested deeper than 100, and a result travels inside a few objects. */
const MAX_DEPTH = 90;

/** A copy that no longer changes with the handler's own objects; undefined where there is no result. */
export function jsonResult(given: unknown): unknown {
  const value = given instanceof EncodedResult ? decode(given.encoded) : given;
  if (value === undefined) return undefined;
  if (isByteStream(value))
    throw notJson("a stream is for nodes of runs in which results are inputs of others");
  const text = jsonText(value);
  if (text === undefined) throw notJson(`a ${typeof value} is not JSON`);
  if (Buffer.byteLength(text) > MAX_RESULT_BYTES) throw resultTooLarge();
  const copy = JSON.parse(text) as unknown;
  if (isDeeperThan(MAX_DEPTH, copy)) throw notJson(`it is nested more than ${MAX_DEPTH} deep`);
  return copy;
}

/** The same payload gives the same result, most likely, so none of these is tried again. */
export function resultTooLarge(): PermanentError {
  return new PermanentError("the result is larger than 1 MiB", { code: "result-too-large" });
}

/** Beside the scheduler nothing is kept. */
export function metaTooLarge({ bytes }: { readonly bytes: number }): PermanentError {
  return new PermanentError(
    `the result of a meta node must fit into 16 KiB, and has ${bytes} bytes; let another node make it`,
    { code: "result-too-large" },
  );
}

function notJson(why: string): PermanentError {
  return new PermanentError(`the result cannot be sent: ${why}`, { code: "result-not-json" });
}

function isDeeperThan(depth: number, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return depth === 0 || Object.values(value).some((inner) => isDeeperThan(depth - 1, inner));
}

function jsonText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value) as string | undefined;
  } catch (error) {
    throw notJson((error as Error).message);
  }
}
