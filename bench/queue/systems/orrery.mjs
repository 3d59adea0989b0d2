// Orrery as a library in the process that measures, as the others are, with its ledger and fair share.

import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { localCaller } from "../../../dist/embedded/index.js";
import { open, task } from "../../../dist/index.js";
import { askNumber } from "../postgres.mjs";
import { Tally } from "../tally.mjs";
import { taskOf } from "../tasks.mjs";
import { warn } from "../warn.mjs";

/** @typedef {import("../system.mjs").System} System */

const ZONE = "default";
const AGENTS = 64;
const LIMIT = 100;
const PREFETCH = 512;
const SLOTS = 64;
const BACKLOG_LIMIT = 10_000_000;

/** @type {System} */
export const orrery = {
  name: "orrery",
  keptIn: "postgresql",
  packages: [],
  settings: {
    submit: `fair share ${LIMIT} per agent; many: api.submit`,
    drain: `${AGENTS} agents with at most ${LIMIT} running each, prefetch ${PREFETCH} (maxQueuePerWorker), ${SLOTS} slots`,
    latency: `fair share ${LIMIT} per agent, no prefetch, ${SLOTS} slots`,
  },
  extraInFlight: [256],
  open: openOrrery,
  countCompleted: ({ url }) => askNumber(url, "select count(*) from orrery.tasks where status = 2"),
};

/** @type {System["open"]} */
async function openOrrery({ place, purpose, onStart }, closers) {
  const started = new Tally();
  const run = () => {
    onStart();
    started.add();
  };
  const maxQueuePerWorker = purpose === "drain" ? PREFETCH : 0;
  const library = await closers.use(
    open({
      store: place.url,
      ...(purpose !== "submit" && { tasks: { noop: task(run) }, slots: SLOTS }),
      settings: { config: { fairShare: LIMIT, backlogLimit: BACKLOG_LIMIT, maxQueuePerWorker } },
      warn,
    }),
  );
  const admin = localCaller(ZONE);
  if (purpose === "drain") await library.api.setPaused(admin, undefined, true);
  let count = 0;
  return {
    submit: () => library.submit("noop", { n: count++ }),
    submitMany: (many) => submitAs(library, "batch", many),
    async load(many) {
      for (let agent = 0; agent < AGENTS; agent++) {
        const share = Math.floor((many * (agent + 1)) / AGENTS) - Math.floor((many * agent) / AGENTS);
        await submitAs(library, `agent-${agent}`, share);
      }
    },
    async begin() {
      await library.api.setPaused(admin, undefined, false);
      return () => library.api.setPaused(admin, undefined, true);
    },
    async completed(many) {
      await started.reaches(many);
      // A read waits for the commit that is under way. This one does not look at what waits.
      while ((await library.api.overview(admin)).ended.completed < many) await sleep(1);
    },
    async writeLedger(file) {
      await library.api.setPaused(admin, undefined, true);
      await pipeline(Readable.from(library.api.ledger()), createWriteStream(file));
    },
  };
}

/**
 * @param {import("../../../dist/index.js").Orrery} library
 * @param {string} agent
 * @param {number} count
 */
async function submitAs({ api }, agent, count) {
  const answers = await api.submit(
    localCaller(ZONE, agent),
    Array.from({ length: count }, (_, at) => taskOf(at)),
  );
  const refused = answers.find(({ accepted }) => !accepted);
  if (refused) throw new Error(`a submission was refused: ${JSON.stringify(refused)}`);
}
