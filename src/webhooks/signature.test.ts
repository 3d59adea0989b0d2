import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { nextTryAt, STANDARD_WAITS_MS } from "./schedule.ts";
import { newSecret, signedHeaders } from "./signature.ts";

test("a message is signed as Standard Webhooks has it", () => {
  // The example of its reference implementations.
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const body = '{"test": 2432232314}';
  expect(signedHeaders("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body, [secret])).toEqual({
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  });
});

test("each secret signs, so that a receiver may know either", () => {
  const secrets = [newSecret(), newSecret()];
  const { "webhook-signature": header = "" } = signedHeaders("msg_1", 1, "ü", secrets);
  const expected = secrets.map((secret) => {
    const key = Buffer.from(secret.slice("whsec_".length), "base64");
    return `v1,${createHmac("sha256", key).update("msg_1.1.ü").digest("base64")}`;
  });
  expect(header.split(" ")).toEqual(expected);
  expect(secrets[0]).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
});

test("tries are spread over three days, each a little later than it must be", () => {
  let at = 0;
  for (const [index, waitMs] of STANDARD_WAITS_MS.entries()) {
    const next = nextTryAt(index + 1, at, STANDARD_WAITS_MS) ?? 0;
    expect(next).toBeGreaterThanOrEqual(at + waitMs);
    expect(next).toBeLessThanOrEqual(at + waitMs * 1.2);
    at = next;
  }
  expect(nextTryAt(STANDARD_WAITS_MS.length + 1, at, STANDARD_WAITS_MS)).toBeUndefined();
  const spread = new Set(Array.from({ length: 50 }, () => nextTryAt(2, 0, STANDARD_WAITS_MS)));
  expect(spread.size).toBeGreaterThan(10);
});
