import type { Size } from "../../parts/picture/picture.tsx";

/** What of a plane is seen: where its corner is on the picture, and how large it is drawn. */
export interface View {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

const MARGIN_PX = 16;
const LARGEST = 2.5;
/** What is larger at first looks as if something were wrong. */
const FIRST_LARGEST = 1.15;

/** All of it, in the middle. */
export function fitted(plane: Size, size: Size): View {
  const scale = Math.min(
    FIRST_LARGEST,
    (size.width - 2 * MARGIN_PX) / Math.max(1, plane.width),
    (size.height - 2 * MARGIN_PX) / Math.max(1, plane.height),
  );
  const safe = Math.max(scale, 1e-6);
  return {
    x: (size.width - plane.width * safe) / 2,
    y: (size.height - plane.height * safe) / 2,
    scale: safe,
  };
}

/** What is at the place stays there. */
export function zoomed(view: View, factor: number, x: number, y: number, plane: Size, size: Size): View {
  const least = Math.min(fitted(plane, size).scale, LARGEST);
  const scale = Math.min(Math.max(view.scale * factor, least), LARGEST);
  const by = scale / view.scale;
  return within({ x: x - (x - view.x) * by, y: y - (y - view.y) * by, scale }, plane, size);
}

export function panned(view: View, byX: number, byY: number, plane: Size, size: Size): View {
  return within({ ...view, x: view.x + byX, y: view.y + byY }, plane, size);
}

/** With a box of the plane well inside of what is seen. */
export function showing(
  view: View,
  box: Size & { readonly x: number; readonly y: number },
  plane: Size,
  size: Size,
): View {
  const [left, top] = [box.x * view.scale + view.x, box.y * view.scale + view.y];
  const isSeen =
    left >= 0 &&
    top >= 0 &&
    left + box.width * view.scale <= size.width &&
    top + box.height * view.scale <= size.height;
  if (isSeen) return view;
  const x = size.width / 2 - (box.x + box.width / 2) * view.scale;
  const y = size.height / 2 - (box.y + box.height / 2) * view.scale;
  return within({ ...view, x, y }, plane, size);
}

/** What fits stays in the middle; what does not leaves no gap at its ends. */
function within(view: View, plane: Size, size: Size): View {
  const along = (at: number, length: number, room: number) => {
    const long = length * view.scale;
    if (long + 2 * MARGIN_PX <= room) return (room - long) / 2;
    return Math.min(MARGIN_PX, Math.max(at, room - long - MARGIN_PX));
  };
  return {
    x: along(view.x, plane.width, size.width),
    y: along(view.y, plane.height, size.height),
    scale: view.scale,
  };
}
