interface SparklineProps {
  readonly values: readonly number[];
  /** What it shows, for who does not see it. */
  readonly label: string;
  readonly kind: string;
}

const WIDTH = 120;
const HEIGHT = 28;

/** How a number went, oldest first. Its own numbers stand beside it. */
export function Sparkline({ values, label, kind }: SparklineProps) {
  const most = Math.max(1, ...values);
  const step = WIDTH / Math.max(1, values.length - 1);
  const points = values.map(
    (value, at) => `${(at * step).toFixed(1)},${(HEIGHT - 1 - (value / most) * (HEIGHT - 3)).toFixed(1)}`,
  );
  return (
    <svg
      className="sparkline"
      data-kind={kind}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <polygon points={`0,${HEIGHT} ${points.join(" ")} ${WIDTH},${HEIGHT}`} />
      <polyline points={points.join(" ")} />
    </svg>
  );
}
