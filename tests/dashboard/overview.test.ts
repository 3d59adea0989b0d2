import { afterAll, beforeAll, expect, test } from "vitest";
import { task } from "../../src/worker/index.ts";
import { ADMIN_KEY, TestService } from "../service.ts";
import { seriousFindings, TestBrowser } from "./browser.ts";

let browser: TestBrowser;
let service: TestService;

beforeAll(async () => {
  [browser, service] = await Promise.all([TestBrowser.start(), TestService.start("memory")]);
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

test("a key lets in, a wrong one does not, and the way leads back to what was asked for", async () => {
  await using tab = await browser.look(service.server.url, "/tasks?filter=status:failed", { key: null });
  const { page } = tab;
  await page.getByLabel("API key").fill("sk-wrong-0123456789");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("the API key is not valid").waitFor();
  await page.getByLabel("API key").fill(ADMIN_KEY);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation").waitFor();
  expect(page.url()).toBe(`${service.server.url}/tasks?filter=status:failed`);
  // The browser itself writes of the key that was refused.
  expect(tab.complaints.filter((line) => !line.includes("401"))).toEqual([]);
});

test("the link that the server prints lets in once", async () => {
  const link = (await service.server.dashboardLink()) ?? "";
  const path = link.slice(service.server.url.length);
  await using first = await browser.look(service.server.url, path, { key: null });
  await first.page.getByRole("navigation").waitFor();
  expect(first.page.url()).toBe(`${service.server.url}/`);
  expect(first.complaints).toEqual([]);
  await using second = await browser.look(service.server.url, path, { key: null });
  await second.page.getByText("the ticket was used").waitFor();
});

test("counts change within a second of what happened, without anybody asking", async () => {
  await using tab = await browser.look(service.server.url, "/", { key: ADMIN_KEY });
  const { page } = tab;
  await page.locator(".live[data-state=live]").waitFor();
  const queued = page.locator("[data-total=queued] strong");
  const before = Number(await queued.textContent());
  await service.submit();
  // Also on a machine that has much else to do, it comes by itself.
  await expect.poll(() => queued.textContent(), { timeout: 10_000 }).toBe(String(before + 1));
  await page.locator("[data-reason=Unsatisfiable]").waitFor();
  await using _worker = service.worker({ note: task(() => 1) });
  await service.submit({ executor: "default", task_type: "note" });
  await expect.poll(() => page.locator("[data-total=completed] strong").textContent()).toBe("1");
  await expect.poll(() => page.locator("[data-fact=here]").textContent()).toBe("1");
  await page.locator(".latest li", { hasText: "AttemptFinished" }).waitFor();
  await page.locator("[data-ledger=verified]").waitFor();
  expect(tab.complaints).toEqual([]);
});

test.each(["light", "dark"] as const)("nothing is hard to perceive or to reach, %s", async (colorScheme) => {
  await using tab = await browser.look(service.server.url, "/", { key: ADMIN_KEY, colorScheme });
  await tab.page.locator(".live[data-state=live]").waitFor();
  expect(await seriousFindings(tab.page)).toEqual([]);
});
