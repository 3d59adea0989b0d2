const GROUPED = new Intl.NumberFormat("en");

/** 1,234,567: grouped, so that sizes can be compared at a glance. */
export function countText(value: number): string {
  return GROUPED.format(value);
}

/** Per second: as many digits as mean something. */
export function rateText(value: number): string {
  return value >= 100 ? countText(Math.round(value)) : value.toFixed(1);
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

/** 12.3 MiB. */
export function bytesText(bytes: number): string {
  let [value, unit] = [bytes, 0];
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

/** Cores, of thousandths. */
export function coresText(millicores: number): string {
  return countText(Math.round(millicores / 10) / 100);
}
