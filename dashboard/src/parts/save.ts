/** Long enough for the browser to have begun to read it. */
const READ_WITHIN_MS = 60_000;

/** Gives a file to whoever looks, as if it had been downloaded. */
export function save(name: string, type: string, content: string | Blob): void {
  const blob = typeof content === "string" ? new Blob([content], { type: `${type};charset=utf-8` }) : content;
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(url), READ_WITHIN_MS);
}
