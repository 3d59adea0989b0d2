const GROUPED = new Intl.NumberFormat("en");

/** 1,234,567: grouped, so that sizes can be compared at a glance. */
export function countText(value: number): string {
  return GROUPED.format(value);
}

/** Per second: as many digits as mean something. */
export function rateText(value: number): string {
  return value >= 100 ? countText(Math.round(value)) : value.toFixed(1);
}
