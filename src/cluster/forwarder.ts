import { Agent, type ClientRequest, type IncomingMessage, request, type ServerResponse } from "node:http";
import { Agent as SecureAgent, request as secureRequest } from "node:https";
import { isIP, type Socket } from "node:net";
import { openSpan, readTraceContext, type TraceContext } from "../telemetry/index.ts";
import { connectOptions } from "../tls/index.ts";
import { endToEnd, framingOf, statusAndHeaders } from "./hop.ts";

/** Whoever gets it and does not lead either refuses, or two who are mistaken would go on for ever. */
const FORWARDED = "x-orrery-forwarded";

/** How long an idle connection is kept; the leader keeps it for longer. */
const KEEP_MS = 30_000;

export interface ForwarderOptions {
  /** Who forwards. */
  readonly name: string;
  /** Answers that nobody leads, and why. */
  readonly refuse: (response: ServerResponse, why: string) => void;
  readonly refuseOnSocket: (socket: Socket, why: string) => void;
}

/** Hands requests on to the leader as they come, and its answers back: bodies, streams and WebSockets alike. */
export class Forwarder implements Disposable {
  readonly #options: ForwarderOptions;
  readonly #agent = new Agent({ keepAlive: true, timeout: KEEP_MS });
  readonly #secureAgent = new SecureAgent({ keepAlive: true, timeout: KEEP_MS });
  /** Ends what is under way. */
  readonly #open = new Set<() => void>();
  #leader: { readonly holder: string; readonly url: string } = { holder: "", url: "" };

  constructor(options: ForwarderOptions) {
    this.#options = options;
  }

  /** What another one was asked meanwhile is not answered any more: it may be dead, or stand still. */
  follow(leader: { readonly holder: string; readonly url: string }): void {
    const isAnother = leader.holder !== this.#leader.holder;
    this.#leader = leader;
    if (isAnother) this.#cut();
  }

