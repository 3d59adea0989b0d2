// A receiver of webhooks that checks signatures, remembers what came, and answers as it is told.

import { createHmac, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

export interface Received {
  readonly id: string;
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: what is told is what the tests are about
  readonly data: any;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** How many of its signatures fit the secret. */
  readonly signaturesFrom: (secret: string) => number;
}

export class Receiver implements AsyncDisposable {
  readonly received: Received[] = [];
  answer: (response: ServerResponse, received: Received) => void = (response) =>
    response.writeHead(204).end();
  readonly #server: Server;

  static async open(port = 0): Promise<Receiver> {
    const receiver = new Receiver();
    receiver.#server.listen(port, "127.0.0.1");
    await once(receiver.#server, "listening");
    return receiver;
  }

  private constructor() {
    this.#server = createServer((request, response) => {
      void text(request).then((body) => {
        const received = receivedOf(request.headers, body);
        this.received.push(received);
        this.answer(response, received);
      });
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/hook`;
  }

  /** Waits until that many have come. */
  async until(count: number, fits: (received: Received) => boolean = () => true): Promise<Received[]> {
    for (let waitedMs = 0; waitedMs < 60_000; waitedMs += 20) {
      const found = this.received.filter(fits);
      if (found.length >= count) return found;
      await sleep(20);
    }
    throw new Error(`only ${this.received.filter(fits).length} of ${count} came`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

function receivedOf(headers: IncomingHttpHeaders, body: string): Received {
  const { type, data } = JSON.parse(body) as { type: string; data: unknown };
  const id = String(headers["webhook-id"]);
  const signaturesFrom = (secret: string): number => {
    const key = Buffer.from(secret.replace("whsec_", ""), "base64");
    const signed = createHmac("sha256", key).update(`${id}.${headers["webhook-timestamp"]}.${body}`).digest();
    return String(headers["webhook-signature"])
      .split(" ")
      .filter((one) => timingSafeEqual(Buffer.from(one.replace("v1,", ""), "base64"), signed)).length;
  };
  return { id, type, data, headers, body, signaturesFrom };
}
