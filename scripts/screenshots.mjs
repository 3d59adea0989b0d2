// Pictures of the dashboard for the documentation, from a real run: `node scripts/screenshots.mjs [FOLDER]`.
// A server on memory with its example worker, tasks of every kind, and a browser that looks at them.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { busyFleet } from "./busy-fleet.mjs";
import { findChromium } from "./find-chromium.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = resolve(process.argv[2] ?? join(root, "docs", "images"));
const KEY = "sk-screenshots-0123456789-0123456789";
const API = "/api/v2/scheduler";

const PHONE = { width: 390, height: 844 };
/** @type {readonly Shot[]} */
const FLEET_PICTURES = [
  ["workers", "/workers", {}],
  ["workers-phone", "/workers", { viewport: PHONE, colorScheme: "dark" }],
  ["worker", "/workers/media-1", { colorScheme: "dark" }],
  ["queues", "/queues", { viewport: { width: 1280, height: 940 } }],
  ["queues-phone", "/queues", { viewport: PHONE }],
  ["keys", "/keys", {}],
  ["cluster", "/cluster", { viewport: { width: 1280, height: 400 }, colorScheme: "dark" }],
];

const CHANGES = [
  { kind: "agent-limit", agent: "barbara", max: 1 },
  { kind: "order", order: "classic" },
];

mkdirSync(folder, { recursive: true });
const server = spawn(
  process.execPath,
  [
    join(root, "dist/cli/main.js"),
    "serve",
    "--store",
    "memory",
    "--port",
    "0",
    "--demo",
    "--shell",
    "--json",
    "--log-level",
    "warn",
  ],
  { env: { ...process.env, ORRERY_API_KEY: KEY }, stdio: ["ignore", "pipe", "inherit"] },
);
try {
  const url = await urlOf(server);
  const shown = await fill(url);
  await shoot(url, picturesOf(shown));
  const end = await busyFleet(root, caller(url), { ORRERY_URL: url, ORRERY_API_KEY: KEY });
  await shoot(url, FLEET_PICTURES);
  await end();
} finally {
  server.kill("SIGTERM");
  await once(server, "exit");
}

/** @param {import("node:child_process").ChildProcess} child */
async function urlOf(child) {
  if (!child.stdout) throw new Error("the server has no output");
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /"url": "(.+?)"/.exec(line)?.[1];
    if (url) return url;
  }
  throw new Error("the server did not start");
}

/**
 * Work of several agents, of which some fails, some waits for room, and some can never run.
 *
 * @param {string} url
 */
async function fill(url) {
  const call = caller(url);
  const post = (/** @type {string} */ path, /** @type {object} */ body, /** @type {string} */ agent) =>
    call("POST", path, body, agent);
  const task = (/** @type {string} */ type, /** @type {object} */ payload, rest = {}) => ({
    executor: "default",
    task_type: type,
    payload,
    ...rest,
  });
  for (let n = 0; n < 60; n++) {
    await post(
      "/submit",
      task("greet", { name: `visitor ${n}` }),
      ["ada", "grace", "edsger"][n % 3] ?? "ada",
    );
    if (n % 5 === 0) await sleep(150);
  }
  const wide = await post("/runs", { name: "wide", graph: { nodes: wideGraph() } }, "grace");
  const nightly = await post("/runs", { name: "nightly", graph: { nodes: nightlyGraph() } }, "ada");
  // Until the longest of its nodes runs.
  await sleep(6000);
  const ran = await post("/submit", task("greet", { name: "you" }), "ada");
  await post("/submit", task("resize_video", { url: "s3://films/1.mp4" }), "grace");
  const slow = { executor: "local", task_type: "command", estimated_service_time: 20 };
  const failed = await post(
    "/submit",
    { ...slow, payload: { command: "echo trying >&2; exit 3" }, retry_backoff: 0.4, max_attempts: 3 },
    "edsger",
  );
  await fetch(`${url}${API}/task/${failed.id}?wait=20`, { headers: { authorization: `Bearer ${KEY}` } });
  const agents = ["ada", "grace", "edsger", "barbara"];
  let waiting = failed;
  for (let n = 0; n < 24; n++) {
    const priority = ["normal", "high", "low", "critical"][n % 4];
    waiting = await post(
      "/submit",
      { ...slow, priority, payload: { command: "sleep 60" } },
      agents[n % 4] ?? "ada",
    );
  }
  await post(
    "/submit",
    { ...slow, payload: { command: "true" }, run_at: new Date(Date.now() + 3_600_000).toISOString() },
    "ada",
  );
  await sleep(1500);
  return { ran: ran.id, failed: failed.id, waiting: waiting.id, nightly: nightly.id, wide: wide.id };
}

