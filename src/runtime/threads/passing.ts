import { Channel } from "../channel.ts";

/** A channel on its way to another thread. */
export interface Ticket {
  readonly channel: number;
  readonly capacity: number;
  readonly name: string | undefined;
  /** The memory of what it holds, if that is shared. */
  readonly ring: Int32Array | undefined;
}

/** Where in a value there is a channel. */
export interface Passage {
  readonly path: readonly string[];
  readonly ticket: Ticket;
}

/**
 * The channels that a value holds, by itself or in arrays and plain objects. A copy of the value has nothing of use in their
 * places; whoever gets it puts channels of its own there.
 */
export function findChannels(value: unknown, ticketOf: (channel: Channel<unknown>) => Ticket): Passage[] {
  const found: Passage[] = [];
  const seen = new Set<object>();
  const open: [unknown, readonly string[]][] = [[value, []]];
  for (let next = open.pop(); next; next = open.pop()) {
    const [at, path] = next;
    if (typeof at !== "object" || at === null) continue;
    if (at instanceof Channel) {
      found.push({ path, ticket: ticketOf(at) });
      continue;
    }
    if (seen.has(at) || !isPlain(at)) continue;
    seen.add(at);
    for (const [key, one] of Object.entries(at))
      if (typeof one === "object" && one !== null) open.push([one, [...path, key]]);
  }
  return found;
}

function isPlain(value: object): boolean {
  return Array.isArray(value) || Object.prototype.toString.call(value) === "[object Object]";
}

/** Puts channels in their places. */
export function placeChannels(
  value: unknown,
  passages: readonly Passage[],
  channelOf: (ticket: Ticket) => Channel<unknown>,
): unknown {
  const holder: Record<string, unknown> = { value };
  for (const { path, ticket } of passages) {
    const way = ["value", ...path];
    const key = way.pop() as string;
    let at = holder;
    for (const step of way) at = at[step] as Record<string, unknown>;
    at[key] = channelOf(ticket);
  }
  return holder["value"];
}
