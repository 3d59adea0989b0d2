const NAMES = [
  "page",
  "surface",
  "line",
  "line-strong",
  "text",
  "quiet",
  "accent",
  "hover",
  "selected",
  "queued",
  "running",
  "completed",
  "failed",
  "cancelled",
  "waiting-bar",
  "dispatch-bar",
  "running-bar",
  "completed-bar",
  "failed-bar",
] as const;

/** The colours of the style sheets, for what is drawn. */
export type Palette = Readonly<Record<(typeof NAMES)[number], string>>;

export function paletteOf(element: Element): Palette {
  const style = getComputedStyle(element);
  const colours = NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()] as const);
  return Object.fromEntries(colours) as Record<(typeof NAMES)[number], string>;
}
