const SHAPES: Readonly<Record<string, string>> = {
  Idle: "○",
  Busy: "●",
  Overloaded: "▲",
  Draining: "▽",
  Away: "◌",
  Unreachable: "✕",
};

const MEANINGS: Readonly<Record<string, string>> = {
  Idle: "takes work",
  Busy: "has work, and takes more where there is room",
  Overloaded: "takes nothing new until its load is lower",
  Draining: "finishes what it has and takes nothing new",
  Away: "its connection broke; it may come back",
  Unreachable: "lost: what it had goes to others",
};

/** How a worker is, by colour, shape and word. */
export function WorkerStatus({ status }: { readonly status: string }) {
  return (
    <span className="status worker-status" data-worker-status={status} title={MEANINGS[status]}>
      <span aria-hidden="true" className="status-shape">
        {SHAPES[status] ?? "•"}
      </span>
      {status.toLowerCase()}
    </span>
  );
}
