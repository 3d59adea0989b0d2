import type { ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";

/**
 * The requests that are not answered yet, the oldest first. They are kept here, because they may come by a server that
 * is not closed with this app.
 */
export class OpenRequests {
  readonly #replies = new Map<ServerResponse, FastifyReply>();
  readonly #onClose: (this: ServerResponse) => void;
  #onIdle = () => {};

  constructor() {
    const drop = (response: ServerResponse) => {
      this.#replies.delete(response);
      if (this.#replies.size === 0) this.#onIdle();
    };
    // One function for all of them: a listener of its own would be made for each request.
    this.#onClose = function (this: ServerResponse) {
      drop(this);
    };
  }

  add(reply: FastifyReply): void {
    this.#replies.set(reply.raw, reply);
    reply.raw.on("close", this.#onClose);
  }

  /** When there is none, or when the time is over. */
  async idle(withinMs: number): Promise<void> {
    if (this.#replies.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
      setTimeout(resolve, withinMs).unref();
    });
  }

  /** Calls for each that has been open for so long, and stops at the first that has not. */
  forOlderThan(ms: number, call: (reply: FastifyReply) => void): void {
    for (const reply of this.#replies.values()) {
      if (reply.elapsedTime < ms) return;
      call(reply);
    }
  }

  destroyAll(): void {
    for (const response of this.#replies.keys()) response.destroy();
  }
}
