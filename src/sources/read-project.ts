import { readPsplib } from "./psplib.ts";
import { type ReadOptions, type ReadResult, refusal } from "./result.ts";

/** What a plan can be made for, as people know it. */
const KNOWN = "known are PSPLIB (.sm)";

type Format = "psplib";

/** Reads a file of any known format, recognised by what it says and how it is named. */
export function readProject(bytes: Uint8Array, fileName: string, _options: ReadOptions): ReadResult {
  if (recognise(bytes, fileName) === "psplib") return readPsplib(new TextDecoder().decode(bytes), fileName);
  return refusal(1, `the format is not known; ${KNOWN}`);
}

/** Enough for the head of any format. */
const HEAD_BYTES = 64 * 1024;

function recognise(bytes: Uint8Array, fileName: string): Format | undefined {
  const head = new TextDecoder().decode(bytes.subarray(0, HEAD_BYTES));
  if (/\.(?:sm|mm)$/i.test(fileName) || /^PRECEDENCE RELATIONS:/m.test(head)) return "psplib";
  return undefined;
}
