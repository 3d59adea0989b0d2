// The graphs of functions that are measured, as a client submits them: every need is an argument.

/** @typedef {import("../graphs.mjs").Needs} Needs */
/** @typedef {Record<string, { task: string, args: unknown[] }>} Nodes */

/** @param {Nodes} nodes */
export function graphFile(nodes) {
  return { defaults: { executor: "default", resources: { cpu: 0 } }, nodes };
}

/** @param {Needs} needs */
export function noOpGraph(needs) {
  /** @type {Nodes} */
  const nodes = {};
  for (const [node, of] of needs.entries())
    nodes[`noop-${node}`] = { task: "noop", args: of.map((need) => ({ node: `noop-${need}` })) };
  return graphFile(nodes);
}
