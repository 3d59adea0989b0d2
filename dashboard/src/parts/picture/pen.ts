export interface Stroke {
  readonly colour: string;
  readonly width?: number;
  readonly isDashed?: boolean;
  readonly opacity?: number;
}

export interface Fill {
  readonly colour: string;
  readonly radius?: number;
  readonly opacity?: number;
}

export interface Lettering {
  readonly colour: string;
  readonly size: number;
  readonly align?: "left" | "center" | "right";
  readonly isBold?: boolean;
  /** What is longer is cut off and ends with an ellipsis. */
  readonly maxWidth?: number;
}

/**
 * What pictures are drawn with: on a canvas, or into a file. Many of one kind are given at once, as flat lists of
 * numbers, so that twenty thousand of them take one stroke.
 */
export interface Pen {
  /** x, y, width, height of each; the text says y at its middle. */
  fill(boxes: readonly number[], fill: Fill): void;
  outline(boxes: readonly number[], stroke: Stroke, radius?: number): void;
  /** x and y of both ends of each. */
  lines(ends: readonly number[], stroke: Stroke): void;
  /** The same as curves that begin and end level. */
  curves(ends: readonly number[], stroke: Stroke): void;
  text(x: number, y: number, text: string, lettering: Lettering): void;
  /** What is drawn inside of the function is cut off at the box. */
  within(x: number, y: number, width: number, height: number, draw: () => void): void;
}

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
export const DASH = [3, 3];

/** How far the handles of a curve reach. */
export function bendOf(fromX: number, toX: number): number {
  return Math.max(8, Math.abs(toX - fromX) / 2);
}
