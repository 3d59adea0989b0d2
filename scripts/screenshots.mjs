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
import { findChromium } from "./find-chromium.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = resolve(process.argv[2] ?? join(root, "docs", "images"));
const KEY = "sk-screenshots-0123456789";
const API = "/api/v2/scheduler";

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
    "--json",
    "--log-level",
    "warn",
  ],
  { env: { ...process.env, ORRERY_API_KEY: KEY }, stdio: ["ignore", "pipe", "inherit"] },
);
try {
  const url = await urlOf(server);
  const shown = await fill(url);
  await shoot(url, shown);
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
  /** @type {(path: string, body: object, agent: string) => Promise<{ id: string }>} */
  const post = async (path, body, agent) => {
    const headers = {
      authorization: `Bearer ${KEY}`,
      "content-type": "application/json",
      "x-agent-id": agent,
    };
    const answer = await fetch(`${url}${API}${path}`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    return /** @type {Promise<{ id: string }>} */ (answer.json());
  };
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
  return { ran: ran.id, failed: failed.id, waiting: waiting.id };
}

/**
 * @param {string} url
 * @param {{ ran: string, failed: string, waiting: string }} shown
 */
async function shoot(url, shown) {
  const executablePath = findChromium();
  if (!executablePath) throw new Error("no Chromium; node scripts/chromium.mjs installs it");
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  /** @type {[name: string, path: string, options: import("playwright-core").BrowserContextOptions][]} */
  const pictures = [
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
    ["overview-phone", "/", { viewport: { width: 390, height: 844 } }],
    ["tasks-phone", "/tasks", { viewport: { width: 390, height: 844 } }],
    ["task-phone", `/tasks/${shown.failed}`, { viewport: { width: 390, height: 844 }, colorScheme: "dark" }],
  ];
  for (const [name, path, options] of pictures) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    const page = await context.newPage();
    const session = JSON.stringify(JSON.stringify({ key: KEY }));
    await page.addInitScript({ content: `sessionStorage.setItem("orrery.session", ${session})` });
    await page.goto(url + path);
    await page.locator(".live[data-state=live]").waitFor();
    await sleep(1200);
    await page.screenshot({ path: join(folder, `${name}.png`) });
    await context.close();
  }
  await browser.close();
}
