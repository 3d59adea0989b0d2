// How large runs are shown: from the address to the picture of the graph, and how many pictures a second while it is
// moved and zoomed, in a browser without a screen.

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { findChromium } from "../scripts/find-chromium.mjs";
import { measurePast, writeLedger } from "./past.mjs";
import { Apart } from "./queue/apart.mjs";
import { Closers } from "./queue/closers.mjs";
import { interruptible } from "./queue/interruptible.mjs";
import { atLeast, atMost, outcomeOf } from "./report.mjs";
import { median } from "./stats.mjs";

/** @typedef {import("./queue/interruptible.mjs").Surroundings} Surroundings */
/** @typedef {import("./report.mjs").Setting} Setting */
/** @typedef {import("./report.mjs").Row} Row */

/** @type {import("./report.mjs").Bench} */
export const screens = {
  name: "screens",
  summary:
    "how fast the dashboard shows and moves runs of 1,000 and 20,000 nodes, and the past of 100,000 events",
  run: (setting) => interruptible((surroundings) => run(setting, surroundings)),
};

const ROUNDS = 3;
const KEY = "sk-bench-screens-0123456789-and-0123456789";
/** Nodes in layers, each with two needs; and within how many milliseconds it is to be drawn. */
const SIZES = [
  { layers: 20, width: 50, paintMs: 2000 },
  { layers: 40, width: 500, paintMs: 4000 },
];
const LEAST_FRAMES = 30;
const cli = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));

/**
 * @param {Setting} setting
 * @param {Surroundings} surroundings
 */
async function run({ quick, rounds = quick ? 1 : ROUNDS, say }, { folder, signal }) {
  const executablePath = findChromium();
  if (!executablePath) throw new Error("no Chromium; node scripts/chromium.mjs installs it");
  const closers = new Closers();
  const stop = () => void closers.closeAll();
  signal.addEventListener("abort", stop);
  /** @type {Row[]} */
  const rows = [];
  try {
    const url = await serve(closers, join(folder, "runs"));
    const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
    await closers.use(Promise.resolve({ [Symbol.asyncDispose]: () => browser.close() }));
    for (const size of quick ? SIZES.slice(0, 1) : SIZES) {
      const id = await submit(url, size);
      /** @type {Awaited<ReturnType<typeof look>>[]} */
      const found = [];
      for (let round = 0; round < rounds; round++) {
        say(`${size.layers * size.width} nodes, round ${round + 1} of ${rounds}`);
        found.push(await look(browser, `${url}/runs/${id}`));
        signal.throwIfAborted();
      }
      rows.push(...rowsOf(`${size.layers * size.width} nodes`, size.paintMs, found));
    }
    say("writing a long ledger");
    const ledger = await serve(closers, join(folder, "ledger"));
    await writeLedger((path, body) => post(ledger, path, body));
    rows.push(...(await measurePast((path) => openPage(browser, ledger + path), rounds)));
    return outcomeOf(rows, []);
  } finally {
    signal.removeEventListener("abort", stop);
    await closers.closeAll();
    signal.throwIfAborted();
  }
}

/**
 * @param {Closers} closers
 * @param {string} data
 */
async function serve(closers, data) {
  const args = ["serve", "--json", "--store", "memory", "--port", "0", "--data", data];
  const server = new Apart(cli, args, { env: { ORRERY_API_KEY: KEY } });
  await closers.use(Promise.resolve(server));
  return /** @type {{ url: string }} */ (await server.printed()).url;
}

/**
 * @param {string} title
 * @param {number} paintMs
 * @param {readonly Awaited<ReturnType<typeof look>>[]} found
 * @returns {Row[]}
 */
function rowsOf(title, paintMs, found) {
  const row = (/** @type {"paintMs" | "pan" | "zoom" | "rows"} */ key) => {
    const values = found.map((one) => one[key]);
    return { values: { min: Math.min(...values), max: Math.max(...values) }, middle: median(values) };
  };
  const frames = /** @type {const} */ ([
    ["pan", "graph moved"],
    ["zoom", "graph zoomed"],
    ["rows", "times moved"],
  ]);
  const { values, middle } = row("paintMs");
  return [
    { case: title, metric: "address to graph", unit: "ms", ...values, ...atMost(middle, paintMs) },
    ...frames.map(([key, metric]) => {
      const { values: range, middle: value } = row(key);
      return { case: title, metric, unit: "frames/s", ...range, ...atLeast(value, LEAST_FRAMES) };
    }),
  ];
}

