import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import type { ChunkHandle, ChunkKind } from "../protocol/index.ts";
import { connectOptions } from "../tls/index.ts";
import { hostOf, lookupWithin, NOT_PERMITTED } from "./holder-addresses.ts";

/** How a holder did not give a chunk: it does not have it, it is busy, or nothing is heard of it. */
export class NotGiven extends Error {
  override readonly name: string = "NotGiven";
  readonly why: "gone" | "busy" | "unreachable";

  constructor(why: NotGiven["why"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.why = why;
  }
}

export interface ChunkRequest {
  /** Of its holder. */
  readonly url: string;
  readonly id: string;
  readonly token: string;
  /** Whether the address that the URL leads to may be connected to. */
  readonly permits: (address: string) => boolean;
  readonly signal: AbortSignal;
  readonly limits?: TransferLimits;
  /** One that says to have another does not have it. */
  readonly expected?: Omit<ChunkHandle, "kind">;
}

/** How slow a holder may be, so that another one is asked instead. */
export interface TransferLimits {
  /** Until it answers. One that is busy says so sooner. */
  readonly answerMs: number;
  /** Of the time that is waited for it, in so long it has to send so many bytes. */
  readonly windowMs: number;
  readonly windowBytes: number;
}

export interface ComingChunk {
  readonly handle: ChunkHandle;
  readonly body: AsyncIterable<Buffer>;
}

const LIMITS: TransferLimits = { answerMs: 15_000, windowMs: 10_000, windowBytes: 160 * 1024 };
const KINDS: readonly string[] = ["json", "bytes", "text", "clone"] satisfies ChunkKind[];

const agents = {
  "http:": new HttpAgent({ keepAlive: true }),
  "https:": new HttpsAgent({ keepAlive: true }),
};

/** Rejects with `NotGiven`; so does reading its body. */
export async function requestChunk(asked: ChunkRequest): Promise<ComingChunk> {
  const response = await respond(asked).catch((error: unknown) => {
    throw unreachable(error);
  });
  const { statusCode, headers } = response;
  const kind = String(headers["x-orrery-kind"]);
  const handle = {
    kind: kind as ChunkKind,
    bytes: Number(headers["content-length"]),
    sha256: String(headers["x-orrery-sha256"]),
  };
  const { bytes, sha256 } = asked.expected ?? handle;
  const isOther = asked.expected && (handle.bytes !== bytes || handle.sha256 !== sha256);
  if (statusCode !== 200 || !KINDS.includes(kind) || isOther) {
    // Not read to its end: it may have none.
    response.destroy();
    const what = statusCode === 200 ? "another chunk, or none" : String(statusCode);
    throw new NotGiven(statusCode === 503 ? "busy" : "gone", `it answers ${what}`);
  }
  return { handle, body: bodyOf(response, asked.limits ?? LIMITS) };
}

/** Redirects are not followed: nobody has checked where they lead. */
function respond({
  url,
  id,
  token,
  permits,
  signal,
  limits = LIMITS,
}: ChunkRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const target = new URL(`/chunks/${id}`, url);
    const host = hostOf(target);
    if (isIP(host) !== 0 && !permits(host)) throw new Error(NOT_PERMITTED);
    const isSecure = target.protocol === "https:";
    const options = {
      agent: agents[isSecure ? "https:" : "http:"],
      headers: { authorization: `Bearer ${token}` },
      lookup: lookupWithin(permits),
      signal,
    };
    const request = isSecure
      ? httpsRequest(target, { ...options, ...connectOptions() })
      : httpRequest(target, options);
    const { answerMs } = limits;
    const late = setTimeout(() => request.destroy(new Error(`no answer within ${answerMs} ms`)), answerMs);
    request
      .once("response", resolve)
      .on("error", reject)
      .once("response", () => clearTimeout(late))
      .once("close", () => clearTimeout(late))
      .end();
  });
}

async function* bodyOf(
  response: IncomingMessage,
  { windowMs, windowBytes }: TransferLimits,
): AsyncGenerator<Buffer> {
  const pieces = response[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>;
  const slow = new Error(`it sends less than ${windowBytes} bytes in ${windowMs} ms`);
  let bytes = 0;
  let waitedMs = 0;
  try {
    for (;;) {
      const sinceMs = performance.now();
      const late = setTimeout(() => response.destroy(slow), windowMs);
      const { done, value } = await pieces.next().finally(() => clearTimeout(late));
      if (done) return;
      bytes += value.length;
      waitedMs += performance.now() - sinceMs;
      yield value;
      if (waitedMs < windowMs) continue;
      if (bytes < windowBytes) throw slow;
      bytes = 0;
      waitedMs = 0;
    }
  } catch (error) {
    throw unreachable(error);
  } finally {
    response.destroy();
  }
}

function unreachable(cause: unknown): NotGiven {
  const { message, code } = cause as NodeJS.ErrnoException;
  return new NotGiven("unreachable", message || (code ?? "it cannot be reached"), { cause });
}
