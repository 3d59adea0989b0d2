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
  worker = service.worker({ long: task((_, { signal }) => once(signal, "abort")) }, { slots: 4 });
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await worker[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

const look = (options = {}): Promise<Watched> =>
  browser.look(service.server.url, "/queues", { key: ADMIN_KEY, ...options });

const submit = async (agent = "ann"): Promise<string> =>
  (await service.submit({ executor: "default", task_type: "long" }, { agent })).body.id;

const cancel = (ids: readonly string[]) => Promise.all(ids.map((id) => service.post(`task/${id}/cancel`)));

/** What the browser itself writes of requests that were refused. */
const besidesRefusals = ({ complaints }: Watched) => complaints.filter((line) => !/\b422\b/.test(line));

test("an agent's limit is edited where it stands, what is wrong is said there, and what waited starts", async () => {
  await service.put("agents/ann", { max_concurrent: 1 });
  const ids = [await submit(), await submit(), await submit("bob")];
  await using tab = await look();
  const { page } = tab;
  await page.locator('[data-agent=ann] [data-share="1/1"]').waitFor();
  await page.locator("[data-executor=default]", { hasText: "open" }).waitFor();
  await page.getByRole("button", { name: "Limits of ann" }).click();
  const form = page.getByRole("form", { name: "Limits of ann" });
  await form.getByLabel("Runs: how many").fill("many");
  await form.getByRole("button", { name: "Save" }).click();
  await form
    .locator(".field", { hasText: "Runs" })
    .getByRole("alert")
    .filter({ hasText: "must be" })
    .waitFor();
  await form.getByLabel("Runs: how many").fill("3");
  await form.getByLabel("Submits", { exact: true }).selectOption("given");
  await form.getByLabel("Submits: how many").fill("50");
  await form.getByRole("button", { name: "Save" }).click();
  await page.locator('[data-agent=ann] [data-share="2/3"]').waitFor();
  await page.locator("[data-agent=ann]", { hasText: "50 in 1 m 0 s" }).waitFor();
  await page.getByRole("button", { name: "Credits for bob" }).click();
  await page.getByLabel("Give credits").fill("-3");
  await page.getByRole("button", { name: "Give", exact: true }).click();
  await page.locator(".field").getByRole("alert").filter({ hasText: "decimal" }).waitFor();
  await page.getByLabel("Give credits").fill("7.25");
  await page.getByRole("button", { name: "Give", exact: true }).click();
  await page.locator("[data-agent=bob]", { hasText: "7.25" }).waitFor();
  await cancel(ids);
  // Left to the zone again, for what comes next.
  await service.put("agents/ann", {});
  expect(besidesRefusals(tab)).toEqual([]);
});

test("a limit is made and changed, and the share of each agent is set for the zone", async () => {
  await using tab = await look();
  const { page } = tab;
  await page.getByRole("button", { name: "New limit…" }).click();
  const form = page.getByRole("form", { name: "A new limit" });
  await form.getByLabel("Name").fill("openai");
  await form.getByLabel("Runs: how many").fill("-1");
  await form.getByRole("button", { name: "Save" }).click();
  await form
    .locator(".field", { hasText: "Runs" })
    .getByRole("alert")
    .filter({ hasText: "must be" })
    .waitFor();
  await form.getByLabel("Runs: how many").fill("5");
  await form.getByRole("button", { name: "Save" }).click();
  await page.locator('[data-limit=openai] [data-share="0/5"]').waitFor();
  await page.getByRole("button", { name: "Edit openai" }).click();
  await page.getByLabel("Runs", { exact: true }).selectOption("none");
  await page.getByLabel("Starts", { exact: true }).selectOption("given");
  await page.getByLabel("Starts: how many").fill("9");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator('[data-limit=openai] [data-share="0/any"]').waitFor();
  await page.locator("[data-limit=openai]", { hasText: "9 in 1 m 0 s" }).waitFor();
  await page.getByRole("button", { name: "Share of each agent…" }).click();
  await page.getByLabel("Each agent runs", { exact: true }).selectOption("given");
  await page.getByLabel("Each agent runs: how many").fill("4");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("[data-fact=zone-share]", { hasText: "4 at once" }).waitFor();
  expect((await service.get("queues")).body).toMatchObject({ max_concurrent: 4, own_max_concurrent: true });
  expect(besidesRefusals(tab)).toEqual([]);
});

test("an executor and the zone are paused and resumed, and what waits shows it", async () => {
  await using tab = await look();
  const { page } = tab;
  const row = page.locator("[data-executor=default]");
  await page.getByRole("button", { name: "Pause default" }).click();
  await page.getByRole("button", { name: "Pause it" }).click();
  await row.locator("[data-queue-state=paused]").waitFor();
  const id = await submit();
  await expect.poll(() => row.locator("td").nth(1).textContent()).toBe("1");
  await page.getByRole("button", { name: "Resume default" }).click();
  await row.locator("[data-queue-state=open]").waitFor();
  await expect.poll(() => row.locator("td").nth(3).textContent()).toBe("1");
  await page.getByRole("button", { name: "Pause the zone default" }).click();
  await page.getByRole("button", { name: "Pause it" }).click();
  await row.getByText("paused with the zone").waitFor();
  expect((await service.get("queues")).body.paused).toBe(true);
  await page.getByRole("button", { name: "Resume the zone default" }).click();
  await page.locator("h1 [data-queue-state=open]").waitFor();
  await cancel([id]);
  expect(tab.complaints).toEqual([]);
});

test("who is no admin sees itself, and nothing to change", async () => {
  const ids = [await submit(), await submit("bob")];
  await using tab = await look({ key: annsKey });
  const { page } = tab;
  await page.locator('[data-agent=ann] [data-share^="1/"]').waitFor();
  expect(await page.locator("[data-agent]").count()).toBe(1);
  await expect.poll(() => page.locator("[data-executor=default] td").nth(3).textContent()).toBe("1");
  expect(await page.locator("main button").count()).toBe(0);
  await cancel(ids);
  expect(tab.complaints).toEqual([]);
});

test.each(["light", "dark"] as const)(
  "on a phone and in %s colours nothing is cut off, or hard to perceive or to reach",
  async (colorScheme) => {
    const id = await submit();
    await using tab = await look({ colorScheme, viewport: { width: 390, height: 780 } });
    const { page } = tab;
    await page.getByRole("button", { name: "Limits of ann" }).click();
    await page.getByRole("form", { name: "Limits of ann" }).waitFor();
    const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
    expect(overflow).toBeLessThanOrEqual(0);
    const save = await page.getByRole("button", { name: "Save" }).boundingBox();
    expect(save?.x).toBeGreaterThanOrEqual(0);
    expect((save?.x ?? 0) + (save?.width ?? 0)).toBeLessThanOrEqual(390);
    expect(await seriousFindings(page)).toEqual([]);
    await cancel([id]);
    expect(tab.complaints).toEqual([]);
  },
);
