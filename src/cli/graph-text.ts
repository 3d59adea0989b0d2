import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import { type GraphFile, readGraphFile } from "../protocol/index.ts";
import { NotFoundError, UsageError } from "./errors.ts";

/** A graph file as it was written, and as it was understood: what is wrong with it is said before it is sent. */
export interface GraphText {
  readonly text: string;
  readonly graph: GraphFile;
}

export async function readGraphText(file: string): Promise<GraphText> {
  let source: Buffer;
  try {
    source = await readFile(file);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT") throw new NotFoundError(`${file}: no such file`);
    throw new UsageError(
      `${file}: ${code === "EISDIR" ? "is a directory; name the graph file in it" : message}`,
    );
  }
  const result = readGraphFile(source, file);
  if (result.ok) return { text: new TextDecoder().decode(source), graph: result.graph };
  throw new UsageError(
    result.problems.map(({ line, column, message }) => `${file}:${line}:${column}: ${message}`).join("\n"),
  );
}

/** A server reads long YAML slowly, so it takes no more than this of it. */
const MAX_YAML = 128 * 1024;

export function lightText(text: string): string {
  if (text.length <= MAX_YAML / 2 || text.trimStart().startsWith("{")) return text;
  return JSON.stringify(parse(text));
}
