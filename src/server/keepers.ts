import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Forwarder, Term } from "../cluster/index.ts";
import { newId } from "../store/index.ts";
import type { Doorkeeper } from "./door.ts";
import { isLocal } from "./http/app.ts";
import { keyShown } from "./http/auth.ts";
import { recognize } from "./http/connection-table.ts";
import { leaveUnread, refuseOnSocket } from "./http/connections.ts";
import { refuseWith } from "./http/errors.ts";
import { noLeader, type Problem } from "./http/problems.ts";
import type { App } from "./http/route.ts";
import type { Keys } from "./keys.ts";

/** How it is said that nobody leads. */
export const refusals = {
  refuse: (response: ServerResponse, why: string): void => refuseWith(response, noLeader(why), newId()),
  refuseOnSocket: (socket: Socket, why: string): void => refuseOnSocket(socket, noLeader(why), newId()),
};

/**
 * Answers what is about this server, and hands on the rest. The leader checks keys; here they only tell whose connection
 * it is.
 */
export function follower(local: App, forwarder: Forwarder, keys: Keys): Doorkeeper {
  const refusal = ({ headers, url = "", socket }: IncomingMessage): Problem | undefined => {
    const key = keyShown(keys, headers);
    return key && recognize(socket, key.id, url.startsWith("/worker/") ? "worker" : "client");
  };
  return {
    answer(request, response) {
      const problem = refusal(request);
      if (problem) {
        leaveUnread(request);
        refuseWith(response, problem, newId());
      } else if (isLocal(request.url)) local.server.emit("request", request, response);
      else forwarder.forward(request, response);
    },
    connect(request, socket, head) {
      const problem = refusal(request);
      if (problem) refuseOnSocket(socket, problem, newId());
      else forwarder.forwardUpgrade(request, socket, head);
    },
  };
}

/**
 * Answers everything, as long as nobody else can have taken over. A process that stood still may be behind: before it
 * says anything more, it finds out.
 */
export function leader(app: App, term: Term): Doorkeeper {
  return {
    answer(request, response) {
      const answer = () => app.server.emit("request", request, response);
      if (term.isCertain || isLocal(request.url)) answer();
      else void confirmed(term).then((is) => (is ? answer() : refusals.refuse(response, UNSURE)));
    },
    connect(request, socket, head) {
      const connect = () => app.server.emit("upgrade", request, socket, head);
      if (term.isCertain) connect();
      else void confirmed(term).then((is) => (is ? connect() : refusals.refuseOnSocket(socket, UNSURE)));
    },
  };
}

export const UNSURE = "this server cannot tell whether it still leads";
const CONFIRM_WITHIN_MS = 2_000;

function confirmed(term: Term): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), CONFIRM_WITHIN_MS);
    void term.confirm().then((is) => {
      clearTimeout(timer);
      resolve(is);
    });
  });
}
