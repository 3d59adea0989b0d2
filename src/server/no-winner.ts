import { alternativeIdOf } from "../core/index.ts";
import { speculationTag } from "../graph/index.ts";
import type { ServiceStore, TaskLine } from "../store/index.ts";
import { describeNoWinner } from "../words/index.ts";

type Failed = Pick<TaskLine, "id" | "zone" | "errorCode" | "errorMessage">;

/**
 * Rows, where those of nodes of which no alternative was taken say why. Such a node knows only that nobody won; how each of
 * its alternatives failed is in the rows of those, and one query finds the first ones of all, the next the second ones.
 */
export async function explainEscalated<Row extends Failed>(
  store: Pick<ServiceStore, "tasks">,
  rows: readonly Row[],
): Promise<readonly Row[]> {
  const failures = new Map<string, (string | undefined)[]>();
  let asked: readonly Row[] = rows.filter(({ errorCode }) => errorCode === "escalated");
  for (let at = 0; asked.length > 0; at++) {
    const found = await alternatives(store, asked, at);
    asked = asked.filter(({ id }) => found.has(id));
    for (const { id } of asked) failures.set(id, [...(failures.get(id) ?? []), found.get(id)?.failure]);
  }
  return rows.map((row) => {
    const ofRow = failures.get(row.id);
    return ofRow ? { ...row, errorMessage: describeNoWinner(ofRow) } : row;
  });
}

/** By the node's task: how its alternative there failed. */
async function alternatives(
  store: Pick<ServiceStore, "tasks">,
  nodes: readonly Failed[],
  at: number,
): Promise<Map<string, { readonly failure: string | undefined }>> {
  const nodeOf = new Map(nodes.map(({ id }) => [alternativeIdOf(id, speculationTag(at)), id]));
  const found = new Map<string, { readonly failure: string | undefined }>();
  // All that a caller sees at once is of one zone.
  const [{ zone } = { zone: "" }] = nodes;
  for (const line of await store.tasks({ zone, among: [...nodeOf.keys()] }, undefined, nodeOf.size)) {
    const failure = line.status === "failed" ? line.errorMessage : undefined;
    found.set(nodeOf.get(line.id) as string, { failure });
  }
  return found;
}
