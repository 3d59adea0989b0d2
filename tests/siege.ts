/** A system of real processes, with clients that go on submitting and faults meanwhile. */
export interface Siege<Report> {
  begin(): Promise<void>;
  /** Until the faults are over. */
  submitAll(): Promise<void>;
  failAll(): Promise<void>;
  stopSubmitting(): void;
  untilDone(): Promise<void>;
  report(): Report;
  close(): Promise<void>;
}

/** What came of it; whoever asked for it closes it. */
export async function runSiege<Report>(siege: Siege<Report>): Promise<Report> {
  try {
    await siege.begin();
    const submitting = siege.submitAll();
    await Promise.race([siege.failAll(), submitting]);
    siege.stopSubmitting();
    await submitting;
    await siege.untilDone();
    return siege.report();
  } catch (error) {
    await siege.close();
    throw error;
  }
}

/** The same faults at the same moments for a seed; what the processes do in between is theirs. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
