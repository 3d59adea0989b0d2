import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { API, bearer, type Served, serve } from "../../../tests/http-app.ts";
import { Contract } from "../../../tests/http-document.ts";

const log: string[] = [];
let served: Served;
let contract: Contract;
beforeAll(async () => {
  served = await serve(log);
  contract = await Contract.of(served);
});
afterAll(async () => {
  await served.close();
});

const URL = "https://hooks.example/in";
const PATH = `${API}/webhooks`;

function create(body: object = {}, headers: Record<string, string> = {}) {
  return served.call("POST", PATH, { url: URL, ...body }, headers);
}

describe("webhooks", () => {
  test("are made, shown, changed and removed", async () => {
    const made = await create({ events: ["task.failed", "task.failed"], agents: ["ada"], description: "ü" });
    expect([made.status, made.headers["location"]]).toEqual([201, `${PATH}/${made.body.id}`]);
    expect(made.body).toMatchObject({
      url: URL,
      description: "ü",
      events: ["task.failed"],
      agents: ["ada"],
      task_types: [],
      executors: [],
      include_result: false,
      enabled: true,
      failing_since: null,
    });
    const at = `${PATH}/${made.body.id}`;
    const changed = await served.call("PATCH", at, { executors: ["x"], enabled: false });
    expect(changed.body).toMatchObject({
      executors: ["x"],
      agents: ["ada"],
      enabled: false,
      disabled_reason: "an admin disabled it",
    });
    expect((await served.call("POST", `${at}/test`)).body.code).toBe("webhook-disabled");
    const again = await served.call("PATCH", at, { enabled: true });
    expect(again.body).toMatchObject({ enabled: true, disabled_at: null, disabled_reason: null });
    expect((await served.call("GET", at)).body).toEqual(again.body);
    expect((await served.call("DELETE", at)).body).toEqual({ removed: true, id: made.body.id });
    for (const [method, path] of [
      ["GET", at],
      ["DELETE", at],
      ["PATCH", at],
      ["POST", `${at}/rotate`],
      ["POST", `${at}/test`],
      ["GET", `${at}/deliveries`],
    ] as const)
      expect((await served.call(method, path, method === "PATCH" ? {} : undefined)).status, path).toBe(404);
  });

  test("show their secret when it is made, and never again, in no answer and no log", async () => {
    const { body } = await create();
    expect(body.secret).toMatch(/^whsec_/);
    const rotated = await served.call("POST", `${PATH}/${body.id}/rotate`, { overlap_seconds: 60 });
    expect(rotated.body.secret).toMatch(/^whsec_/);
    expect(rotated.body).toMatchObject({ secrets: 2, id: body.id });
    expect(rotated.body.secret).not.toBe(body.secret);
    const all = await Promise.all(
      [PATH, `${PATH}/${body.id}`, `${PATH}/${body.id}/deliveries`].map((path) => served.call("GET", path)),
    );
    for (const secret of [body.secret, rotated.body.secret] as string[])
      expect(JSON.stringify([all, log])).not.toContain(secret.slice("whsec_".length));
    expect(
      (await served.call("POST", `${PATH}/${body.id}/rotate`, { overlap_seconds: 0 })).body.secrets,
    ).toBe(1);
  });

  test("belong to a zone, and are for its admins", async () => {
    const { body } = await create({}, { "x-zone-id": "east" });
    const at = `${PATH}/${body.id}`;
    expect((await served.call("GET", at)).status).toBe(404);
    expect((await served.call("GET", at, undefined, { "x-zone-id": "east" })).status).toBe(200);
    const { body: others } = await served.call("GET", PATH, undefined, { "x-zone-id": "west" });
    expect(others).toEqual({ webhooks: [] });
    for (const scopes of [["read"], ["submit"], ["work"], ["operator"]] as const) {
      const key = bearer(await served.secretOf({ scopes }));
      expect((await served.call("GET", PATH, undefined, key)).body.code, scopes[0]).toBe("scope");
      expect((await create({}, key)).status, scopes[0]).toBe(403);
    }
    expect((await create({}, { "x-agent-id": "ada" })).status).toBe(403);
  });

  test.each([
    [{ url: "http://hooks.example/" }, "/url", "https://"],
    [{ url: "https://10.0.0.1/" }, "/url", "not public"],
    [{ url: "https://[::1]/" }, "/url", "not public"],
    [{ url: "https://u:p@hooks.example/" }, "/url", "user"],
    [{ url: "nonsense" }, "/url", "URL such as"],
    [{ url: 7 }, "/url", "text"],
    [{ url: undefined }, "/url", "missing"],
    [{ events: [] }, "/events", "1"],
    [{ events: ["task.done"] }, "/events/0", "task.completed"],
    [{ agents: [""] }, "/agents/0", "1"],
    [{ description: "a\nb" }, "/description", "one line"],
    [{ include_result: "yes" }, "/include_result", "true or false"],
    [{ secret: "mine" }, "/secret", "not known"],
  ])("%j is refused, and it is said what would be right", async (body, pointer, detail) => {
    const answer = await create(body);
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toContainEqual(
      expect.objectContaining({ pointer, detail: expect.stringContaining(detail) }),
    );
    const { body: good } = await create();
    // A change may leave everything out.
    if ("url" in body && body.url === undefined) return;
    expect((await served.call("PATCH", `${PATH}/${good.id}`, { url: "https://127.1.1.1/" })).status).toBe(
      200,
    );
    expect((await served.call("PATCH", `${PATH}/${good.id}`, body)).status).toBe(422);
  });

  test("are a hundred per zone at most", async () => {
    const zone = { "x-zone-id": "full" };
    for (let count = 0; count < 100; count++) expect((await create({}, zone)).status).toBe(201);
    expect((await create({}, zone)).body.code).toBe("too-many-webhooks");
  });

  test("list what is sent to them, page by page, as documented", async () => {
    const { body } = await create({}, { "x-zone-id": "pages" });
    const zone = { "x-zone-id": "pages" };
    const sent: string[] = [];
    for (let count = 0; count < 5; count++) {
      const { status, body: made } = await served.call("POST", `${PATH}/${body.id}/test`, undefined, zone);
      expect([status, made.type, made.subject]).toEqual([202, "webhook.test", body.id]);
      sent.unshift(made.id);
    }
    const target = contract.operations().find(({ path }) => path.endsWith("/webhooks/{id}/deliveries"));
    const listed: string[] = [];
    for (let cursor = ""; ; ) {
      const answer = await served.call(
        "GET",
        `${PATH}/${body.id}/deliveries?limit=2${cursor}`,
        undefined,
        zone,
      );
      expect(target && contract.fault(target, answer)).toBeUndefined();
      listed.push(...answer.body.deliveries.map(({ id }: { id: string }) => id));
      if (answer.body.next === null) break;
      cursor = `&cursor=${answer.body.next}`;
    }
    expect(listed).toEqual(sent);
    const other = await create();
    const path = `${PATH}/${other.body.id}/deliveries/${sent[0]}`;
    expect((await served.call("GET", path)).status).toBe(404);
    expect((await served.call("POST", `${path}/redeliver`)).status).toBe(404);
    const again = `${PATH}/${body.id}/deliveries/${sent[0]}/redeliver`;
    expect((await served.call("POST", again, undefined, zone)).body).toMatchObject({ id: sent[0], tries: 0 });
  });
});
