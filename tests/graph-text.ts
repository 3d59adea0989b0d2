// How the tests of graph files read one.

import { type GraphFile, readGraphFile } from "../src/protocol/index.ts";

export function read(source: string | Uint8Array, fileName = "graph.yaml"): GraphFile {
  const result = readGraphFile(source, fileName);
  if (!result.ok) throw new Error(result.problems.map((problem) => problem.message).join("\n"));
  return result.graph;
}

/** Problems as `line:column path: message`. */
export function problemsOf(
  source: string | Uint8Array,
  fileName = "graph.yaml",
  maxNodes?: number,
): string[] {
  const result = readGraphFile(source, fileName, maxNodes === undefined ? {} : { maxNodes });
  if (result.ok) throw new Error("the file was read");
  return result.problems.map(({ line, column, path, message }) => `${line}:${column} ${path}: ${message}`);
}
