/** A capability that was asked for. */
export interface CapabilityCheck {
  readonly fiber: number;
  readonly capability: "spawn" | "channel" | "syscall";
  /** What it was asked for: "spawn", "send", "receive", "files" … */
  readonly operation: string;
  readonly allowed: boolean;
}

/** What a fiber ran without letting go. */
export interface Slice {
  readonly fiber: number;
  readonly processor: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly ops: number;
}

/** A fiber that another processor took before it had started. */
export interface Steal {
  readonly fiber: number;
  readonly thief: number;
  readonly victim: number;
  readonly atMs: number;
}

/** Is told what happens, while it happens. It must not throw. */
export interface Observer {
  readonly checked?: ((check: CapabilityCheck) => void) | undefined;
  /** States by their numbers, see `FIBER_STATES`. */
  readonly moved?: ((fiber: number, from: number, to: number) => void) | undefined;
  readonly nurseryMoved?: ((nursery: number, from: string, to: string) => void) | undefined;
  readonly ran?: ((slice: Slice) => void) | undefined;
  readonly stole?: ((steal: Steal) => void) | undefined;
}