  forward(incoming: IncomingMessage, response: ServerResponse): void {
    const why = this.#whyNot(incoming);
    if (why !== undefined) {
      incoming.resume();
      this.#options.refuse(response, why);
      return;
    }
    const { traceparent, tracestate } = incoming.headers;
    const span = openSpan("forward", {
      kind: "CLIENT",
      parent: readTraceContext(traceparent, tracestate),
      attributes: { "orrery.leader": this.#leader.holder },
    });
    const framing = framingOf(incoming);
    const headers = [...tracedBy(endToEnd(incoming), span?.trace), ...framing.headers];
    const outgoing = this.#request(incoming, headers, true);
    const lost = () => {
      incoming.unpipe(outgoing);
      incoming.resume();
      if (response.headersSent) response.destroy();
      else this.#options.refuse(response, `${this.#leader.holder || "the leader"} did not answer`);
      outgoing.destroy();
    };
    const end = this.#track(lost);
    outgoing.on("response", (answer) => {
      // The leader closes where it did not read a body to its end; so the caller meets the same from either server.
      const closes = answer.headers.connection === "close" ? ["Connection", "close"] : [];
      response.writeHead(answer.statusCode ?? 502, [...endToEnd(answer), ...closes]);
      response.flushHeaders();
      answer.on("error", lost);
      answer.pipe(response);
    });
    outgoing.on("error", () => {
      // What is wrong after the answer has begun, the answer says: it may be whole, and the request not wanted.
      if (!response.headersSent && end()) lost();
    });
    response.on("close", () => {
      end();
      span?.end(response.writableFinished ? undefined : "cut off");
      if (!response.writableFinished) outgoing.destroy();
    });
    // A body that breaks off must not keep the leader waiting for its end.
    incoming.on("error", () => outgoing.destroy());
    if (framing.hasBody) incoming.pipe(outgoing);
    else outgoing.end();
  }

  forwardUpgrade(incoming: IncomingMessage, socket: Socket, head: Buffer): void {
    const why = this.#whyNot(incoming);
    if (why !== undefined) {
      this.#options.refuseOnSocket(socket, why);
      return;
    }
    const { headers: framing } = framingOf(incoming);
    const headers = [...endToEnd(incoming), ...framing, "Connection", "Upgrade", "Upgrade", "websocket"];
    const outgoing = this.#request(incoming, headers, false);
    const end = this.#track(() => {
      outgoing.destroy();
      socket.destroy();
    });
    outgoing.on("upgrade", (answer, upstream: Socket, first: Buffer) => {
      socket.write(statusAndHeaders(answer, ["Connection", "Upgrade", "Upgrade", "websocket"]));
      join(socket, upstream, head, first);
    });
    outgoing.on("response", (answer) => {
      socket.write(statusAndHeaders(answer, ["Connection", "close"]));
      answer.on("error", () => socket.destroy());
      answer.pipe(socket);
    });
    outgoing.on("error", () => {
      if (end()) this.#options.refuseOnSocket(socket, "the leader did not answer");
    });
    socket.on("close", () => {
      end();
      outgoing.destroy();
    });
    outgoing.end();
  }

  [Symbol.dispose](): void {
    this.#cut();
    this.#agent.destroy();
    this.#secureAgent.destroy();
  }

  #whyNot({ headers }: IncomingMessage): string | undefined {
    const from = headers[FORWARDED];
    return from === undefined ? this.whyNot : `this server does not lead; ${String(from)} thought so`;
  }

  /** Why no request can be forwarded now; undefined if there is a leader. */
  get whyNot(): string | undefined {
    const { holder, url } = this.#leader;
    if (holder === "") return "no server leads at this moment";
    if (url === "") return `${holder} leads, and takes no requests`;
    return undefined;
  }

  #request(incoming: IncomingMessage, headers: string[], isShared: boolean): ClientRequest {
    // The path as it came, which need not be one that URL would leave as it is.
    const { hostname, port, protocol, host } = new URL(this.#leader.url);
    const { method, url: path } = incoming;
    // HTTP/1.0 lets a request have no Host; what is sent here is HTTP/1.1.
    const ownHost = incoming.headers.host === undefined ? ["Host", host] : [];
    const isSecure = protocol === "https:";
    const address = hostname.replace(/^\[|\]$/g, "");
    const options = {
      hostname: address,
      port: port === "" ? (isSecure ? 443 : 80) : port,
      method,
      path,
      setHost: false,
      headers: [...headers, ...ownHost, FORWARDED, this.#options.name],
    };
    if (!isSecure) return request({ ...options, agent: isShared && this.#agent });
    return secureRequest({
      ...options,
      agent: isShared && this.#secureAgent,
      ...connectOptions(),
      // Not the Host of the caller: the certificate must be the leader's.
      servername: isIP(address) === 0 ? address : "",
    });
  }

  /** The answer ends the tracking, and says whether it had not ended yet. */
  #track(cut: () => void): () => boolean {
    this.#open.add(cut);
    return () => this.#open.delete(cut);
  }

  #cut(): void {
    const open = [...this.#open];
    this.#open.clear();
    for (const cut of open) cut();
  }
}

/** With another trace than the one that came. */
function tracedBy(headers: readonly string[], trace: TraceContext | undefined): readonly string[] {
  if (!trace) return headers;
  const kept: string[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const [name = "", value = ""] = headers.slice(at, at + 2);
    if (!/^trace(parent|state)$/i.test(name)) kept.push(name, value);
  }
  for (const [name, value] of Object.entries(trace)) kept.push(name, String(value));
  return kept;
}

function join(socket: Socket, upstream: Socket, head: Buffer, first: Buffer): void {
  upstream.on("error", () => upstream.destroy());
  upstream.on("close", () => socket.destroy());
  socket.on("close", () => upstream.destroy());
  if (first.length > 0) socket.write(first);
  if (head.length > 0) upstream.write(head);
  upstream.pipe(socket);
  socket.pipe(upstream);
}
