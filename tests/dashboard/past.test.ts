import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { task } from "../../src/worker/index.ts";
import { ADMIN_KEY, TestService } from "../service.ts";
import { seriousFindings, TestBrowser } from "./browser.ts";

let browser: TestBrowser;
let service: TestService;
/** A task that ran, and events by what had just happened. */
let ran = "";
const seq = { waiting: 0, ended: 0 };

const head = async () => (await service.get("ledger/head")).body.seq as number;

beforeAll(async () => {
  [browser, service] = await Promise.all([TestBrowser.start(), TestService.start("memory")]);
  ran = (await service.submit({ executor: "default", task_type: "note" })).body.id;
  for (let n = 0; n < 9; n++) await service.submit();
  seq.waiting = await head();
  await using _worker = service.worker({ note: task(() => 42) });
  await service.get(`task/${ran}?wait=20`);
  seq.ended = await head();
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

const momentOf = (page: Page) => Number(new URL(page.url()).searchParams.get("at") ?? -1);
const queued = (page: Page) => page.locator("[data-total=queued] strong").textContent();

test("the bar moves through the past by steps, by dragging, by jumping and by playing, and back to now", async () => {
  await using tab = await browser.look(service.server.url, "/", { key: ADMIN_KEY });
  const { page } = tab;
  await expect.poll(() => queued(page)).toBe("9");
  await page.getByRole("button", { name: "Look at the past" }).click();
  const line = page.getByLabel("Moment of the ledger");
  await expect.poll(() => line.isEnabled()).toBe(true);

  // One event after the other.
  await line.focus();
  await page.keyboard.press("ArrowLeft");
  await expect.poll(() => momentOf(page)).toBe((await head()) - 1);
  await page.locator(".past-bar[data-past]").waitFor();
  await page.locator(".live[data-state=past]").waitFor();

  // To where it is dragged, without stops in between that nobody sees.
  const box = await line.boundingBox();
  if (!box) throw new Error("the line is there");
  await page.mouse.move(box.x + box.width - 8, box.y + box.height / 2);
  await page.mouse.down();
  for (let part = 1; part <= 10; part++)
    await page.mouse.move(box.x + box.width - 8 - (part * (box.width - 16)) / 10, box.y + box.height / 2);
  await page.mouse.up();
  await expect.poll(() => momentOf(page)).toBe(0);
  await expect.poll(() => queued(page)).toBe("0");

  // To an event.
  await page.getByLabel("Go to an event or a time").fill(String(seq.waiting));
  await page.keyboard.press("Enter");
  await expect.poll(() => momentOf(page)).toBe(seq.waiting);
  await expect.poll(() => queued(page)).toBe("10");
  await page.getByText(`event ${seq.waiting}`, { exact: false }).first().waitFor();

  // Links stay there.
  await page.getByRole("link", { name: "Tasks", exact: true }).click();
  await expect.poll(() => momentOf(page)).toBe(seq.waiting);
  await expect.poll(() => page.locator(".task-list [data-task]").count()).toBe(10);
  expect(await page.getByRole("button", { name: /Cancel all/ }).isDisabled()).toBe(true);
  await page.getByRole("link", { name: "Overview", exact: true }).click();

  // By itself, up to the end.
  await page.getByLabel("Speed").selectOption("max");
  await page.getByRole("button", { name: "Play" }).click();
  await expect.poll(() => momentOf(page)).toBe(await head());
  await page.getByRole("button", { name: "Play" }).waitFor();

  await page.getByRole("button", { name: "Back to now" }).click();
  await expect.poll(() => momentOf(page)).toBe(-1);
  await page.locator(".live[data-state=live]").waitFor();
  await service.submit();
  await expect.poll(() => queued(page)).toBe("10");
  expect(await seriousFindings(page)).toEqual([]);
  expect(tab.complaints).toEqual([]);
});

test("a link to a moment shows a task as it was, who was considered for it, and nothing that changes it", async () => {
  const path = `/tasks/${ran}?at=${seq.waiting}`;
  await using tab = await browser.look(service.server.url, path, { key: ADMIN_KEY });
  const { page } = tab;
  await page.locator("h1", { hasText: "queued" }).waitFor();
  await page.locator("[data-reason=Unsatisfiable]").waitFor();
  for (const name of ["Clone…", "Retry", "Cancel"])
    expect(await page.getByRole("button", { name, exact: true }).isDisabled(), name).toBe(true);
  // What happened to it next: a worker came, and it was given to that.
  await page.getByRole("button", { name: "To what happened to this task next" }).click();
  await page.locator("h1", { hasText: "running" }).waitFor();
  await page.locator("[data-action=placement]").click();
  await page.locator("[data-fact=decided-by]", { hasText: "no other candidate" }).waitFor();
  await page.locator(".candidates", { hasText: "✓ chosen" }).waitFor();
  await page.getByRole("button", { name: "To what happened to this task next" }).click();
  await page.locator("h1", { hasText: "completed" }).waitFor();
  expect(tab.complaints).toEqual([]);
});

test("the ledger shows every event, leads to its moment, and is replayed and compared", async () => {
  await using tab = await browser.look(service.server.url, "/ledger", { key: ADMIN_KEY });
  const { page } = tab;
  await page.locator(`[data-seq="${await head()}"]`).waitFor();
  await page.getByLabel("Kind").selectOption("TaskAssigned");
  await expect.poll(() => page.locator(".event-list [data-seq]").count()).toBe(1);
  expect(new URL(page.url()).searchParams.get("kind")).toBe("TaskAssigned");
  await page.locator(".event-seq").click();
  await page.getByRole("dialog").getByText('"OnlyWorkerAvailable"').waitFor();
  await page.getByRole("button", { name: "Look at this moment" }).click();
  await expect.poll(() => momentOf(page)).toBeGreaterThan(seq.waiting);
  await page.getByRole("button", { name: "Replay and compare" }).click();
  await page.locator("[data-replay]", { hasText: "replay equal" }).waitFor();
  const saved = page.waitForEvent("download");
  await page.evaluate(() => {
    (globalThis as { showSaveFilePicker?: unknown }).showSaveFilePicker = undefined;
  });
  await page.getByRole("button", { name: "Export" }).click();
  expect((await saved).suggestedFilename()).toBe("ledger.jsonl");
  expect(await seriousFindings(page)).toEqual([]);
  expect(tab.complaints).toEqual([]);
});

test("a moment that is asked for while the server is away is shown when that is back", async () => {
  await using tab = await browser.look(service.server.url, `/?at=${seq.waiting}`, { key: ADMIN_KEY });
  const { page } = tab;
  await expect.poll(() => queued(page)).toBe("10");
  await page.context().setOffline(true);
  await page.getByLabel("Go to an event or a time").fill("1");
  await page.keyboard.press("Enter");
  await expect.poll(() => momentOf(page)).toBe(1);
  await page.getByText("the server does not answer").first().waitFor();
  await page.context().setOffline(false);
  await expect.poll(() => queued(page)).toBe("0");
});

test("without the scope operator there is no past, and it is said so", async () => {
  const { body } = await service.post("keys", {
    name: "reader",
    scopes: ["read"],
    zones: ["default"],
    agents: ["*"],
  });
  await using tab = await browser.look(service.server.url, "/?at=1", { key: body.secret });
  const { page } = tab;
  await page.getByText("Only operators can look at the past.").waitFor();
  expect(await page.getByRole("button", { name: "Look at the past" }).count()).toBe(0);
  await page.getByRole("button", { name: "Back to now" }).click();
  await page.locator("[data-total=queued]").waitFor();
  expect(await page.getByRole("link", { name: "Ledger", exact: true }).count()).toBe(0);
  // Nor can who only reads change anything.
  await page.getByRole("link", { name: "Tasks", exact: true }).click();
  expect(await page.getByRole("button", { name: /Cancel all/ }).isDisabled()).toBe(true);
  await page.goto(`${service.server.url}/ledger`);
  await page.getByText("for keys with the scope operator").waitFor();
  // The browser itself writes of what was refused.
  expect(tab.complaints.filter((line) => !line.includes("403"))).toEqual([]);
});

test.each(["light", "dark"] as const)(
  "on a phone and in %s colours nothing is cut off, or hard to perceive or to reach",
  async (colorScheme) => {
    const options = { key: ADMIN_KEY, colorScheme, viewport: { width: 390, height: 780 } };
    await using tab = await browser.look(service.server.url, `/ledger?at=${seq.ended}`, options);
    const { page } = tab;
    await page.locator(`[data-seq="${seq.ended}"]`).waitFor();
    await page.locator(".past-words b").waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0);
    for (const name of ["Play", "Back to now", "Close the past"]) {
      const box = await page.getByRole("button", { name, exact: true }).boundingBox();
      expect((box?.x ?? 1000) + (box?.width ?? 0), name).toBeLessThanOrEqual(390);
    }
    expect(await seriousFindings(page)).toEqual([]);
    expect(tab.complaints).toEqual([]);
  },
);
