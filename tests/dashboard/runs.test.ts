import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { layOut, NODE_HEIGHT, NODE_WIDTH } from "../../dashboard/src/screens/run/layout.ts";
import { DEFAULT_SPECULATION } from "../../src/graph/index.ts";
import { task } from "../../src/worker/index.ts";
import { directoryWith, startOrrery } from "../cli.ts";
import { ADMIN_KEY, TestService } from "../service.ts";
import { seriousFindings, TestBrowser, type Watched } from "./browser.ts";

const SETTINGS = { config: { speculation: DEFAULT_SPECULATION } };
/** Functions for a worker of its own: chunks are between processes. */
const TASKS = `
  import { graph } from ${JSON.stringify(new URL("../../dist/client/index.js", import.meta.url).href)};
  export const bytes = (length) => Buffer.alloc(length, 1);
  export const length = (value) => value.length;
  export const grow = (value) => {
    const g = graph();
    return g.expand(g.task(length, "abc"));
  };
`;

let browser: TestBrowser;
let service: TestService;
let worker: AsyncDisposable;
let folder: string;
const gates = new Map<string, () => void>();

beforeAll(async () => {
  [browser, service] = await Promise.all([TestBrowser.start(), TestService.start("memory", SETTINGS)]);
  folder = await directoryWith({});
  worker = service.worker(
    {
      quick: task(() => 1),
      wrong: task(() => {
        throw Object.assign(new Error("it went wrong"), { retry: false });
      }),
      patch: task((_, { alternative, assess }) => {
        const isBest = alternative === "speculate:alt1";
        assess({ verified: true, confidence: isBest ? 1 : 0.1, lines: isBest ? 3 : 40, risk: "low" });
        return alternative ?? "";
      }),
      // Ends when it is let, or told to stop.
      gated: task<{ name: string }>(({ name }, { signal }) =>
        Promise.race([new Promise<void>((resolve) => gates.set(name, resolve)), once(signal, "abort")]),
      ),
    },
    { slots: 4 },
  );
});
afterAll(async () => {
  for (const open of gates.values()) open();
  await browser[Symbol.asyncDispose]();
  await worker[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

const look = (path: string, options = {}): Promise<Watched> =>
  browser.look(service.server.url, path, { key: ADMIN_KEY, ...options });

interface NodeOf {
  readonly task: string;
  readonly needs?: readonly string[];
  readonly payload?: object;
  readonly args?: readonly unknown[];
  readonly speculate?: boolean;
  readonly resources?: object;
  readonly dynamic?: number;
  readonly keep?: boolean;
}

const submit = async (nodes: Readonly<Record<string, NodeOf>>, name = "nightly"): Promise<string> => {
  const all = Object.entries(nodes).map(([id, node]) => [id, { executor: "default", retries: 0, ...node }]);
  return (await service.post("runs", { name, graph: { nodes: Object.fromEntries(all) } })).body.id;
};

/** Where the middle of a node is drawn, as the picture says that it is seen. */
async function placeOf(page: Page, runId: string, node: number): Promise<readonly [number, number]> {
  const { nodes, edges } = (await service.get(`runs/${runId}/graph`)).body;
  const layout = layOut({ size: nodes.length, edges });
  const frame = page.locator("[data-frame=graph][data-view]");
  const [x = 0, y = 0, scale = 1] = String(await frame.getAttribute("data-view"))
    .split(" ")
    .map(Number);
  return [
    x + ((layout.x[node] as number) + NODE_WIDTH / 2) * scale,
    y + ((layout.y[node] as number) + NODE_HEIGHT / 2) * scale,
  ];
}

/** The colour of a point of a picture, as the style sheets name it; its own where they do not. */
function colourAt(page: Page, picture: string, x: number, y: number): Promise<string> {
  return page.evaluate(`(() => {
    const canvas = document.querySelector("[data-picture=${picture}]");
    const at = [${x} * devicePixelRatio, ${y} * devicePixelRatio, 1, 1];
    const bytes = [...canvas.getContext("2d").getImageData(...at).data].slice(0, 3);
    const found = "#" + bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
    const style = getComputedStyle(canvas);
    const names = ["running-bar", "completed-bar", "failed-bar", "selected", "surface"];
    return names.find((name) => style.getPropertyValue("--" + name).trim() === found) ?? found;
  })()`);
}

/** Inside of the chip that shows the status of a node, beside its shape. */
async function chipOf(page: Page, runId: string, node: number): Promise<string> {
  const [x, y] = await placeOf(page, runId, node);
  const scale = Number(
    String(await page.locator("[data-frame=graph]").getAttribute("data-view")).split(" ")[2],
  );
  return colourAt(page, "graph", x - (NODE_WIDTH / 2 - 4) * scale, y - (NODE_HEIGHT / 2 - 5) * scale);
}

/** The bar of a node by time, just behind where it begins. */
async function barOf(page: Page, runId: string, node: number, row: number): Promise<string> {
  const { started } = (await service.get(`runs/${runId}/graph/nodes`)).body;
  const [from = 0, to = 1, left = 0, width = 0] = String(
    await page.locator("[data-frame=gantt]").getAttribute("data-scale"),
  )
    .split(" ")
    .map(Number);
  const x = left + ((started[node] - from) / (to - from)) * width;
  return colourAt(page, "gantt", x + 1, 22 + row * 22 + 10);
}

test("runs are listed as they come, and lead to each", async () => {
  await using tab = await look("/runs");
  const { page } = tab;
  await page.getByText("Nobody has submitted a run").waitFor();
  await page.locator(".live[data-state=live]").waitFor();
  const id = await submit({ a: { task: "quick" }, b: { task: "quick", needs: ["a"] } }, "first");
  const row = page.locator(`[data-run="${id}"]`);
  await row.locator("td [data-status=completed]").first().waitFor();
  await row.locator(".counts", { hasText: "2 completed" }).waitFor();
  await row.getByRole("link", { name: "first" }).click();
  await page.getByRole("heading", { name: "first" }).waitFor();
  expect(new URL(page.url()).pathname).toBe(`/runs/${id}`);
  expect(tab.complaints).toEqual([]);
});

test("graph and times follow what happens, and what is selected in one is marked in all", async () => {
  const node = (name: string, needs: string[] = []) => ({ task: "gated", payload: { name }, needs });
  const id = await submit({
    fetch: node("fetch"),
    clean: node("clean", ["fetch"]),
    sum: node("sum", ["clean"]),
  });
  await expect.poll(() => gates.has("fetch")).toBe(true);
  await using tab = await look(`/runs/${id}`);
  const { page } = tab;
  await page.locator(".live[data-state=live]").waitFor();
  await expect.poll(() => chipOf(page, id, 0)).toBe("running-bar");
  await expect.poll(() => barOf(page, id, 0, 0)).toBe("running-bar");
  const { seq } = (await service.get("ledger/head")).body;
  gates.get("fetch")?.();
  await expect.poll(() => chipOf(page, id, 0), { timeout: 10_000 }).toBe("completed-bar");
  await expect.poll(() => chipOf(page, id, 1)).toBe("running-bar");
  await expect.poll(() => barOf(page, id, 0, 0)).toBe("completed-bar");
  await page.locator("[data-count-of=completed] b", { hasText: "1" }).waitFor();

  const [x, y] = await placeOf(page, id, 1);
  await page.locator("[data-picture=graph]").click({ position: { x, y } });
  const panel = page.getByRole("complementary", { name: "The selected node" });
  await panel.getByRole("heading", { name: "clean" }).waitFor();
  await panel.locator("[data-fact=why]", { hasText: "only worker available" }).waitFor();
  expect(new URL(page.url()).searchParams.get("node")).toBe("clean");
  // The row of the other picture has the background of what is selected.
  const background = () => colourAt(page, "gantt", 3, 22 + 22 + 11);
  await expect.poll(background).toBe("selected");
  await page.locator("[data-picture=gantt]").focus();
  await page.keyboard.press("ArrowDown");
  await panel.getByRole("heading", { name: "sum" }).waitFor();
  await expect.poll(background).not.toBe("selected");
  await page.locator("[data-picture=graph]").focus();
  await page.keyboard.press("ArrowLeft");
  await panel.getByRole("heading", { name: "clean" }).waitFor();
  await panel.locator("[data-link=task]").click();
  await page.getByRole("heading", { name: "clean" }).waitFor();
  await page.getByRole("link", { name: id }).click();
  await page.locator("[data-picture=graph]").waitFor();
  await page.keyboard.press("c");
  await page.getByRole("button", { name: "Cancel this run" }).click();
  await page.locator("h1 [data-status=cancelled]").waitFor();
  await page.locator("[data-count-of=cancelled], [data-count-of=skipped]").first().waitFor();
  expect(tab.complaints).toEqual([]);

  // As it was: nothing of what came later, and nothing that could be done about it.
  // A browser complains of each answer that it is still being replayed.
  await expect.poll(async () => (await service.get(`runs/${id}?at=${seq}`)).status).toBe(200);
  await using then = await look(`/runs/${id}?at=${seq}`);
  await expect.poll(() => chipOf(then.page, id, 0)).toBe("running-bar");
  await then.page.locator("h1 [data-status=running]").waitFor();
  expect(await then.page.locator("[data-count-of=completed]").count()).toBe(0);
  expect(await then.page.getByRole("button", { name: "Cancel", exact: true }).isDisabled()).toBe(true);
  await then.page.getByText("Export", { exact: true }).click();
  await then.page.getByRole("button", { name: "Nodes (CSV)" }).waitFor();
  expect(await then.page.getByRole("button", { name: "Events (NDJSON)" }).count()).toBe(0);
  expect(then.complaints).toEqual([]);
});

test("the table has what the pictures show, and is sorted by any column", async () => {
  const id = await submit({
    good: { task: "quick" },
    bad: { task: "wrong" },
    after: { task: "quick", needs: ["bad"] },
    never: { task: "unknown" },
  });
  await using tab = await look(`/runs/${id}?tab=table`);
  const { page } = tab;
  await page.locator("[data-row=bad] [data-status=failed]").waitFor();
  await page.locator("[data-row=after] [data-status=skipped]").waitFor();
  await page.getByRole("list", { name: "Stuck nodes" }).getByRole("link", { name: "never" }).waitFor();
  await page.getByRole("columnheader", { name: "node" }).getByRole("button").click();
  const names = () => page.locator("[data-row]").evaluateAll((rows) => rows.map((row) => row.dataset["row"]));
  await expect.poll(names).toEqual(["after", "bad", "good", "never"]);
  await page.getByRole("columnheader", { name: "node" }).getByRole("button").click();
  await expect.poll(names).toEqual(["never", "good", "bad", "after"]);
  await page.locator("[data-row=bad]").getByRole("button").click();
  await page.getByRole("complementary").getByText("it went wrong").waitFor();
  await page.getByRole("link", { name: "to be filtered" }).click();
  await expect.poll(() => new URL(page.url()).searchParams.get("filter")).toBe(`run:${id}`);
  await service.post(`runs/${id}/cancel`);
  expect(tab.complaints).toEqual([]);
});

test("[G-08] ways in which a node was tried are shown with their scores and the one that was taken", async () => {
  const id = await submit({
    patch: { task: "patch", speculate: true, resources: { cpu: 0.1 } },
    ship: { task: "quick", needs: ["patch"] },
  });
  await service.get(`runs/${id}?wait=20`);
  expect((await service.get(`runs/${id}/graph/nodes`)).body.tried).toEqual([
    { node: 0, alternatives: 2, open: 0, winner: "speculate:alt1" },
  ]);
  await using tab = await look(`/runs/${id}?node=patch`);
  const { page } = tab;
  await page.getByText("alt1 was taken, by score.").waitFor();
  await page.locator(".alternatives [data-winner]", { hasText: "alt1" }).waitFor();
  const totals = await page.locator(".alternatives tbody td:last-child").allTextContents();
  expect(Number(totals[1])).toBeGreaterThan(Number(totals[0]));
  expect(tab.complaints).toEqual([]);
});

test("[D-12] data that nodes hand on, and nodes that they added, are shown and led to", async () => {
  await writeFile(join(folder, "tasks.mjs"), TASKS);
  const args = ["worker", "--server", service.server.url, "--tasks", "tasks.mjs", "--quiet"];
  const helper = startOrrery(folder, args, { ORRERY_API_KEY: ADMIN_KEY });
  try {
    const id = await submit({
      make: { task: "bytes", args: [200_000], keep: true },
      grow: { task: "grow", args: [{ node: "make" }], dynamic: 5 },
    });
    await using tab = await look(`/runs/${id}?node=make`);
    const { page } = tab;
    await page.locator("h1 [data-status=completed]").waitFor();
    await page.getByRole("complementary").getByText("195 KiB").waitFor();
    await page.locator('[data-fact="held on workers"]').waitFor();
    await page.getByRole("button", { name: /grow/ }).click();
    await page.getByRole("link", { name: "the run of these" }).click();
    await page.getByRole("link", { name: "grow", exact: true }).click();
    await page.getByRole("complementary").getByRole("heading", { name: "grow" }).waitFor();
    await page.getByRole("button", { name: "Release", exact: true }).click();
    await page.getByRole("button", { name: "Release its results" }).click();
    await page.locator('[data-fact="held on workers"]', { hasText: /^0 B$/ }).waitFor();
    expect(tab.complaints).toEqual([]);
  } finally {
    helper.child.kill("SIGTERM");
    await helper.finished;
  }
});

test("a run is taken away as files that need nothing else, and that no spreadsheet computes", async () => {
  const nodes = { "=1+1": { task: "quick" }, 'b "<&>"': { task: "wrong", needs: ["=1+1"] } };
  const id = await submit(nodes, "<nightly>");
  await service.get(`runs/${id}?wait=20`);
  await using tab = await look(`/runs/${id}`);
  const { page } = tab;
  await page.locator("[data-view]").waitFor();
  const taken = async (name: string): Promise<{ readonly path: string; readonly text: string }> => {
    await page.getByText("Export", { exact: true }).click();
    const coming = page.waitForEvent("download");
    await page.getByRole("button", { name }).click();
    const path = join(folder, (await coming).suggestedFilename());
    await (await coming).saveAs(path);
    return { path, text: await readFile(path, "utf8") };
  };
  const [heads, first, second] = (await taken("Nodes (CSV)")).text.split("\r\n");
  expect(heads).toMatch(/^node,state,/);
  expect(first).toMatch(/^'=1\+1,completed,quick,default,1,/);
  expect(second).toMatch(/^"b ""<&>""",failed,.*,it went wrong,'=1\+1$/);
  const lines = (await taken("Nodes (NDJSON)")).text.trim().split("\n");
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { node: "=1+1", state: "completed" },
    { node: 'b "<&>"', state: "failed", needs: ["=1+1"], error_message: "it went wrong" },
  ]);
  const events = (await taken("Events (NDJSON)")).text.trim().split("\n");
  expect(events.map((line) => JSON.parse(line).kind)).toContain("AttemptFailed");
  const { traceEvents } = JSON.parse((await taken("Trace (for Perfetto)")).text);
  expect(traceEvents.filter(({ ph }: { ph: string }) => ph === "X")).toMatchObject([
    { name: "=1+1", cat: "finished" },
    { name: 'b "<&>"', cat: "failed" },
  ]);
  for (const name of ["Graph (SVG)", "Gantt (SVG)"]) {
    const { text } = await taken(name);
    expect(text).toContain("b &#34;&#60;&#38;&#62;&#34;");
    expect(text).not.toMatch(/var\(--|href|NaN|undefined/);
  }
  const report = await taken("Report (HTML)");
  expect(tab.complaints).toEqual([]);
  const offlineOnly = { key: null, offline: true, javaScriptEnabled: false };
  await using offline = await browser.look(pathToFileURL(report.path).href, "", offlineOnly);
  await offline.page.getByRole("heading", { name: "<nightly>" }).waitFor();
  await offline.page.getByRole("listitem").getByText("it went wrong").waitFor();
  expect(await offline.page.locator("figure svg").count()).toBe(2);
  expect(await offline.page.getByRole("row").count()).toBe(3);
  expect(offline.complaints).toEqual([]);
});

test.each(["light", "dark"] as const)(
  "on a phone and in %s colours nothing is cut off, or hard to perceive or to reach",
  async (colorScheme) => {
    const id = await submit({ a: { task: "quick" }, b: { task: "wrong", needs: ["a"] } });
    await service.get(`runs/${id}?wait=20`);
    const options = { colorScheme, viewport: { width: 390, height: 780 } };
    const others = colorScheme === "light" ? ["/runs", `/runs/${id}?tab=table`] : [];
    for (const path of [`/runs/${id}?node=b`, ...others]) {
      await using tab = await look(path, options);
      await tab.page.locator("main :is([data-run], [data-view], [data-row])").first().waitFor();
      await tab.page.locator(".live[data-state=live]").waitFor();
      const overflow = await tab.page.evaluate("document.documentElement.scrollWidth - innerWidth");
      expect(overflow, path).toBeLessThanOrEqual(0);
      expect(await seriousFindings(tab.page), path).toEqual([]);
      expect(tab.complaints, path).toEqual([]);
    }
  },
);
