import { Kept } from "../parts/kept.ts";

export const THEMES = ["auto", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

export const theme = new Kept<Theme>("theme", THEMES, "auto");

/** The colours follow an attribute of the document; without it, what the system prefers. */
export function applyTheme(chosen: Theme): void {
  if (chosen === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = chosen;
}
