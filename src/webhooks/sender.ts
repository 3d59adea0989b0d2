import { request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { addressesOf, readTarget, type TargetRules } from "./target.ts";

/** How a request ended: with a status, or without one. */
export type Outcome = { readonly status: number } | { readonly error: string };

export interface Message {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** As much of an answer as is read before the connection is closed. */
const MAX_ANSWER_BYTES = 64 * 1024;

/**
 * Sends a message to where its URL leads now, if that is allowed, and says how it was answered. Redirects are not
 * followed: what they lead to was never agreed to.
 */
export async function send(
  message: Message,
  rules: TargetRules,
  timeoutMs: number,
  stopped: AbortSignal,
): Promise<Outcome> {
  const url = readTarget(message.url, rules);
  if ("refusal" in url) return { error: `its URL ${url.refusal}` };
  // Not `AbortSignal.any`: on Node 20 what is made from a signal that lives long is kept as long as that.
  const over = new AbortController();
  const end = () => over.abort();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    end();
  }, timeoutMs);
  stopped.addEventListener("abort", end);
  if (stopped.aborted) end();
  try {
    const addresses = await Promise.race([addressesOf(url, rules), aborted(over.signal)]);
    if (addresses === undefined) return { error: tooLate(timeoutMs) };
    if ("refusal" in addresses) return { error: `its URL ${addresses.refusal}` };
    return await post(url, addresses, message, over.signal);
  } catch (error) {
    return { error: isLate ? tooLate(timeoutMs) : reasonOf(error) };
  } finally {
    clearTimeout(timer);
    stopped.removeEventListener("abort", end);
  }
}

function post(
  url: URL,
  addresses: readonly string[],
  { headers, body }: Message,
  signal: AbortSignal,
): Promise<Outcome> {
  const options: RequestOptions = {
    method: "POST",
    signal,
    // A connection of its own: one that is kept would outlive the check of its address.
    agent: false,
    lookup: lookupIn(addresses),
    headers: {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      "user-agent": "orrery-webhooks/1",
      ...headers,
    },
  };
  return new Promise((resolve, reject) => {
    let status: number | undefined;
    // With its status an answer has said all that counts, however the rest of it ends.
    const end = (error: Error) => (status === undefined ? reject(error) : resolve({ status }));
    const request = (url.protocol === "https:" ? httpsRequest : httpRequest)(url, options, (response) => {
      status = response.statusCode ?? 0;
      drop(response, () => end(new Error("it was cut off")));
    });
    request.on("error", end);
    request.end(body);
  });
}

/** The connection asks for the name, and gets what was checked. */
function lookupIn(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_name, options, done) => {
    const [first] = all;
    if (options.all) done(null, all);
    else done(null, first?.address ?? "", first?.family);
  };
}

function drop(response: IncomingMessage, done: () => void): void {
  let bytes = 0;
  response.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) response.destroy();
  });
  response.on("error", () => {});
  response.once("close", done);
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}

function tooLate(timeoutMs: number): string {
  return `there was no answer within ${timeoutMs / 1000} s`;
}

/** By its code: messages of the system name addresses. */
function reasonOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  return `the connection failed (${code ?? "unknown"})`;
}
