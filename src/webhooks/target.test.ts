import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer as createTcpServer } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NAMES, privateUrls, WRONG_URLS } from "../../tests/private-urls.ts";
import { AddressRules, isNetwork } from "./addresses.ts";
import { send } from "./sender.ts";
import { addressesOf, readTarget, type TargetRules } from "./target.ts";

const resolve = async (name: string): Promise<readonly string[]> => {
  const found = NAMES[name.toLowerCase()];
  if (found) return found;
  throw Object.assign(new Error("no such name"), { code: "ENOTFOUND" });
};
const STRICT: TargetRules = { allowHttp: false, addresses: new AddressRules(), resolve };
const WITH_HTTP: TargetRules = { ...STRICT, allowHttp: true };

async function refusalOf(text: string, rules: TargetRules): Promise<string | undefined> {
  const url = readTarget(text, rules);
  if ("refusal" in url) return url.refusal;
  const addresses = await addressesOf(url, rules);
  return "refusal" in addresses ? addresses.refusal : undefined;
}

describe("a target", () => {
  const all = [...privateUrls("https"), ...privateUrls("http"), ...WRONG_URLS];

  test("is refused in all of more than 200 ways to reach what is not public", async () => {
    expect(new Set(all).size).toBeGreaterThan(200);
    const taken: string[] = [];
    for (const text of all) if ((await refusalOf(text, WITH_HTTP)) === undefined) taken.push(text);
    expect(taken).toEqual([]);
  });

  test("is taken where it is public", async () => {
    const urls = [
      "https://public.example/hooks",
      "https://both.example:8443/?a=b#c",
      "HTTPS://PUBLIC.example",
      "https://public.example./",
      "https://8.8.8.8/",
      "https://134744072/",
      "https://172.15.255.255/",
      "https://172.32.0.1/",
      "https://100.63.255.255/",
      "https://[2606:4700:4700::1111]/",
      "https://[64:ff9b::8.8.8.8]/",
    ];
    for (const url of urls) expect(await refusalOf(url, STRICT), url).toBeUndefined();
  });

  test("must be https unless the operator says otherwise", async () => {
    expect(await refusalOf("http://public.example/", STRICT)).toMatch("--allow-http-webhooks");
    expect(await refusalOf("http://public.example/", WITH_HTTP)).toBeUndefined();
  });

  test("is taken in a network that the operator allows, and only there", async () => {
    const rules = { ...STRICT, addresses: new AddressRules(["10.0.0.0/8", "fd00::/8", "192.168.7.7"]) };
    for (const host of ["10.1.2.3", "[fd12::1]", "192.168.7.7", "half.example"])
      expect(await refusalOf(`https://${host}/`, rules), host).toBeUndefined();
    for (const host of ["192.168.7.8", "[fc00::1]", "127.0.0.1", "localhost", "half-6.example"])
      expect(await refusalOf(`https://${host}/`, rules), host).toMatch("not public");
    const loopback = { ...STRICT, addresses: new AddressRules(["127.0.0.0/8"]) };
    expect(await refusalOf("https://localhost/", loopback)).toBeUndefined();
  });

  test("does not tell which address it leads to", async () => {
    expect(await refusalOf("https://metadata.example/", STRICT)).not.toContain("169.254");
  });
});

test("a network is an address, or an address and how many bits of it count", () => {
  for (const text of ["10.0.0.0/8", "10.1.2.3", "fd00::/8", "::1", "0.0.0.0/0"])
    expect(isNetwork(text), text).toBe(true);
  for (const text of [
    "",
    "10.0.0.0/33",
    "10.0.0/8",
    "fd00::/129",
    "localhost",
    "10.0.0.0/8/8",
    "10.0.0.0/-1",
    "fe80::1%lo",
  ])
    expect(isNetwork(text), text).toBe(false);
  expect(() => new AddressRules(["10.0.0.0/33"])).toThrow("10.0.0.0/33 is no network");
});

describe("with a listener on loopback that must hear nothing,", () => {
  let heard = 0;
  let port = 0;
  const listeners = ["127.0.0.1", "::1"].map((host) => ({
    host,
    server: createTcpServer((socket) => {
      heard += 1;
      socket.destroy();
    }),
  }));

  beforeAll(async () => {
    for (const { host, server } of listeners) {
      const listening = await new Promise<boolean>((done) => {
        server.once("error", () => done(false));
        server.listen(port, host, () => done(true));
      });
      if (listening) port = (server.address() as AddressInfo).port;
    }
  });
  afterAll(() => {
    for (const { server } of listeners) server.close();
  });

  test("nothing is sent to what is not public, in whatever way it is said", async () => {
    const urls = [...privateUrls("http", port), ...privateUrls("https", port), ...WRONG_URLS];
    for (const url of urls) {
      const outcome = await send(
        { url, headers: {}, body: "{}" },
        WITH_HTTP,
        5_000,
        new AbortController().signal,
      );
      expect(outcome, url).toMatchObject({ error: expect.stringMatching(/^its URL /) });
    }
    expect(heard).toBe(0);
  });

  test("nor to a name whose answer changes between two looks at it", async () => {
    let asked = 0;
    const rules = { ...WITH_HTTP, resolve: async () => (asked++ === 0 ? ["93.184.215.14"] : ["127.0.0.1"]) };
    const url = `http://changing.example:${port}/`;
    expect(await refusalOf(url, rules)).toBeUndefined();
    const outcome = await send({ url, headers: {}, body: "{}" }, rules, 5_000, new AbortController().signal);
    expect(outcome).toEqual({ error: expect.stringContaining("not public") });
    expect([asked, heard]).toEqual([2, 0]);
  });
});

