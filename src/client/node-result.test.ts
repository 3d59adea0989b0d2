// Results as they arrive, against answers that are made up.

import { createHash } from "node:crypto";
import { serialize } from "node:v8";
import { expect, test } from "vitest";
import { OrreryClient } from "./index.ts";

function held(kind: string, bytes: Uint8Array<ArrayBuffer>, sent: Uint8Array<ArrayBuffer> = bytes): Response {
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return new Response(sent, { headers: { "x-orrery-kind": kind, "x-orrery-sha256": sha256 } });
}

const stored = (value: unknown): Response => Response.json({ kind: "json", value });

/** Answers one after the other, the last again and again. */
function clientOf(...answers: readonly (() => Response)[]): { client: OrreryClient; asked: string[] } {
  const asked: string[] = [];
  const fetch = async (url: string | URL | Request): Promise<Response> => {
    asked.push(String(url));
    return (answers[Math.min(asked.length, answers.length) - 1] as () => Response)();
  };
  return { client: new OrreryClient({ url: "http://server.test", key: "k", fetch, retryForMs: 0 }), asked };
}

test.each([
  ["JSON", stored([1, { a: null }]), [1, { a: null }]],
  ["nothing", stored(null), null],
  ["small bytes", stored({ $chunk: "bytes", base64: "AAE=" }), Buffer.from([0, 1])],
  [
    "a small clone",
    stored({ $chunk: "clone", base64: serialize(new Date(0)).toString("base64") }),
    new Date(0),
  ],
  ["large JSON", held("json", Buffer.from('{"a":[1]}')), { a: [1] }],
  ["large text", held("text", Buffer.from("ä\0")), "ä\0"],
  ["large bytes", held("bytes", Buffer.from([255])), Buffer.from([255])],
  ["a large clone", held("clone", Buffer.from(serialize(new Map([[1, 2]])))), new Map([[1, 2]])],
])("%s", async (_what, answer, value) => {
  const { client, asked } = clientOf(() => answer);
  expect(await client.gather("a run", ["a/node"])).toEqual([value]);
  expect(asked).toEqual(["http://server.test/api/v2/scheduler/runs/a%20run/nodes/a%2Fnode/result"]);
});

test("what breaks off, or is not what was made, is fetched again, and given up in the end", async () => {
  const whole = Buffer.from("the result");
  const cut = (): Response => held("text", whole, whole.subarray(0, 5));
  const { client, asked } = clientOf(cut, cut, () => held("text", whole));
  expect(await client.gather("r", ["n"])).toEqual(["the result"]);
  expect(asked.length).toBe(3);
  await expect(clientOf(cut).client.gather("r", ["n"])).rejects.toMatchObject({
    code: "broken",
    message: "the result of n did not arrive as it is: its 5 bytes are not those that were made",
  });
});

test("one that cannot be had ends the rest", async () => {
  const gone = (): Response => Response.json({ code: "result-gone", detail: "freed" }, { status: 410 });
  const { client, asked } = clientOf(gone);
  const nodes = Array.from({ length: 100 }, (_, at) => `n${at}`);
  await expect(client.gather("r", nodes)).rejects.toMatchObject({ code: "result-gone", status: 410 });
  expect(asked.length).toBeLessThan(20);
});
