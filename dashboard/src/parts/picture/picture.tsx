import { type KeyboardEvent, type RefObject, useEffect, useRef, useState } from "react";
import { CanvasPen } from "./canvas-pen.ts";
import { type Gestures, useGestures } from "./gestures.ts";
import { type Palette, paletteOf } from "./palette.ts";
import type { Pen } from "./pen.ts";

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Draws all of it. It is called when it changes, or the size or the colours do, and once a frame at most. */
export type Paint = (pen: Pen, size: Size, palette: Palette) => void;

interface PictureProps extends Gestures {
  /** What it shows, for who does not see it; what it says is in a table as well. */
  readonly label: string;
  readonly name: string;
  readonly paint: Paint;
  readonly onSize: (size: Size) => void;
  readonly onKeyDown?: (event: KeyboardEvent) => void;
  readonly canvasRef?: RefObject<HTMLCanvasElement | null>;
}

/** A canvas as large as the place that it is given. */
export function Picture({ label, name, paint, onSize, onKeyDown, canvasRef, ...gestures }: PictureProps) {
  const own = useRef<HTMLCanvasElement>(null);
  const canvas = canvasRef ?? own;
  const [size, setSize] = useState<Size>();
  const theme = useTheme();
  useGestures(canvas, gestures);
  useEffect(() => {
    const element = canvas.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() =>
      setSize((before) => {
        const [width, height] = [element.clientWidth, element.clientHeight];
        return before?.width === width && before.height === height ? before : { width, height };
      }),
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, [canvas]);
  useEffect(() => {
    if (size) onSize(size);
  }, [size, onSize]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme changes the colours that are read here
  useEffect(() => {
    const element = canvas.current;
    if (!element || !size) return undefined;
    const frame = requestAnimationFrame(() => drawOn(element, size, paint));
    return () => cancelAnimationFrame(frame);
  }, [canvas, size, paint, theme]);
  return (
    <canvas
      ref={canvas}
      className="picture"
      data-picture={name}
      tabIndex={0}
      role="img"
      aria-label={label}
      onKeyDown={onKeyDown}
    />
  );
}

function drawOn(element: HTMLCanvasElement, size: Size, paint: Paint): void {
  const context = element.getContext("2d", { alpha: false });
  if (!context) return;
  const dense = window.devicePixelRatio || 1;
  const [width, height] = [Math.round(size.width * dense), Math.round(size.height * dense)];
  if (element.width !== width || element.height !== height) {
    element.width = width;
    element.height = height;
  }
  const palette = paletteOf(element);
  context.setTransform(dense, 0, 0, dense, 0, 0);
  context.fillStyle = palette.surface;
  context.fillRect(0, 0, size.width, size.height);
  paint(new CanvasPen(context), size, palette);
  element.dataset["frames"] = String(Number(element.dataset["frames"] ?? 0) + 1);
}

/** Counts how often the colours changed. */
function useTheme(): number {
  const [changes, setChanges] = useState(0);
  useEffect(() => {
    const changed = () => setChanges((count) => count + 1);
    const observer = new MutationObserver(changed);
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    const system = window.matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", changed);
    return () => {
      observer.disconnect();
      system.removeEventListener("change", changed);
    };
  }, []);
  return changes;
}