describe("a request", () => {
  const stopped = new AbortController().signal;
  const rules: TargetRules = {
    ...WITH_HTTP,
    addresses: new AddressRules(["127.0.0.0/8"]),
    resolve: async () => ["127.0.0.1"],
  };

  async function answering(answer: Parameters<typeof createServer>[1]) {
    const server = createServer({}, answer);
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const { port } = server.address() as AddressInfo;
    return {
      url: `http://hooks.example:${port}/in?a=b`,
      async [Symbol.asyncDispose]() {
        server.closeAllConnections();
        await new Promise((done) => server.close(done));
      },
    };
  }

  test("looks its name up once, connects there, and says for whom it is", async () => {
    let asked = 0;
    const heard: unknown[] = [];
    await using server = await answering((request, response) => {
      heard.push([request.method, request.url, request.headers.host, request.headers["x-a"]]);
      response.writeHead(204).end();
    });
    const counting = { ...rules, resolve: async () => (asked++ === 0 ? ["127.0.0.1"] : ["192.0.2.1"]) };
    const message = { url: server.url, headers: { "x-a": "b" }, body: "{}" };
    expect(await send(message, counting, 5_000, stopped)).toEqual({ status: 204 });
    expect(heard).toEqual([["POST", "/in?a=b", new URL(server.url).host, "b"]]);
    expect(asked).toBe(1);
  });

  test("names its host to a server with TLS, whose certificate must be valid", async () => {
    const names: string[] = [];
    const SNICallback = (name: string, done: (error: Error | null) => void) => {
      names.push(name);
      done(new Error("there is no certificate"));
    };
    const server = createTlsServer({ SNICallback }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `https://hooks.example:${(server.address() as AddressInfo).port}/`;
    const outcome = await send({ url, headers: {}, body: "{}" }, rules, 30_000, stopped);
    server.close();
    expect(outcome).toEqual({ error: expect.stringMatching(/^the connection failed \(/) });
    expect(names).toEqual(["hooks.example"]);
  });

  test("does not follow a redirect", async () => {
    const urls: (string | undefined)[] = [];
    await using server = await answering((request, response) => {
      urls.push(request.url);
      response.writeHead(307, { location: "/elsewhere" }).end();
    });
    const outcome = await send({ url: server.url, headers: {}, body: "{}" }, rules, 5_000, stopped);
    expect([outcome, urls]).toEqual([{ status: 307 }, ["/in?a=b"]]);
  });

  test("ends when its time is over, whether the name, the answer or its end is late", async () => {
    const message = { headers: {}, body: "{}" };
    const late = { error: "there was no answer within 0.3 s" };
    const slowNames = { ...rules, resolve: () => new Promise<never>(() => {}) };
    await using silent = await answering(() => {});
    await using endless = await answering((_, response) => void response.writeHead(200).write("."));
    expect(await send({ ...message, url: silent.url }, slowNames, 300, stopped)).toEqual(late);
    expect(await send({ ...message, url: silent.url }, rules, 300, stopped)).toEqual(late);
    expect(await send({ ...message, url: endless.url }, rules, 3_000, stopped)).toEqual({ status: 200 });
  });

  test("reads no more than 64 KiB of an answer", async () => {
    let isClosed = () => {};
    const closed = new Promise<void>((done) => {
      isClosed = done;
    });
    await using server = await answering((_, response) => {
      response.on("close", isClosed).writeHead(200);
      const more = () => {
        while (response.write(Buffer.alloc(16 * 1024)));
        response.once("drain", more);
      };
      more();
    });
    expect(await send({ url: server.url, headers: {}, body: "{}" }, rules, 60_000, stopped)).toEqual({
      status: 200,
    });
    await closed;
  });

  test("that nobody takes says why by a code, not by an address", async () => {
    const url = await answering(() => {}).then(async (server) => {
      await server[Symbol.asyncDispose]();
      return server.url;
    });
    const outcome = await send({ url, headers: {}, body: "{}" }, rules, 5_000, stopped);
    expect(outcome).toEqual({ error: "the connection failed (ECONNREFUSED)" });
  });
});
