interface ZoomButtonsProps {
  readonly onZoom: (factor: number) => void;
  readonly onFit: () => void;
}

const STEP = 1.5;

/** For those without a wheel. */
export function ZoomButtons({ onZoom, onFit }: ZoomButtonsProps) {
  return (
    <div className="zoom-buttons">
      <button type="button" aria-label="Zoom in" title="Zoom in (+)" onClick={() => onZoom(STEP)}>
        +
      </button>
      <button type="button" aria-label="Zoom out" title="Zoom out (-)" onClick={() => onZoom(1 / STEP)}>
        −
      </button>
      <button type="button" aria-label="Show all" title="Show all (0)" onClick={onFit}>
        ⤢
      </button>
    </div>
  );
}

/** The same by keys; true: it was one of them. */
export function zoomKey(key: string, { onZoom, onFit }: ZoomButtonsProps): boolean {
  if (key === "+" || key === "=") onZoom(STEP);
  else if (key === "-") onZoom(1 / STEP);
  else if (key === "0") onFit();
  else return false;
  return true;
}
