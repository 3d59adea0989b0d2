import type { RefObject } from "react";
import type { Paint, Size } from "../../parts/picture/picture.tsx";
import type { RunModel } from "./model.ts";

/** How the pictures are painted now, of those that are seen. */
export interface Pictures {
  readonly graph?: { readonly paint: Paint; readonly size: Size } | undefined;
  readonly gantt?: { readonly paint: Paint; readonly size: Size } | undefined;
}

export function Exports(_: {
  readonly model: RunModel;
  readonly now: number;
  readonly pictures: RefObject<Pictures>;
}) {
  return null;
}
