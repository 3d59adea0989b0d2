/** A shape for each status beside its colour and its word: nobody has to tell colours apart. */
const SHAPES: Readonly<Record<string, string>> = {
  queued: "○",
  running: "▶",
  completed: "✓",
  failed: "✕",
  cancelled: "⊘",
};

export function Status({ name }: { readonly name: string }) {
  return (
    <span className="status" data-status={name}>
      <span aria-hidden="true" className="status-shape">
        {SHAPES[name] ?? "•"}
      </span>
      {name}
    </span>
  );
}
