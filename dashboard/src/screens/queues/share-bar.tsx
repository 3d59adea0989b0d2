import { countText } from "../../parts/numbers.ts";

interface ShareBarProps {
  readonly running: number;
  readonly max: number | null;
  readonly label: string;
}

/** How much runs of what may. */
export function ShareBar({ running, max, label }: ShareBarProps) {
  return (
    <div className="share-bar" data-share={`${running}/${max ?? "any"}`}>
      <meter value={Math.min(running, max ?? running)} max={Math.max(1, max ?? running)} aria-label={label} />
      <span>
        {countText(running)} <span className="quiet">of {max === null ? "any" : countText(max)}</span>
      </span>
    </div>
  );
}