/** A graph of commands, of which one fails and one can run nowhere. */
function nightlyGraph() {
  return {
    fetch: { run: "sleep 0.6", estimate: "1s" },
    ...Object.fromEntries(
      [0, 1, 2, 3, 4, 5].map((n) => [
        `clean-${n}`,
        { run: `sleep ${0.3 + (n % 3) * 0.4}`, needs: ["fetch"], estimate: "600ms" },
      ]),
    ),
    check: { run: "echo 3 rows are broken >&2; exit 3", needs: ["clean-1"], estimate: "1s", retries: 0 },
    join: { run: "sleep 1", needs: ["clean-0", "clean-1", "clean-2"], estimate: "500ms" },
    train: { run: "sleep 60", needs: ["clean-3", "clean-4", "clean-5"], estimate: "40s" },
    evaluate: { run: "sleep 2", needs: ["train", "join"], estimate: "15s" },
    report: { run: "sleep 1", needs: ["evaluate", "check"], estimate: "5s" },
    publish: { run: "sleep 1", needs: ["evaluate"], estimate: "5s" },
  };
}

function wideGraph() {
  const node = (/** @type {number} */ layer, /** @type {number} */ n) => [
    `n${layer}-${n}`,
    {
      task: "greet",
      executor: "default",
      payload: { name: "" },
      estimate: "10ms",
      ...(layer > 0 && { needs: [`n${layer - 1}-${n}`, `n${layer - 1}-${(n * 7 + 3) % 40}`] }),
    },
  ];
  const layers = Array.from({ length: 25 }, (_, layer) =>
    Array.from({ length: 40 }, (_, n) => node(layer, n)),
  );
  return Object.fromEntries(layers.flat());
}

/**
 * @param {string} url
 * @returns {Parameters<typeof busyFleet>[1]}
 */
function caller(url) {
  return async (method, path, body, agent) => {
    const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json" };
    const answer = await fetch(`${url}${API}${path}`, {
      method,
      headers: { ...headers, ...(agent !== undefined && { "x-agent-id": agent }) },
      body: JSON.stringify(body),
    });
    return /** @type {Promise<{ id: string }>} */ (answer.json());
  };
}

/** @typedef {[name: string, path: string, options: import("playwright-core").BrowserContextOptions]} Shot */

/**
 * @param {Awaited<ReturnType<typeof fill>>} shown
 * @returns {Shot[]}
 */
function picturesOf(shown) {
  return [
    ["overview", "/", {}],
    ["overview-dark", "/", { colorScheme: "dark" }],
    ["tasks", "/tasks", {}],
    ["tasks-filtered", "/tasks?filter=status:queued,running+class:interactive", { colorScheme: "dark" }],
    ["task-waiting", `/tasks/${shown.waiting}`, {}],
    [
      "task-waiting-phone",
      `/tasks/${shown.waiting}`,
      { viewport: { width: 390, height: 1100 }, colorScheme: "dark" },
    ],
    ["task-failed", `/tasks/${shown.failed}?tab=events`, {}],
    ["task-ran", `/tasks/${shown.ran}?tab=content`, { colorScheme: "dark" }],
    ["runs", "/runs", {}],
    ["run", `/runs/${shown.nightly}?node=train`, { viewport: { width: 1280, height: 1000 } }],
    ["run-dark", `/runs/${shown.nightly}`, { colorScheme: "dark", viewport: { width: 1280, height: 1000 } }],
    ["run-wide", `/runs/${shown.wide}?tab=graph`, {}],
    ["run-table", `/runs/${shown.nightly}?tab=table`, {}],
    ["run-phone", `/runs/${shown.nightly}`, { viewport: { width: 390, height: 1200 } }],
    ["past", "/?at=200", {}],
    ["past-phone", "/tasks?at=200", { viewport: { width: 390, height: 844 }, colorScheme: "dark" }],
    ["ledger", "/ledger?at=200", {}],
    ["what-if", `/what-if?changes=${encodeURIComponent(JSON.stringify(CHANGES))}`, {}],
    ["overview-phone", "/", { viewport: { width: 390, height: 844 } }],
    ["tasks-phone", "/tasks", { viewport: { width: 390, height: 844 } }],
    ["task-phone", `/tasks/${shown.failed}`, { viewport: { width: 390, height: 844 }, colorScheme: "dark" }],
  ];
}

/**
 * @param {string} url
 * @param {readonly Shot[]} pictures
 */
async function shoot(url, pictures) {
  const executablePath = findChromium();
  if (!executablePath) throw new Error("no Chromium; node scripts/chromium.mjs installs it");
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  for (const [name, path, options] of pictures) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    const page = await context.newPage();
    const session = JSON.stringify(JSON.stringify({ key: KEY }));
    await page.addInitScript({ content: `sessionStorage.setItem("orrery.session", ${session})` });
    await page.goto(url + path);
    await page.locator(".live:is([data-state=live], [data-state=past])").waitFor();
    // Until the ledger is replayed, where it is.
    await page.locator(".past-bar input:disabled").waitFor({ state: "detached" });
    if (path.startsWith("/what-if")) {
      await page.locator(".what-if .primary").click();
      await page.locator(".scores").waitFor();
    }
    await sleep(1200);
    await page.screenshot({ path: join(folder, `${name}.png`) });
    await context.close();
  }
  await browser.close();
}
