import { expect, test } from "vitest";
import { SCREENS } from "../../dashboard/src/shell/screens.ts";
import { task } from "../../src/worker/index.ts";
import { TestService } from "../service.ts";
import { TestBrowser } from "./browser.ts";

/** In every name that the other zone has. */
const SECRET = "belladonna";
const OF_ZONE = { zone: "there" };

test("[Q-15] nothing of another zone is on any screen, nor where a link leads to it", async () => {
  await using browser = await TestBrowser.start();
  await using service = await TestService.start("memory");
  const there = (path: string, body: object) => service.post(path, body, OF_ZONE);
  const node = { run: "true", executor: SECRET };
  const run = await there("runs", { name: SECRET, graph: { nodes: { [SECRET]: node } } });
  const asked = { executor: SECRET, task_type: SECRET, payload: { name: SECRET } };
  const waiting = await there("submit", asked);
  await using _worker = service.worker({ [SECRET]: task(() => SECRET) }, { zone: "there", executors: ["x"] });
  const ran = await there("submit", { ...asked, executor: "x" });
  await service.get(`task/${ran.body.id}?wait=20`, OF_ZONE);
  const key = { name: "here", scopes: ["read", "submit", "admin"], zones: ["default"], agents: ["*"] };
  const { body } = await service.post("keys", key);

  await using tab = await browser.look(service.server.url, "/", { key: body.secret });
  const { page } = tab;
  /** All that the page is given; what it shows is made of that. */
  const told: Promise<string>[] = [];
  page.on("response", (response) => {
    if (/\/api\/(?!.*\/events$)/.test(response.url())) told.push(response.text().catch(() => ""));
  });
  const paths = [
    ...SCREENS.map(({ path }) => path),
    ...[waiting, ran].map(({ body: { id } }) => `/tasks/${id}`),
    `/runs/${run.body.id}`,
  ];
  for (const path of paths) {
    const before = told.length;
    await page.goto(service.server.url + path);
    await page.locator(".live[data-state=live]").waitFor();
    await expect.poll(() => told.length).toBeGreaterThan(before);
    await expect.poll(() => page.locator("main").textContent()).not.toMatch(/^(Loading…)?$/);
    expect(await page.locator("main").textContent(), path).not.toContain(SECRET);
  }
  for (const text of await Promise.all(told)) expect(text).not.toContain(SECRET);
  expect(told.length).toBeGreaterThan(paths.length);
  // Where it is, it is seen.
  const { body: seen } = await service.get("tasks", OF_ZONE);
  expect(JSON.stringify(seen)).toContain(SECRET);
});
