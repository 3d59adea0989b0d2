import { countText } from "./numbers.ts";
import { shapeOf } from "./status-shapes.ts";

interface CountsBarProps {
  /** By status, in the order in which they stand. */
  readonly counts: Iterable<readonly [status: string, count: number]>;
}

/** How many have each status: as a bar, and in numbers. */
export function CountsBar({ counts }: CountsBarProps) {
  const some = [...counts].filter(([, count]) => count > 0);
  return (
    <span className="counts">
      <span className="counts-bar" aria-hidden="true">
        {some.map(([status, count]) => (
          <span key={status} data-status={status} style={{ flexGrow: count }} />
        ))}
      </span>
      <span className="counts-numbers">
        {some.map(([status, count]) => (
          <span key={status} className="status" data-status={status} title={`${countText(count)} ${status}`}>
            <span aria-hidden="true">{shapeOf(status)}</span>
            {countText(count)}
            <span className="visually-hidden"> {status}</span>
          </span>
        ))}
      </span>
    </span>
  );
}
