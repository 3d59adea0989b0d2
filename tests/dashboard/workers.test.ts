import { once } from "node:events";
import { afterAll, beforeAll, expect, test } from "vitest";
import { task } from "../../src/worker/index.ts";
import { ADMIN_KEY, TestService } from "../service.ts";
import { seriousFindings, TestBrowser, type Watched } from "./browser.ts";

let browser: TestBrowser;
let service: TestService;
let worker: AsyncDisposable;
let annsKey: string;

beforeAll(async () => {
  [browser, service] = await Promise.all([TestBrowser.start(), TestService.start("memory")]);
  const made = await service.post("keys", {
    name: "ann",
    scopes: ["read", "submit"],
    zones: ["default"],
    agents: ["ann"],
  });
  annsKey = made.body.secret;
  worker = service.worker(
    {
      quick: task(() => 1),
      wrong: task(() => {
        throw Object.assign(new Error("it went wrong"), { retry: false });
      }),
      long: task((_, { signal }) => once(signal, "abort")),
    },
    { slots: 3 },
  );
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await worker[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

const look = (path: string, options = {}): Promise<Watched> =>
  browser.look(service.server.url, path, { key: ADMIN_KEY, ...options });

const submit = async (type: string, agent = "ann"): Promise<string> =>
  (await service.submit({ executor: "default", task_type: type }, { agent })).body.id;

const ended = (id: string) => service.get(`task/${id}?wait=20`);
const rowOf = ({ page }: Watched, id: string) => page.locator(`[data-attempt^="${id}"]`);

test("the task stream shows what begins by itself, how it ended, and leads to the task", async () => {
  await using tab = await look("/workers");
  const { page } = tab;
  await page.locator(".live[data-state=live]").waitFor();
  await page.locator("[data-worker-status=Idle]").waitFor();
  await page.getByRole("button", { name: "Table" }).click();
  const failed = await submit("wrong");
  await ended(failed);
  await rowOf(tab, failed).filter({ hasText: "failed" }).waitFor();
  const id = await submit("long");
  await rowOf(tab, id).filter({ hasText: "running" }).waitFor();
  await page.getByRole("button", { name: "Table" }).click();
  await page.locator(`[data-worker] a[href="/tasks/${id}"]`).waitFor();
  await page.locator('.stream-legend [data-type="long"]').waitFor();
  // It is in the first slot: its bar ends where the time does.
  const picture = page.locator("[data-picture=stream]");
  const { width = 0 } = (await picture.boundingBox()) ?? {};
  const place = { x: width - 16, y: 22 + 9 };
  await expect
    .poll(async () => {
      await picture.hover({ position: place });
      return page.locator(".stream-hover").count();
    })
    .toBe(1);
  expect(await page.locator(".stream-hover").textContent()).toContain("long");
  await picture.click({ position: place });
  await page.getByRole("heading", { name: "long" }).waitFor();
  expect(page.url()).toBe(`${service.server.url}/tasks/${id}`);
  await service.post(`task/${id}/cancel`);
  expect(tab.complaints).toEqual([]);
});

test("the task stream stands still when it is told to, shows more or less time, and goes on", async () => {
  await using tab = await look("/workers");
  const { page } = tab;
  const state = page.locator("[data-stream]");
  await page.getByRole("button", { name: "Pause" }).click();
  expect(await state.getAttribute("data-stream")).toBe("paused");
  await page.getByRole("button", { name: "Zoom in" }).click();
  await expect.poll(() => state.textContent()).toContain("40.0 s");
  await page.locator("[data-picture=stream]").focus();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("-");
  await expect.poll(() => state.textContent()).toContain("1 m 0 s");
  expect(await state.getAttribute("data-stream")).toBe("paused");
  await page.keyboard.press(" ");
  await expect.poll(() => state.getAttribute("data-stream")).toBe("live");
  expect(tab.complaints).toEqual([]);
});

test("an agent sees its own work, of others that a slot is taken, and no button to drain", async () => {
  const [own, other] = [await submit("long"), await submit("long", "bob")];
  await using tab = await look("/workers", { key: annsKey });
  const { page } = tab;
  await page.getByRole("button", { name: "Table" }).click();
  await rowOf(tab, own).waitFor();
  await page.locator("[data-attempt]", { hasText: "other work" }).waitFor();
  expect(await page.content()).not.toContain(other);
  expect(await page.getByRole("button", { name: "Drain…" }).count()).toBe(0);
  for (const id of [own, other]) await service.post(`task/${id}/cancel`);
  expect(tab.complaints).toEqual([]);
});

test.each(["light", "dark"] as const)(
  "on a phone and in %s colours nothing is cut off, or hard to perceive or to reach",
  async (colorScheme) => {
    const id = await submit("long");
    const { workers } = (await service.get("workers")).body;
    for (const path of ["/workers", `/workers/${encodeURIComponent(workers[0].id)}`]) {
      await using tab = await look(path, { colorScheme, viewport: { width: 390, height: 780 } });
      const { page } = tab;
      await page.locator(`main a[href="/tasks/${id}"]`).waitFor();
      const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
      expect(overflow, path).toBeLessThanOrEqual(0);
      expect(await seriousFindings(page), path).toEqual([]);
      await page.getByRole("button", { name: "Table" }).click();
      await rowOf(tab, id).waitFor();
      expect(await seriousFindings(page), path).toEqual([]);
      expect(tab.complaints, path).toEqual([]);
    }
    await service.post(`task/${id}/cancel`);
  },
);

test("a worker is drained after one was asked, and what follows is seen", async () => {
  const id = await submit("long");
  await using tab = await look("/workers");
  const { page } = tab;
  await page.locator("[data-worker-status=Busy]").waitFor();
  await page.getByRole("button", { name: "Drain…" }).click();
  await page.getByRole("dialog").getByText("takes nothing new").waitFor();
  await page.getByRole("button", { name: "Drain it" }).click();
  await page.locator("[data-worker-status=Draining]").waitFor();
  await submit("quick");
  await page.locator(".worker-rejects", { hasText: "draining 1" }).waitFor();
  await page.locator("[data-worker] a").first().click();
  await page.locator("[data-rejection=draining]").waitFor();
  await page.locator(`a[href="/tasks/${id}"]`).waitFor();
  expect(await page.getByRole("button", { name: "Drain…" }).count()).toBe(0);
  await service.post(`task/${id}/cancel`);
  expect(tab.complaints).toEqual([]);
});
