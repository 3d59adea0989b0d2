import { memo } from "react";
import type { MomentsAnswer } from "../../../src/protocol/api-schemas.ts";

const WIDTH = 1000;
const HEIGHT = 26;
const FAILURES = ["AttemptFailed", "AttemptTimedOut", "AttemptLost", "TaskFailed", "WorkerLost"];

/** How much happened in each part of the ledger: the faster the higher, and where something failed marked below. */
export const Activity = memo(function Activity({ moments }: { readonly moments: MomentsAnswer }) {
  const { first, buckets } = moments;
  const rates = buckets.map(({ seq, at }, place) => {
    const before = buckets[place - 1] ?? { seq: first.seq - 1, at: first.at };
    const seconds = Math.max(0.001, (Date.parse(at) - Date.parse(before.at)) / 1000);
    return Math.log1p((seq - before.seq) / seconds);
  });
  const most = Math.max(1, ...rates);
  const width = WIDTH / Math.max(1, buckets.length);
  return (
    <svg
      className="past-activity"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {buckets.map(({ seq, kinds }, place) => {
        const height = Math.max(1.5, ((rates[place] ?? 0) / most) * (HEIGHT - 5));
        const failed = FAILURES.some((kind) => (kinds[kind] ?? 0) > 0);
        return (
          <g key={seq}>
            <rect x={place * width} y={HEIGHT - 4 - height} width={width * 0.8} height={height} />
            {failed && (
              <rect data-failed="" x={place * width} y={HEIGHT - 3} width={width * 0.8} height={3} />
            )}
          </g>
        );
      })}
    </svg>
  );
});
