import { afterAll, beforeAll, expect, test } from "vitest";
import { directoryWith } from "../cli.ts";
import { CuttingProxy } from "../cutting-proxy.ts";
import { SERVER_KEY, startServerProcess } from "../server-process.ts";
import { ADMIN_KEY, freshDatabase, TestService } from "../service.ts";
import { TestBrowser, type Watched } from "./browser.ts";

const CUTS = 50;
let browser: TestBrowser;
beforeAll(async () => {
  browser = await TestBrowser.start();
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
});

const isLive = (tab: Watched) => tab.page.locator(".live[data-state=live]").waitFor();

/** The tasks of the events that are listed, oldest first. */
const told = async (tab: Watched): Promise<string[]> =>
  tab.page
    .locator(".latest li a")
    .evaluateAll((links) =>
      links.map((link) => String((link as { href?: string }).href).replace(/^.*\//, "")).reverse(),
    );

test(`${CUTS} cuts of the stream lose nothing and tell nothing twice`, async () => {
  await using service = await TestService.start("memory");
  await using proxy = await CuttingProxy.start(service.server.port);
  await using tab = await browser.look(proxy.url, "/", { key: ADMIN_KEY });
  await isLive(tab);
  // Whoever has seen an event can go on from it.
  const submitted = [(await service.submit()).body.id];
  await expect.poll(() => told(tab), { timeout: 20_000 }).toEqual(submitted);
  for (let cut = 1; cut < CUTS; cut++) {
    const before = proxy.connections;
    proxy.cut();
    submitted.push((await service.submit()).body.id);
    await expect.poll(() => proxy.connections, { interval: 10, timeout: 20_000 }).toBeGreaterThan(before);
  }
  proxy.cut();
  await expect.poll(() => told(tab), { timeout: 20_000 }).toEqual(submitted);
  await expect.poll(() => tab.page.locator("[data-total=queued] strong").textContent()).toBe(String(CUTS));
  await isLive(tab);
  expect(tab.complaints.filter((line) => !/net::ERR_/.test(line))).toEqual([]);
});

test("a page outlives a server that is killed and started again", async () => {
  const store = await freshDatabase();
  const cwd = await directoryWith({});
  const start = () => startServerProcess(cwd, ["--store", store, "--takeover", "1s", "--log-level", "error"]);
  const submit = (url: string) =>
    fetch(`${url}/api/v2/scheduler/submit`, {
      method: "POST",
      headers: { authorization: `Bearer ${SERVER_KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ executor: "nobody", task_type: "a" }),
    });
  let server = await start();
  try {
    await using proxy = await CuttingProxy.start(Number(new URL(server.url).port));
    await using tab = await browser.look(proxy.url, "/", { key: SERVER_KEY });
    await isLive(tab);
    await submit(server.url);
    const queued = () => tab.page.locator("[data-total=queued] strong").textContent();
    await expect.poll(queued, { timeout: 20_000 }).toBe("1");
    server.child.kill("SIGKILL");
    await server.finished;
    await tab.page.locator(".live:not([data-state=live])").waitFor();
    server = await start();
    await submit(server.url);
    proxy.targetPort = Number(new URL(server.url).port);
    await isLive(tab);
    await expect.poll(queued, { timeout: 20_000 }).toBe("2");
    await submit(server.url);
    await expect.poll(queued, { timeout: 20_000 }).toBe("3");
  } finally {
    server.child.kill("SIGTERM");
    await server.finished;
  }
});

test("a key that is revoked leads to the form, and a new one back to the same page", async () => {
  await using service = await TestService.start("memory");
  const made = await service.post("keys", {
    name: "viewer",
    scopes: ["read"],
    zones: ["*"],
    agents: ["*"],
  });
  await using tab = await browser.look(service.server.url, "/tasks?filter=status:failed", { key: null });
  const enter = async (key: string) => {
    await tab.page.getByLabel("API key").fill(key);
    await tab.page.getByRole("button", { name: "Sign in" }).click();
    await tab.page.getByText("No task fits.").waitFor();
  };
  await enter(made.body.secret);
  await service.post(`keys/${made.body.id}/revoke`);
  await tab.page.getByLabel("Filter").fill("status:queued");
  await tab.page.keyboard.press("Enter");
  await tab.page.getByText("the API key is not valid").waitFor();
  await enter(ADMIN_KEY);
  expect(new URL(tab.page.url()).search).toBe("?filter=status%3Aqueued");
});
