interface QueueStateProps {
  readonly isPaused: boolean;
  readonly isZonePaused?: boolean;
  /** Undefined where it does not matter. */
  readonly workers?: number;
}

/** Whether what waits may start, by colour, shape and word. */
export function QueueState({ isPaused, isZonePaused = false, workers }: QueueStateProps) {
  const [state, shape, words] = isPaused
    ? (["paused", "‖", "paused"] as const)
    : isZonePaused
      ? (["paused", "‖", "paused with the zone"] as const)
      : workers === 0
        ? (["unserved", "✕", "no worker"] as const)
        : (["open", "▶", "open"] as const);
  return (
    <span className="status queue-state" data-queue-state={state}>
      <span aria-hidden="true" className="status-shape">
        {shape}
      </span>
      {words}
    </span>
  );
}
