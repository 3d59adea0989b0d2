/** Numbers as people read them. */

/** "850ms", "12.4s", "1m 05s". */
export function formatMs(ms: number): string {
  if (ms < 1_000) return `${ms}ms`;
  return ms < 60_000 ? `${(Math.floor(ms / 100) / 10).toFixed(1)}s` : formatDuration(ms);
}

/** Grouped by threes, the same in every locale. */
export function formatCount(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

export function countOf(count: number, noun: string, plural = `${noun}s`): string {
  return `${formatCount(count)} ${count === 1 ? noun : plural}`;
}

/** In cores: 1500 millicores are "1.5". */
export function formatCores(millicores: number): string {
  return String(millicores / 1_000);
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (Math.abs(value) >= 1_024 && unit < UNITS.length - 1) {
    value /= 1_024;
    unit++;
  }
  return `${Math.round(value * 10) / 10} ${UNITS[unit]}`;
}

export function formatTime(ms: number): string {
  const at = new Date(ms);
  return Number.isNaN(at.getTime()) ? `${ms} ms` : at.toISOString();
}

/** In whole seconds: "7s", "1m 05s", "2h 03m". */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m ${twoDigits(seconds % 60)}s`;
  return `${Math.floor(minutes / 60)}h ${twoDigits(minutes % 60)}m`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}
