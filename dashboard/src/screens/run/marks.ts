import type { Paint, Size } from "../../parts/picture/picture.tsx";

/** What is marked in one picture is marked in the others. */
export interface Marks {
  readonly selected: number | undefined;
  readonly hovered: number | undefined;
  readonly onSelect: (node: number | undefined) => void;
  readonly onHover: (node: number | undefined) => void;
  /** Whoever wants the picture as a file is told how it is painted now. */
  readonly onPaint: (paint: Paint, size: Size | undefined) => void;
}
