import { afterAll, beforeAll, expect, test } from "vitest";
import { ADMIN_KEY, TestService } from "../service.ts";
import { seriousFindings, TestBrowser, type Watched } from "./browser.ts";

let browser: TestBrowser;
let service: TestService;

beforeAll(async () => {
  [browser, service] = await Promise.all([TestBrowser.start(), TestService.start("postgresql")]);
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

const look = (path: string, options = {}): Promise<Watched> =>
  browser.look(service.server.url, path, { key: ADMIN_KEY, ...options });

/** What the browser itself writes of requests that were refused. */
const besidesRefusals = ({ complaints }: Watched) => complaints.filter((line) => !/\b4\d\d\b/.test(line));

test("a key is made, shown once, used and revoked, and the audit says so", async () => {
  await using tab = await look("/keys");
  const { page } = tab;
  await page.getByRole("button", { name: "New key…" }).click();
  const form = page.getByRole("form", { name: "A new key" });
  await form.getByRole("button", { name: "Make it" }).click();
  await form.getByRole("alert").filter({ hasText: "fewer than 1 characters" }).waitFor();
  await form.getByLabel("Name").fill("ci");
  await form.getByLabel("Zones").fill("*");
  await form.getByLabel("Agents").fill("ann, bob");
  await form.getByLabel("Ends").selectOption("in 30 days");
  await form.getByRole("button", { name: "Make it" }).click();
  const secret = (await page.locator("[data-secret]").textContent()) ?? "";
  expect((await service.get("whoami", { key: secret })).body).toMatchObject({
    name: "ci",
    scopes: ["submit", "read"],
  });
  await page.getByRole("button", { name: "I have it" }).click();
  expect(await page.content()).not.toContain(secret);
  const row = page.locator("[data-key]", { hasText: "ann, bob" });
  await row.locator("[data-key-state=valid]").waitFor();
  await page.getByRole("button", { name: "Revoke ci" }).click();
  await page.getByRole("button", { name: "Revoke it" }).click();
  await page.getByRole("button", { name: "Show the 1 that ended" }).click();
  await row.locator("[data-key-state=revoked]").waitFor();
  expect((await service.get("whoami", { key: secret })).status).toBe(401);
  await page.locator('[data-action="key.create"]', { hasText: "ci" }).waitFor();
  await page.locator('[data-action="key.revoke"]', { hasText: "ci" }).waitFor();
  await service.put("limits/openai", { concurrency: 3 });
  await page.locator('[data-action="limit.set"]', { hasText: "concurrency: 3" }).waitFor();
  expect(besidesRefusals(tab)).toEqual([]);
});

test("who is neither admin nor operator is shown neither keys nor servers, and told why", async () => {
  const { body } = await service.post("keys", { name: "ann", scopes: ["read"], zones: ["*"], agents: ["*"] });
  await using tab = await look("/keys", { key: body.secret });
  const { page } = tab;
  await page.getByText("takes the scope admin").waitFor();
  await page.getByRole("link", { name: "Queues" }).waitFor();
  expect(
    await page
      .getByRole("navigation")
      .getByRole("link", { name: /Keys|Cluster/ })
      .count(),
  ).toBe(0);
  await page.goto(`${service.server.url}/cluster`);
  await page.getByText("takes the scope operator").waitFor();
  expect(tab.complaints).toEqual([]);
});

test.each(["light", "dark"] as const)(
  "on a phone and in %s colours nothing is cut off, or hard to perceive or to reach",
  async (colorScheme) => {
    for (const path of ["/keys", "/cluster"]) {
      await using tab = await look(path, { colorScheme, viewport: { width: 390, height: 780 } });
      const { page } = tab;
      await page.locator("main :is([data-key], [data-member])").first().waitFor();
      if (path === "/keys") await page.getByRole("button", { name: "New key…" }).click();
      const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
      expect(overflow, path).toBeLessThanOrEqual(0);
      expect(await seriousFindings(page), path).toEqual([]);
      expect(tab.complaints, path).toEqual([]);
    }
  },
);

test("servers are shown with who leads, and another one takes over when it is told to", async () => {
  await using tab = await look("/cluster");
  const { page } = tab;
  await page.locator("[data-role=leader]").waitFor();
  await page.getByRole("button", { name: "Step down…" }).click();
  await page.getByRole("button", { name: "Step down", exact: true }).click();
  await page.getByRole("dialog").getByText("no other server follows").waitFor();
  await page.getByRole("button", { name: "Leave it" }).click();
  await using second = await TestService.start("postgresql", {}, service.storeUrl);
  await page.locator("[data-role=follower]").waitFor();
  const [before] = await page.locator('[data-fact="leader"]').allTextContents();
  await page.getByRole("button", { name: "Step down…" }).click();
  await page.getByRole("button", { name: "Step down", exact: true }).click();
  await expect
    .poll(() => page.locator('[data-fact="leader"]').textContent(), { timeout: 20_000 })
    .not.toBe(before);
  await expect.poll(() => second.server.service !== undefined).toBe(true);
  await expect
    .poll(async () => (await second.get("audit")).body.entries?.[0]?.action, { timeout: 20_000 })
    .toBe("leader.step-down");
});
