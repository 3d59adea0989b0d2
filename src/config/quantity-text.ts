/** Quantities as a file has them, exactly: reading them gives the same number again. */

const DURATION_UNITS = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "m"],
  [1000, "s"],
  [1, "ms"],
] as const;

export function durationText(ms: number): string {
  if (ms === 0) return "0s";
  let left = ms;
  let text = "";
  for (const [unitMs, unit] of DURATION_UNITS) {
    const count = Math.floor(left / unitMs);
    if (count > 0) text += `${count}${unit}`;
    left -= count * unitMs;
  }
  return text;
}

const SIZE_UNITS = [
  [1024 ** 4, "TiB"],
  [1024 ** 3, "GiB"],
  [1024 ** 2, "MiB"],
  [1024, "KiB"],
] as const;

/** A plain number where no unit divides it. */
export function sizeText(bytes: number): string | number {
  const [size, unit] = SIZE_UNITS.find(([size]) => bytes > 0 && bytes % size === 0) ?? [1, undefined];
  return unit === undefined ? bytes : `${bytes / size}${unit}`;
}

export function cpuText(millicores: number): number {
  return millicores / 1000;
}
