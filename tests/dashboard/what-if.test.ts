import { once } from "node:events";
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

function aborting(): { readonly signal: AbortSignal; readonly abort: () => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}

test("what if there were another worker: asked by hand, compared, passed on as an address", async () => {
  const { signal, abort } = aborting();
  const wait = task(async () => void (signal.aborted || (await once(signal, "abort"))));
  await using _worker = service.worker({ wait }, { slots: 1 });
  // A worker goes when its tasks have ended.
  using _end = { [Symbol.dispose]: abort };
  for (let count = 0; count < 4; count++)
    await service.submit({ executor: "default", task_type: "wait", estimated_service_time: 10 });
  await using tab = await browser.look(service.server.url, "/what-if", { key: ADMIN_KEY });
  const { page } = tab;
  await page.getByText("Nothing is changed yet.").waitFor();
  await page.getByRole("combobox", { name: /^change/ }).selectOption("more workers like");
  await page.getByLabel("how many").fill("3");
  await page.getByRole("button", { name: "Play" }).click();
  const done = page.getByRole("row", { name: /^all is done after/ });
  await done.waitFor();
  expect(await done.textContent()).toMatch(/▼ (29|30)\.\d s \(better\)/);
  await page.getByText("3: 3 sooner, 0 later, 3 elsewhere").waitFor();
  expect(await seriousFindings(page)).toEqual([]);
  expect(tab.complaints).toEqual([]);
  await using other = await browser.look(service.server.url, page.url().slice(service.server.url.length), {
    key: ADMIN_KEY,
    colorScheme: "dark",
    viewport: { width: 390, height: 844 },
  });
  await expect.poll(() => other.page.getByLabel("how many").inputValue()).toBe("3");
  expect(await other.page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
  expect(await seriousFindings(other.page)).toEqual([]);
});
