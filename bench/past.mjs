// How a long ledger is looked at in the dashboard: from the address to the first moment, and how many moments a second are shown
// while the line is dragged.

import { atLeast, atMost } from "./report.mjs";
import { median } from "./stats.mjs";

/** @typedef {import("./report.mjs").Row} Row */

/** Three events a task: submitted, asked to be cancelled, cancelled. */
const BATCHES = 34;
const BATCH = 1000;
const OPEN_MS = 2000;
const LEAST_STEPS = 10;
const DRAG_MS = 3000;

/** @param {(path: string, body: object) => Promise<unknown>} post */
export async function writeLedger(post) {
  for (let batch = 0; batch < BATCHES; batch++) {
    const task = { executor: "nobody", task_type: `type-${batch % 5}` };
    await post("/submit/batch", { tasks: Array.from({ length: BATCH }, () => task) });
    // Some stay open, so that there is something to see.
    const limit = BATCH - 50;
    await post("/tasks/bulk", { action: "cancel", filter: "status:queued", limit });
  }
}

/** Where dragging is measured, and what is asked for once at every moment. */
const SCREENS = [
  { path: "/", asks: "/overview" },
  { path: "/tasks", asks: "/tasks" },
];

/**
 * @typedef {object} Opened
 * @property {import("playwright-core").Page} page
 * @property {number} startedAt
 * @property {() => Promise<void>} close
 */

/**
 * @param {(path: string) => Promise<Opened>} open
 * @param {number} rounds
 * @returns {Promise<Row[]>}
 */
export async function measurePast(open, rounds) {
  const title = `${3 * BATCHES},000 events`;
  const openMs = await first(open);
  /** @type {Row[]} */
  const rows = [{ case: title, metric: "address to a moment", unit: "ms", ...atMost(openMs, OPEN_MS) }];
  for (const { path, asks } of SCREENS) {
    /** @type {number[]} */
    const found = [];
    for (let round = 0; round < rounds; round++) found.push(await drag(open, path, asks));
    const range = { min: Math.min(...found), max: Math.max(...found) };
    const metric = `moments while dragging ${path}`;
    rows.push({ case: title, metric, unit: "/s", ...range, ...atLeast(median(found), LEAST_STEPS) });
  }
  return rows;
}

/**
 * The first time that anybody looks: all of the ledger is replayed for it.
 *
 * @param {Parameters<typeof measurePast>[0]} open
 */
async function first(open) {
  const { page, startedAt, close } = await open("/?at=50000");
  try {
    await page.locator(".past-bar[data-past]").waitFor({ timeout: 120_000 });
    await page.locator("[data-total=queued] strong", { hasText: /[1-9]/ }).waitFor({ timeout: 120_000 });
    return performance.now() - startedAt;
  } finally {
    await close();
  }
}

/**
 * @param {Parameters<typeof measurePast>[0]} open
 * @param {string} path
 * @param {string} asks
 */
async function drag(open, path, asks) {
  const { page, close } = await open(`${path}?at=50000`);
  try {
    const line = page.getByLabel("Moment of the ledger");
    await page.locator(".past-bar[data-past]").waitFor({ timeout: 120_000 });
    // Before that there is nothing to be dragged.
    await page.locator(".past-bar input:disabled").waitFor({ state: "detached" });
    const box = await line.boundingBox();
    if (!box) throw new Error("there is no line to drag on");
    /** @type {Set<string>} */
    const shown = new Set();
    page.on("response", (response) => {
      const { pathname, searchParams } = new URL(response.url());
      if (response.ok() && pathname.endsWith(asks)) shown.add(searchParams.get("at") ?? "");
    });
    const y = box.y + box.height / 2;
    await page.mouse.move(box.x + box.width / 4, y);
    await page.mouse.down();
    shown.clear();
    const startedAt = performance.now();
    for (let passed = 0; passed < DRAG_MS; passed = performance.now() - startedAt) {
      // To and fro over half of it, as somebody who looks for a moment.
      const part = Math.abs((((passed / DRAG_MS) * 4) % 2) - 1);
      await page.mouse.move(box.x + (box.width * (1 + 2 * part)) / 4, y);
    }
    const rate = (shown.size * 1000) / (performance.now() - startedAt);
    await page.mouse.up();
    return rate;
  } finally {
    await close();
  }
}
