import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { Readable } from "node:stream";
import { createSecureContext, type SecureContext } from "node:tls";
import { readPair, readTrusted, type SettingName, type TlsFiles } from "./files.ts";

/** A process trusts one list of certificates, and shows one of its own. */
let current: { readonly context: SecureContext | undefined } | undefined;

/** Sets what this process trusts and shows when it connects. Call again to read the files again. */
export function trust({ ca, cert, key }: TlsFiles, nameOf: SettingName): void {
  const pair = readPair({ cert, key }, nameOf);
  const isDefault = ca === undefined && pair === undefined;
  const context = isDefault
    ? undefined
    : createSecureContext({ ...pair, ...(ca !== undefined && { ca: readTrusted(ca, nameOf) }) });
  current = { context };
}

/**
 * Returns options to add when connecting; none where Node's defaults apply. Without a call of `trust`, the variables
 * ORRERY_TLS_CA, ORRERY_TLS_CERT and ORRERY_TLS_KEY count.
 */
export function connectOptions(): { readonly secureContext?: SecureContext } {
  if (!current) {
    const { ORRERY_TLS_CA: ca, ORRERY_TLS_CERT: cert, ORRERY_TLS_KEY: key } = process.env;
    trust({ ca: ca || undefined, cert: cert || undefined, key: key || undefined }, variableOf);
  }
  return current?.context ? { secureContext: current.context } : {};
}

function variableOf(setting: string): string {
  return `ORRERY_${setting.toUpperCase()}`;
}

const agent = new Agent({ keepAlive: true, timeout: 4_000 });

/** Works as `fetch`, which has no way to trust a certificate of ours. Only for bodies that are strings. */
export const secureFetch: typeof fetch = async (input, init) => {
  const url = new URL(input instanceof Request ? input.url : input);
  const { secureContext } = url.protocol === "https:" ? connectOptions() : {};
  if (!secureContext) return await fetch(input, init);
  const { method = "GET", body, signal } = init ?? {};
  const headers = Object.fromEntries(new Headers(init?.headers));
  const options = { method, headers, agent, secureContext, ...(signal && { signal }) };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, options)
      .on("response", resolve)
      .on("error", (cause) =>
        reject(signal?.aborted ? (signal.reason as Error) : new TypeError("fetch failed", { cause })),
      )
      .end(body ?? undefined);
  });
  return responseOf(answer);
};

function responseOf(answer: IncomingMessage): Response {
  const { statusCode: status = 0, statusMessage: statusText = "", rawHeaders } = answer;
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    headers.append(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "");
  const hasBody = status !== 204 && status !== 304;
  if (!hasBody) answer.resume();
  const body = hasBody ? (Readable.toWeb(answer) as ReadableStream<Uint8Array>) : null;
  return new Response(body, { status, statusText, headers });
}