/**
 * A run that waits: what is measured is the screen.
 *
 * @param {string} url
 * @param {{ layers: number, width: number }} size
 */
async function submit(url, { layers, width }) {
  /** @type {Record<string, object>} */
  const nodes = {};
  for (let layer = 0; layer < layers; layer++)
    for (let n = 0; n < width; n++)
      nodes[`n${layer}-${n}`] = {
        task: "nothing",
        estimate: "1s",
        ...(layer > 0 && { needs: [`n${layer - 1}-${n}`, `n${layer - 1}-${(n * 13 + 5) % width}`] }),
      };
  return /** @type {{ id: string }} */ (await post(url, "/runs", { graph: { nodes } })).id;
}

/**
 * @param {string} url
 * @param {string} path
 * @param {object} body
 */
async function post(url, path, body) {
  const answer = await fetch(`${url}/api/v2/scheduler${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path} answers ${answer.status}: ${await answer.text()}`);
  return /** @type {unknown} */ (await answer.json());
}

/**
 * A tab of its own, signed in.
 *
 * @param {import("playwright-core").Browser} browser
 * @param {string} address
 */
async function openPage(browser, address) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  const session = JSON.stringify(JSON.stringify({ key: KEY }));
  await page.addInitScript({ content: `sessionStorage.setItem("orrery.session", ${session})` });
  const startedAt = performance.now();
  await page.goto(address, { waitUntil: "commit" });
  return { page, startedAt, close: () => context.close() };
}

/**
 * @param {import("playwright-core").Browser} browser
 * @param {string} address
 */
async function look(browser, address) {
  const { page, startedAt, close } = await openPage(browser, address);
  try {
    const picture = page.locator("[data-frame=graph][data-view] canvas[data-frames]");
    await picture.waitFor({ timeout: 120_000 });
    const paintMs = performance.now() - startedAt;
    // Until the plan is there as well.
    await sleep(2000);
    const pan = await frames(page, "graph", true);
    const zoom = await frames(page, "graph", false);
    return { paintMs, pan, zoom, rows: await frames(page, "gantt", true) };
  } finally {
    await close();
  }
}

/**
 * How often a picture is drawn in a second while a wheel turns.
 *
 * @param {import("playwright-core").Page} page
 * @param {string} picture
 * @param {boolean} isPan
 * @returns {Promise<number>}
 */
async function frames(page, picture, isPan) {
  /** @type {unknown} */
  const rate = await page.evaluate(`(async () => {
    const canvas = document.querySelector("[data-picture=${picture}]");
    const { left, top, width, height } = canvas.getBoundingClientRect();
    const at = { clientX: left + width / 2, clientY: top + height / 2, bubbles: true, cancelable: true };
    const turn = async (by) => {
      canvas.dispatchEvent(new WheelEvent("wheel", { ...at, ...by }));
      await new Promise(requestAnimationFrame);
    };
    // As near as names can be read, so that there is somewhere to move to.
    for (let n = 0; ${isPan} && n < 25; n++) await turn({ deltaY: -100, ctrlKey: true });
    const before = Number(canvas.dataset.frames);
    const startedMs = performance.now();
    for (let n = 0; performance.now() - startedMs < 2000; n++) {
      const way = Math.floor(n / 20) % 2 ? -1 : 1;
      await turn(${isPan} ? { deltaX: 30 * way, deltaY: 20 * way } : { deltaY: -40 * way, ctrlKey: true });
    }
    const rate = ((Number(canvas.dataset.frames) - before) * 1000) / (performance.now() - startedMs);
    canvas.parentElement.querySelector("[aria-label='Show all']").click();
    return rate;
  })()`);
  return Number(rate);
}
