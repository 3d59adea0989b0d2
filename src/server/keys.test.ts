import { afterEach, describe, expect, test } from "vitest";
import { MemoryStore } from "../store/index.ts";
import { Keys, type KeysOptions, type NewKey } from "./keys.ts";

const open: Keys[] = [];
afterEach(async () => {
  for (const keys of open.splice(0)) await keys[Symbol.asyncDispose]();
});

async function keysOf(store: MemoryStore, options: KeysOptions = {}): Promise<Keys> {
  const keys = await Keys.open(store, options);
  open.push(keys);
  return keys;
}

const reader: NewKey = { name: "reader", scopes: ["read"], zones: ["a"], agents: ["*"], expiresAt: -1 };

describe("a key", () => {
  test("is found by its secret, of which the store keeps only an HMAC", async () => {
    const store = new MemoryStore();
    const keys = await keysOf(store);
    const { key, secret } = await keys.create(reader);
    expect(secret).toMatch(/^sk-[\w-]{43}$/);
    expect(keys.find(secret)).toEqual(key);
    expect(JSON.stringify(await store.apiKeys())).not.toContain(secret);
    expect(keys.find(`${secret}x`)).toBeUndefined();
    expect(keys.find(key.hmac)).toBeUndefined();
  });

  test("ends when it expires", async () => {
    let now = 1000;
    const keys = await keysOf(new MemoryStore(), { now: () => now });
    const { secret } = await keys.create({ ...reader, expiresAt: 2000 });
    expect(keys.find(secret)).toBeDefined();
    now = 2000;
    expect(keys.find(secret)).toBeUndefined();
  });

  test("ends at once when it is revoked, also in another process soon after", async () => {
    const store = new MemoryStore();
    const here = await keysOf(store);
    const { key, secret } = await here.create(reader);
    const there = await keysOf(store, { refreshMs: 5 });
    expect(there.find(secret)).toBeDefined();
    await here.revoke(key.id);
    expect(here.find(secret)).toBeUndefined();
    await expect.poll(() => there.find(secret)).toBeUndefined();
    expect(await here.revoke("unknown")).toBeUndefined();
  });

  test("that is rotated has two secrets for a while, and the same rights", async () => {
    let now = 1000;
    const keys = await keysOf(new MemoryStore(), { now: () => now });
    const old = await keys.create(reader);
    const made = await keys.rotate(old.key.id, 500);
    expect(made?.key).toMatchObject({ name: "reader", scopes: ["read"], zones: ["a"], expiresAt: -1 });
    expect(keys.find(old.secret)).toBeDefined();
    now = 1500;
    expect(keys.find(old.secret)).toBeUndefined();
    expect(keys.find(made?.secret ?? "")).toEqual(made?.key);
    expect(await keys.rotate(old.key.id, 500)).toBeUndefined();
  });

  test("is not forgotten when the keys are read again while it is made", async () => {
    const keys = await keysOf(new MemoryStore());
    const [, made] = await Promise.all([keys.refresh(), keys.create(reader), keys.refresh()]);
    expect(keys.find(made.secret)).toEqual(made.key);
  });
});

describe("the first key", () => {
  test("may do everything, and is made once", async () => {
    const store = new MemoryStore();
    await keysOf(store, { firstKey: "0123456789abcdef0123456789abcdef" });
    const keys = await keysOf(store, { firstKey: "0123456789abcdef0123456789abcdef" });
    expect(keys.all()).toHaveLength(1);
    expect(keys.find("0123456789abcdef0123456789abcdef")).toMatchObject({ zones: ["*"], agents: ["*"] });
  });

  test("that is another one than before is added, and whoever runs the server is told", async () => {
    const store = new MemoryStore();
    const added: number[] = [];
    const onAdded = (others: number) => added.push(others);
    for (const firstKey of [
      "0123456789abcdef0123456789abcdef",
      "0123456789abcdef0123456789abcdef",
      "another-0123456789-0123456789-012",
    ])
      await keysOf(store, { firstKey, onAdded });
    expect(added).toEqual([1]);
  });

  test("stays revoked over a restart", async () => {
    const store = new MemoryStore();
    const keys = await keysOf(store, { firstKey: "0123456789abcdef0123456789abcdef" });
    await keys.revoke(keys.all()[0]?.id ?? "");
    expect(
      (await keysOf(store, { firstKey: "0123456789abcdef0123456789abcdef" })).find(
        "0123456789abcdef0123456789abcdef",
      ),
    ).toBeUndefined();
  });

  test.each(["short", "sk-0123456789abcdef0123456789ab", "a".repeat(40), "password".repeat(5)])(
    "[F13] that could be guessed (%s) stops the start with a command that makes one",
    async (firstKey) => {
      const refused = Keys.open(new MemoryStore(), { firstKey });
      await expect(refused).rejects.toThrow(
        /ORRERY_API_KEY must have at least 32 characters that nobody can guess.*openssl rand -base64 32/,
      );
    },
  );
});

test("the keys stay as they were while the store does not answer", async () => {
  const store = new MemoryStore();
  const failures: unknown[] = [];
  const keys = await keysOf(store, { refreshMs: 5, onRefreshError: (error) => failures.push(error) });
  const { secret } = await keys.create(reader);
  store.apiKeys = async () => {
    throw new Error("the store is away");
  };
  await expect.poll(() => failures.length).toBeGreaterThan(0);
  expect(keys.find(secret)).toBeDefined();
});

test("the first key is one, however many servers start with it at the same moment", async () => {
  const store = new MemoryStore();
  const firstKey = "sk-first-0123456789-and-0123456789";
  const [here, there] = await Promise.all([keysOf(store, { firstKey }), keysOf(store, { firstKey })]);
  const keys = await store.apiKeys();
  expect(keys).toHaveLength(1);
  await here.revoke(keys[0]?.id ?? "");
  await there.refresh();
  expect(there.find(firstKey)).toBeUndefined();
});

test("[F13] wrong keys are tried slowly for each address, and whoever has a known key goes on", async () => {
  let now = 0;
  const keys = await keysOf(new MemoryStore(), { now: () => now });
  const { secret } = await keys.create(reader);
  const { secret: unused } = await keys.create(reader);
  expect(keys.findFrom("192.0.2.1", secret)).toMatchObject({ name: reader.name });
  let tried = 0;
  while (keys.findFrom("192.0.2.1", `sk-guess-${tried}`) !== "too-many") tried++;
  expect(tried).toBe(100);
  expect(keys.findFrom("192.0.2.1", secret)).toMatchObject({ name: reader.name });
  expect(keys.findFrom("192.0.2.1", unused)).toBe("too-many");
  expect(keys.findFrom("192.0.2.2", "sk-guess")).toBeUndefined();
  now += 1_000;
  expect(keys.findFrom("192.0.2.1", "sk-guess")).toBeUndefined();
  expect(keys.findFrom("192.0.2.1", unused)).toMatchObject({ name: reader.name });
});

test("[F13] a network of IPv6 guesses as one address", async () => {
  const keys = await keysOf(new MemoryStore(), { now: () => 0 });
  for (let at = 0; at < 100; at++) keys.findFrom(`2001:db8:1:2::${at.toString(16)}`, "sk-guess");
  expect(keys.findFrom("2001:db8:1:2:ffff::1", "sk-guess")).toBe("too-many");
  expect(keys.findFrom("2001:db8:1:3::1", "sk-guess")).toBeUndefined();
});
