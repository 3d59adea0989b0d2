import { Resolver } from "node:dns/promises";
import { isIP } from "node:net";
import type { AddressRules } from "./addresses.ts";

/** Where webhooks may go. */
export interface TargetRules {
  readonly allowHttp: boolean;
  readonly addresses: AddressRules;
  readonly resolve: Resolve;
}

/** All addresses of a name; throws where there are none. */
export type Resolve = (name: string) => Promise<readonly string[]>;

export interface TargetRefusal {
  readonly refusal: string;
}

const MAX_URL = 2048;
const LOOKUP_TIMEOUT_MS = 3_000;
const NO_SUCH_NAME: ReadonlySet<string> = new Set(["ENOTFOUND", "ENODATA", "EBADNAME", "EBADRESP"]);

/** A URL as it was typed. Spellings of an address that only look odd are normal ones afterwards. */
export function readTarget(text: string, { allowHttp }: Pick<TargetRules, "allowHttp">): URL | TargetRefusal {
  if (text.length > MAX_URL) return { refusal: `must not be longer than ${MAX_URL} characters` };
  // What a parser of URLs drops or turns around in silence was meant to be something else.
  if (!/^https?:\/\/[^/\\]/i.test(text) || /[\s\\\p{Cc}]/u.test(text) || !URL.canParse(text))
    return { refusal: 'must be a URL such as "https://example.com/hooks"' };
  const url = new URL(text);
  if (url.protocol === "http:" && !allowHttp)
    return { refusal: "must begin with https://; the server takes http:// with --allow-http-webhooks only" };
  if (url.username !== "" || url.password !== "")
    return { refusal: "must not hold a user or a password; the signature says who sends" };
  const port = url.port === "" ? undefined : Number(url.port);
  if (port !== undefined && port < 1024 && port !== 80 && port !== 443)
    return { refusal: "must have port 80, 443, or one from 1024 on" };
  return url;
}

/**
 * The addresses that a target has now, if all of them may be connected to. Whoever connects uses these and asks no
 * second time: a name may have another answer a moment later.
 */
export async function addressesOf(url: URL, rules: TargetRules): Promise<readonly string[] | TargetRefusal> {
  const name = url.hostname.replace(/^\[|\]$/g, "").replace(/\.+$/, "");
  const found = await lookUp(name, rules);
  if ("refusal" in found) return found;
  // One bad address is enough: whoever controls the name decides which of them is tried first.
  return found.every((address) => rules.addresses.permits(address)) ? found : NOT_PUBLIC;
}

async function lookUp(name: string, rules: TargetRules): Promise<readonly string[] | TargetRefusal> {
  if (isIP(name) !== 0) return [name];
  if (/(^|\.)localhost$/i.test(name) || /(^|\.)localhost\.localdomain$/i.test(name)) return ["127.0.0.1"];
  try {
    const found = await rules.resolve(name);
    return found.length > 0 ? found : NO_ADDRESS;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return NO_SUCH_NAME.has(code ?? "") ? NO_ADDRESS : NO_ANSWER;
  }
}

/** It does not say which address: that would tell what is inside a network. */
const NOT_PUBLIC: TargetRefusal = {
  refusal: "leads to an address that is not public; an operator may allow it with --webhook-allow",
};
const NO_ADDRESS: TargetRefusal = { refusal: "names a host that has no address" };
/** It may pass. */
export const NO_ANSWER: TargetRefusal = { refusal: "names a host that could not be looked up" };

/**
 * Asks DNS, and nothing else: the system's own way may block one of the few threads that all files share, for as long
 * as somebody's name server takes its time.
 */
export async function resolveByDns(name: string): Promise<readonly string[]> {
  const resolver = new Resolver({ timeout: LOOKUP_TIMEOUT_MS, tries: 2 });
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const found = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  if (found.length > 0) return found;
  const reasons = answers.flatMap((answer) => (answer.status === "rejected" ? [answer.reason as Error] : []));
  const passing = reasons.find((reason) => !NO_SUCH_NAME.has((reason as NodeJS.ErrnoException).code ?? ""));
  throw passing ?? reasons[0] ?? new Error("no answer");
}
