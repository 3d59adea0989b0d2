import { type RefObject, useEffect, useRef } from "react";

/** What can be done to a picture by mouse, wheel and fingers. Places are pixels from its corner. */
export interface Gestures {
  /** False: it cannot go further that way, and a wheel may move the page instead. */
  readonly onPan: (byX: number, byY: number) => boolean;
  readonly onZoom: (factor: number, atX: number, atY: number) => void;
  /** Undefined: nothing is pointed at any more. */
  readonly onHover?: (place: readonly [x: number, y: number] | undefined) => void;
  readonly onPick?: (x: number, y: number) => void;
  readonly onOpen?: (x: number, y: number) => void;
}

/** What moves less is a click. */
const STILL_PX = 4;
const WHEEL_STEP = 0.002;
const LINE_PX = 16;

/**
 * A drag moves it, a wheel too as far as it goes; a wheel with Control, and two fingers, zoom. One finger that goes up or down
 * scrolls the page.
 */
export function useGestures(target: RefObject<HTMLElement | null>, gestures: Gestures): void {
  const latest = useRef(gestures);
  latest.current = gestures;
  useEffect(() => {
    const element = target.current;
    if (!element) return undefined;
    const controller = new AbortController();
    const { signal } = controller;
    listen(element, () => latest.current, signal);
    return () => controller.abort();
  }, [target]);
}

interface Finger {
  x: number;
  y: number;
  moved: number;
}

function listen(element: HTMLElement, now: () => Gestures, signal: AbortSignal): void {
  const fingers = new Map<number, Finger>();
  const placeOf = ({ clientX, clientY }: MouseEvent): readonly [number, number] => {
    const { left, top } = element.getBoundingClientRect();
    return [clientX - left, clientY - top];
  };
  const onWheel = (event: WheelEvent) => {
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE_PX : 1;
    const [byX, byY] = [event.deltaX * lines, event.deltaY * lines];
    const isZoom = event.ctrlKey || event.metaKey;
    if (isZoom) now().onZoom(Math.exp(-byY * WHEEL_STEP * 2), ...placeOf(event));
    const isTaken = isZoom || (event.shiftKey ? now().onPan(-byY, 0) : now().onPan(-byX, -byY));
    if (isTaken) event.preventDefault();
  };
  const onMove = (event: PointerEvent) => {
    const [x, y] = placeOf(event);
    const finger = fingers.get(event.pointerId);
    if (!finger) {
      now().onHover?.([x, y]);
      return;
    }
    const [byX, byY] = [x - finger.x, y - finger.y];
    const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const [before, after] = [distance(finger, other), distance({ x, y }, other)];
      if (before > 0) now().onZoom(after / before, (x + other.x) / 2, (y + other.y) / 2);
    }
    finger.moved += Math.abs(byX) + Math.abs(byY);
    finger.x = x;
    finger.y = y;
    if (finger.moved > STILL_PX) now().onPan(other ? byX / 2 : byX, other ? byY / 2 : byY);
  };
  const onDown = (event: PointerEvent) => {
    if (event.button !== 0) return;
    const [x, y] = placeOf(event);
    fingers.set(event.pointerId, { x, y, moved: 0 });
    element.setPointerCapture(event.pointerId);
  };
  const onUp = (event: PointerEvent) => {
    const finger = fingers.get(event.pointerId);
    fingers.delete(event.pointerId);
    if (finger && finger.moved <= STILL_PX && event.type === "pointerup") now().onPick?.(...placeOf(event));
  };
  element.addEventListener("wheel", onWheel, { passive: false, signal });
  element.addEventListener("pointermove", onMove, { signal });
  element.addEventListener("pointerdown", onDown, { signal });
  element.addEventListener("pointerup", onUp, { signal });
  element.addEventListener("pointercancel", onUp, { signal });
  element.addEventListener("pointerleave", () => now().onHover?.(undefined), { signal });
  element.addEventListener("dblclick", (event) => now().onOpen?.(...placeOf(event)), { signal });
}

function distance(a: Pick<Finger, "x" | "y">, b: Pick<Finger, "x" | "y">): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}
