import { once } from "node:events";
import { afterAll, beforeAll, expect, test } from "vitest";
import { task } from "../../src/worker/index.ts";
import { ADMIN_KEY, TestService } from "../service.ts";
import { seriousFindings, TestBrowser, type Watched } from "./browser.ts";

const MANY = 250;
let browser: TestBrowser;
let service: TestService;
let worker: AsyncDisposable;
let endAll = () => {};

beforeAll(async () => {
  [browser, service] = await Promise.all([TestBrowser.start(), TestService.start("memory")]);
  const ending = new Promise<void>((resolve) => {
    endAll = resolve;
  });
  worker = service.worker(
    {
      quick: task<{ n: number }>(({ n }, { log }) => {
        log(`counting to ${n}`);
        return { doubled: 2 * n };
      }),
      wrong: task(() => {
        throw Object.assign(new Error("it went wrong"), { retry: false });
      }),
      // Ends when it is told to, so that what comes later finds room.
      long: task((_, { signal }) => Promise.race([ending, once(signal, "abort")])),
    },
    { slots: 2 },
  );
});
afterAll(async () => {
  endAll();
  await browser[Symbol.asyncDispose]();
  await worker[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

const look = (path: string, options = {}): Promise<Watched> =>
  browser.look(service.server.url, path, { key: ADMIN_KEY, ...options });

const submit = async (type: string, body: object = {}, agent = "ann"): Promise<string> =>
  (await service.submit({ executor: "default", task_type: type, ...body }, { agent })).body.id;

const ended = (id: string) => service.get(`task/${id}?wait=20`);

test("a filter is completed, kept in the address, and finds by all its terms", async () => {
  for (let n = 0; n < 3; n++) await ended(await submit("quick", { payload: { n } }));
  await ended(await submit("wrong", {}, "bob"));
  await using tab = await look("/tasks");
  const { page } = tab;
  await page.locator("[data-task]").nth(3).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("sta");
  await page.getByRole("option", { name: "status:" }).waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.type("fai");
  await page.keyboard.press("Tab");
  await expect.poll(() => new URL(page.url()).searchParams.get("filter")).toBe("status:failed");
  await expect.poll(() => page.locator("[data-task]").count()).toBe(1);
  await page.getByLabel("Filter").fill("status:failed type:quick");
  await page.keyboard.press("Enter");
  await page.getByText("No task fits.").waitFor();
  await page.getByLabel("Filter").fill("status:faild");
  await page.keyboard.press("Escape");
  await page.getByText('did you mean "failed"?').waitFor();
  await page.goBack();
  await expect.poll(() => page.locator("[data-task]").count()).toBe(1);
  expect(tab.complaints).toEqual([]);
});

test("a list of any length is scrolled through, and keys move in it", async () => {
  for (let n = 0; n < MANY; n++) await submit("unknown", {}, "many");
  await using tab = await look("/tasks?filter=agent:many+type:unknown");
  const { page } = tab;
  await page.locator("[data-task]").first().waitFor();
  // Only what is seen is there.
  expect(await page.locator("[data-task]").count()).toBeLessThan(MANY);
  await expect
    .poll(
      async () => {
        await page.mouse.wheel(0, 4000);
        return page.locator(`[aria-rowindex="${MANY}"]`).count();
      },
      { timeout: 20_000 },
    )
    .toBe(1);
  await page.keyboard.press("j");
  await expect.poll(() => page.locator("[data-current]").getAttribute("aria-rowindex")).toBe("1");
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await page.keyboard.press("j");
  await page.keyboard.press("k");
  await expect
    .poll(() => page.locator("[data-current][data-selected]").getAttribute("aria-rowindex"))
    .toBe("2");
  await page.keyboard.press("c");
  await page.getByRole("button", { name: "Cancel this task" }).click();
  await expect
    .poll(async () => (await service.get("tasks?filter=agent:many+status:cancelled")).body.tasks.length)
    .toBe(1);
  // The server is done before the page knows, and keys do nothing behind the question.
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  await page.keyboard.press("?");
  await page.getByRole("dialog").getByText("cancel the selected tasks").waitFor();
  expect(tab.complaints).toEqual([]);
});

test("all that match are counted first, and then cancelled", async () => {
  await using tab = await look("/tasks?filter=agent:many+status:queued");
  const { page } = tab;
  await page.getByRole("button", { name: "Cancel all matching…" }).click();
  await page.locator(`[data-count="${MANY - 1}"]`).waitFor();
  await page.getByRole("button", { name: `Cancel ${MANY - 1}` }).click();
  await page.getByText(`${MANY - 1} done.`).waitFor();
  await page.getByRole("button", { name: "Close" }).click();
  // What is shown follows by itself.
  await page.getByText("No task fits.").waitFor();
  expect((await service.get("tasks?filter=agent:many+status:queued")).body.tasks).toEqual([]);
  expect(tab.complaints).toEqual([]);
});

test("a task that waits says why, what goes first, and who could take it", async () => {
  const running = [await submit("long"), await submit("long")];
  const first = await submit("long", { priority: "critical" });
  const id = await submit("long", { priority: "low" });
  await using tab = await look(`/tasks/${id}`);
  const { page } = tab;
  await page.locator("[data-reason=Capacity]").waitFor();
  await page.locator(".why-others", { hasText: "Outranked" }).waitFor();
  await page.locator("[data-fact=forecast]").waitFor();
  await page.locator(".candidates tbody tr").waitFor();
  await page.locator(`.ahead a[href="/tasks/${first}"]`).click();
  expect(page.url()).toBe(`${service.server.url}/tasks/${first}`);
  await page.goBack();
  await page.getByRole("heading", { name: "long" }).waitFor();
  await page.keyboard.press("c");
  await page.getByRole("button", { name: "Cancel this task" }).click();
  await page.locator("h1 [data-status=cancelled]").waitFor();
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  await page.keyboard.press("r");
  await page.getByRole("button", { name: "Retry this task" }).click();
  await page.locator("h1 [data-status=queued]").waitFor();
  expect(tab.complaints).toEqual([]);
  for (const one of [...running, first, id]) await service.post(`task/${one}/cancel`);
});

test("a task that waits says what would let it start, and a button does it once it was confirmed", async () => {
  await service.post("pause", { executor: "default" });
  const id = await submit("quick", { payload: { n: 1 } });
  await using tab = await look(`/tasks/${id}`);
  const { page } = tab;
  const resume = page.locator(".sooner [data-change=resume]");
  await resume.getByText("the executor default were resumed").waitFor();
  await resume.getByRole("button", { name: "Resume" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Resume the executor default?").waitFor();
  expect((await service.get(`task/${id}`)).body.status).toBe("queued");
  await dialog.getByRole("button", { name: "Resume" }).click();
  await page.locator("h1 [data-status=completed]").waitFor();
  await expect.poll(() => page.locator(".sooner").count()).toBe(0);
  expect(tab.complaints).toEqual([]);
});

test("whoever may not change anything is told what would help without a button", async () => {
  await service.put("limits/narrow", { concurrency: 0 });
  const id = await submit("quick", { payload: { n: 1 }, limits: ["narrow"] });
  const asked = { name: "ann", scopes: ["read"], zones: ["default"], agents: ["ann"] };
  const { secret } = (await service.post("keys", asked)).body;
  await using tab = await look(`/tasks/${id}`, { key: secret });
  const limit = tab.page.locator(".sooner [data-change=limit]");
  await limit.getByText("the limit narrow had room for 1 at once, not 0").waitFor();
  expect(await limit.getByRole("button").count()).toBe(0);
  await service.post(`task/${id}/cancel`);
});

test("a task that ran says where and why, what it got, gave and printed, and can be cloned", async () => {
  const id = await submit("quick", { payload: { n: 21 } });
  await ended(id);
  await using tab = await look(`/tasks/${id}`, { permissions: ["clipboard-read", "clipboard-write"] });
  const { page } = tab;
  await page.locator("[data-fact=why-here]", { hasText: "only worker available" }).waitFor();
  await page.locator(".timeline-legend [data-outcome=finished]").waitFor();
  await page.getByRole("tab", { name: "content" }).click();
  await page.getByText('"doubled": 42').waitFor();
  expect(new URL(page.url()).searchParams.get("tab")).toBe("content");
  await page.getByRole("tab", { name: "log" }).click();
  await page.getByText("counting to 21").waitFor();
  await page.getByRole("tab", { name: "events" }).click();
  await page.locator(".events tr", { hasText: "AttemptFinished" }).waitFor();
  await page.getByRole("button", { name: "Copy curl" }).click();
  await expect
    .poll(() => page.evaluate("navigator.clipboard.readText()"))
    .toMatch(/^curl .*"payload":\{"n":21\}/);
  await page.getByRole("button", { name: "Clone…" }).click();
  await page.getByLabel("Payload").fill("{oops");
  await page.getByRole("button", { name: "Submit", exact: true }).click();
  await page.getByRole("alert").filter({ hasText: "JSON" }).waitFor();
  await page.getByLabel("Payload").fill('{"n": 4}');
  await page.getByRole("button", { name: "Submit", exact: true }).click();
  await expect.poll(() => page.url()).not.toContain(id);
  await page.locator("h1 [data-status=completed]").waitFor();
  await page.getByRole("tab", { name: "content" }).click();
  await page.getByText('"doubled": 8').waitFor();
  expect(tab.complaints).toEqual([]);
});

test("what is gone, or no task at all, is said so", async () => {
  await using tab = await look("/tasks/00000000-0000-7000-8000-000000000000");
  await tab.page.getByText("there is no such task").waitFor();
});

test.each(["light", "dark"] as const)(
  "on a phone and in %s colours nothing is cut off, or hard to perceive or to reach",
  async (colorScheme) => {
    const id = await submit("wrong", { budget: { ops: 5 } });
    await ended(id);
    const options = { colorScheme, viewport: { width: 390, height: 780 } };
    for (const path of ["/", "/tasks", `/tasks/${id}?tab=why`, `/tasks/${id}?tab=budget`]) {
      await using tab = await look(path, options);
      await tab.page.locator("main :is(.panel, [data-task])").first().waitFor();
      await tab.page.locator(".live[data-state=live]").waitFor();
      const overflow = await tab.page.evaluate("document.documentElement.scrollWidth - innerWidth");
      expect(overflow, path).toBeLessThanOrEqual(0);
      expect(await seriousFindings(tab.page), path).toEqual([]);
      expect(tab.complaints, path).toEqual([]);
    }
  },
);
