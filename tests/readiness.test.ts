import { afterAll, beforeAll, expect, test } from "vitest";
import { TestService } from "./service.ts";

let leader: TestService;
let follower: TestService;
let keys: Readonly<Record<string, string>>;
beforeAll(async () => {
  leader = await TestService.start("postgresql");
  const made = ["submit", "read", "work", "admin", "operator"].map(async (scope) => {
    const { body } = await leader.post("keys", { name: scope, scopes: [scope], zones: ["*"], agents: ["*"] });
    return [scope, body.secret as string] as const;
  });
  keys = Object.fromEntries(await Promise.all(made));
  // It reads the keys when it starts.
  follower = await TestService.start("postgresql", {}, leader.storeUrl);
}, 60_000);
afterAll(async () => {
  await follower[Symbol.asyncDispose]();
  await leader[Symbol.asyncDispose]();
});

test.each(["/readyz", "/health"])(
  "[F21] %s tells only operators more than whether a server is ready",
  async (path) => {
    for (const [role, service] of Object.entries({ leader, follower })) {
      const { operator = "", ...others } = keys;
      for (const key of [null, "sk-not-a-key-0123456789", ...Object.values(others)]) {
        const { status, body } = await service.get(path, { key });
        expect([status, body]).toEqual([200, { status: "ok" }]);
      }
      const { body } = await service.get(path, { key: operator });
      expect(body).toEqual({ status: "ok", version: "test", store: "postgresql", role });
      expect((await service.get(path, { key: operator, agent: "a" })).body).toEqual({ status: "ok" });
    }
  },
);
