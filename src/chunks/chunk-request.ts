import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { ChunkHandle, ChunkKind } from "../protocol/index.ts";

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
  readonly signal: AbortSignal;
}

export interface ComingChunk {
  readonly handle: ChunkHandle;
  readonly body: AsyncIterable<Buffer>;
}

const STALL_MS = 60_000;
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
  if (statusCode !== 200 || !KINDS.includes(kind)) {
    response.resume();
    throw new NotGiven(statusCode === 503 ? "busy" : "gone", `it answers ${statusCode}`);
  }
  const handle = {
    kind: kind as ChunkKind,
    bytes: Number(headers["content-length"]),
    sha256: String(headers["x-orrery-sha256"]),
  };
  return { handle, body: bodyOf(response) };
}

function respond({ url, id, token, signal }: ChunkRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const target = new URL(`${url.replace(/\/$/, "")}/chunks/${id}`);
    const isSecure = target.protocol === "https:";
    const options = {
      agent: agents[isSecure ? "https:" : "http:"],
      headers: { authorization: `Bearer ${token}` },
      signal,
    };
    const request = isSecure ? httpsRequest(target, options) : httpRequest(target, options);
    request.setTimeout(STALL_MS, () => request.destroy(new Error("nothing is heard of it")));
    request.once("response", resolve).on("error", reject).end();
  });
}

async function* bodyOf(response: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    for await (const piece of response) yield piece as Buffer;
  } catch (error) {
    throw unreachable(error);
  }
}

function unreachable(cause: unknown): NotGiven {
  const { message, code } = cause as NodeJS.ErrnoException;
  return new NotGiven("unreachable", message || (code ?? "it cannot be reached"), { cause });
}
