// What waits at a worker while another stands idle: asked for, given back, kept, and not answered.

import { aNode, joins } from "./teller.mjs";

/** @typedef {import("./teller.mjs").Teller} Teller */

const OF_RECALLS = { zone: "recalls" };
const GIVES_BACK = /** @type {const} */ ({ ...OF_RECALLS, givesBack: true });

/** @param {Teller} teller */
export function tellRecalls(teller) {
  teller.configure({ maxQueuePerWorker: 8, strategy: "least-loaded" });
  const nodes = Array.from({ length: 7 }, (_, at) => aNode(`queued ${at}`));
  teller.turn(5, joins("crowded", GIVES_BACK), teller.submission("queue", nodes, OF_RECALLS));
  teller.turn(5, joins("idle", GIVES_BACK));
  teller.turn(150);
  const given = { kind: /** @type {const} */ ("AttemptLost"), startedAt: -1 };
  teller.turn(5, { ...teller.attempt("queue", "queued 6"), ...given });
  teller.turn(5, { ...teller.attempt("queue", "queued 5"), kind: "AttemptStarted" });
  for (const { id } of nodes) teller.turn(30, teller.finished("queue", id));

  const input = aNode("input", { inputs: [], keep: true });
  const readers = Array.from({ length: 4 }, (_, at) =>
    aNode(`reads ${at}`, { inputs: ["input"], type: "read" }),
  );
  teller.turn(5, teller.submission("readers", [input, ...readers], OF_RECALLS));
  const resultHash = teller.parts.core.sha256Hex("input");
  const made = { ...teller.attempt("readers", "input"), resultHash, resultBytes: 16_777_216 };
  teller.turn(5, { kind: "AttemptFinished", ...made, held: true });
  // Without data it would pay by now.
  teller.turn(400, joins("elsewhere"));
  teller.turn(200);
}
