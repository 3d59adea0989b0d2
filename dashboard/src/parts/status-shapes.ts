/** A shape for each status beside its colour and its word: nobody has to tell colours apart. */
const SHAPES: Readonly<Record<string, string>> = {
  waiting: "◌",
  held: "‖",
  ready: "○",
  delayed: "↻",
  queued: "○",
  running: "▶",
  completed: "✓",
  failed: "✕",
  cancelled: "⊘",
  skipped: "–",
};

export function shapeOf(status: string): string {
  return SHAPES[status] ?? "•";
}
