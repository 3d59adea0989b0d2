import { type SavedSnapshot, StoreError } from "../contract.ts";
import type { Reader } from "./reader.ts";
import { sql } from "./sql.ts";

/** In characters: what is written in some milliseconds. */
const CHUNK_LENGTH = 1 << 20;

/** Saves the text of a state in parts, in place of the last snapshot. */
export async function saveSnapshot(
  reader: Reader,
  { head, stateHash, state }: SavedSnapshot,
  pause?: () => Promise<unknown>,
): Promise<void> {
  const { seq, epoch, hash } = head;
  await reader.transaction(async (client) => {
    await client.query({ ...sql("drop-snapshots"), values: [seq] });
    const { rowCount } = await client.query({
      ...sql("save-snapshot"),
      values: [seq, epoch, hash, stateHash],
    });
    if (rowCount === 0) return;
    let at = 0;
    for (const chunk of chunksOf(textsOf(state as object), CHUNK_LENGTH)) {
      if (at > 0) await pause?.();
      await client.query({ ...sql("save-snapshot-chunk"), values: [seq, at++, chunk] });
    }
  });
}

/** Lists of lists have short items. */
const ITEMS_AT_ONCE = 1_000;

/** The JSON of an object with long lists, part by part: the whole takes long to write, and nothing else is done meanwhile. */
export function* textsOf(value: object): Generator<string> {
  let before = "";
  yield "{";
  for (const [key, member] of Object.entries(value) as [string, unknown][]) {
    if (member === undefined) continue;
    yield `${before}${JSON.stringify(key)}:`;
    before = ",";
    if (!Array.isArray(member)) {
      yield JSON.stringify(member);
      continue;
    }
    yield "[";
    const step = Array.isArray(member[0]) ? ITEMS_AT_ONCE : 1;
    for (let from = 0; from < member.length; from += step) {
      const some = JSON.stringify(member.slice(from, from + step)).slice(1, -1);
      yield from === 0 ? some : `,${some}`;
    }
    yield "]";
  }
  yield "}";
}

/** The last snapshot, read part by part. One that is replaced meanwhile is read again from its beginning. */
export async function loadSnapshot(reader: Reader): Promise<SavedSnapshot | undefined> {
  for (;;) {
    const [found] = await reader.rows<{
      seq: number;
      epoch: number;
      hash: string;
      state_hash: string;
      chunks: number;
    }>("load-snapshot", []);
    if (!found) return undefined;
    const { seq, epoch, hash, state_hash: stateHash, chunks } = found;
    const text = await loadText(reader, seq, chunks);
    if (text === undefined) continue;
    try {
      return { head: { epoch, seq, hash }, stateHash, state: JSON.parse(text) as unknown };
    } catch (cause) {
      throw new StoreError("damaged", `the snapshot at ${seq} cannot be read`, cause);
    }
  }
}

async function loadText(reader: Reader, seq: number, chunks: number): Promise<string | undefined> {
  const parts: string[] = [];
  for (let at = 0; at < chunks; at++) {
    const [chunk] = await reader.rows<{ text: string }>("load-snapshot-chunk", [seq, at]);
    if (!chunk) return undefined;
    parts.push(chunk.text);
  }
  return parts.join("");
}

/** The texts together, cut without cutting a character: half a surrogate pair cannot be written as UTF-8. */
export function* chunksOf(texts: Iterable<string>, length: number): Generator<string> {
  let rest = "";
  for (const text of texts) {
    rest += text;
    while (rest.length > length) {
      const last = rest.charCodeAt(length - 1);
      const to = last >= 0xd800 && last < 0xdc00 ? length - 1 : length;
      yield rest.slice(0, to);
      rest = rest.slice(to);
    }
  }
  if (rest !== "") yield rest;
}
