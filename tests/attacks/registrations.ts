import { count, type Outcome, type Target } from "./target.ts";

export interface Registrations {
  /** Registrations under way at a time. */
  readonly parallel: number;
  /** Home zones that the workers take in turn; the key must allow them. The key's own zone if left out. */
  readonly zones?: readonly string[];
  /** Characters of the names of one registration. */
  readonly characters?: number;
  /** Whether each worker leaves as soon as it is registered. The others are silent until their lease ends. */
  readonly leaves?: boolean;
  /** Registrations after which the attack ends by itself. */
  readonly most?: number;
  /** Pause of each sender after a refusal, in ms. */
  readonly pauseMs?: number;
}

/**
 * [F6] Registers workers by plain HTTP, each with an id and task types that no other has, which then vanish. Returns the
 * number of answers to registrations by status.
 */
export async function registerAndVanish(
  target: Target,
  {
    parallel,
    zones = [],
    characters = 64_000,
    leaves = false,
    most = Number.POSITIVE_INFINITY,
    pauseMs = 20,
  }: Registrations,
  signal: AbortSignal,
): Promise<Outcome> {
  const outcome: Outcome = {};
  // Another attack of the same process must not come back as the same workers.
  const prefix = crypto.randomUUID();
  let sent = 0;
  const post = async (path: string, body: unknown): Promise<number> => {
    const answer = await fetch(`${target.url}/worker/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${target.key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      signal,
    });
    await answer.arrayBuffer();
    return answer.status;
  };
  const send = async (): Promise<void> => {
    while (!signal.aborted && sent < most) {
      const at = sent++;
      const worker = anonymousWorker(`${prefix}-${at}`, characters, zones[at % zones.length]);
      try {
        const status = await post("register", worker);
        count(outcome, status);
        const { id, session } = worker.registration;
        if (status === 200 && leaves) await post(`${id}/leave`, { session });
        if (status < 400) continue;
      } catch {
        if (!signal.aborted) count(outcome, "cut");
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  };
  await Promise.all(Array.from({ length: parallel }, send));
  return outcome;
}

/** Returns the registration of a worker for an executor without tasks, whose names have about this many characters. */
export function anonymousWorker(id: string, characters: number, zone?: string) {
  const types = Array.from({ length: Math.max(1, Math.floor(characters / 256)) }, (_, at) =>
    `${at}-${id}-`.padEnd(Math.min(256, characters), "x"),
  );
  const registration = {
    protocol: 1,
    id,
    session: `session-of-${id}`.slice(0, 64),
    ...(zone !== undefined && { zone }),
    executors: ["nobody"],
    types,
    cpu_millicores: 1,
    memory_bytes: 1,
    slots: 1,
  };
  return { registration, heartbeat: { attempts: [] } };
}
