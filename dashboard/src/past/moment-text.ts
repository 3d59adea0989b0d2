const TIME = /^(?:(\d{4})-(\d{2})-(\d{2})[T ])?(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,3}))?)?(Z)?$/;

/** What somebody typed: an event, or a time, of today where no day is given. Undefined: neither. */
export function momentOf(text: string, today: Date): number | Date | undefined {
  const typed = text.trim().replace(/^#/, "");
  if (/^[\d,]{1,19}$/.test(typed)) return Number(typed.replaceAll(",", ""));
  const [, year, month, day, hour, minute, second = "0", part = "0", zulu] = TIME.exec(typed) ?? [];
  if (hour === undefined || minute === undefined) return undefined;
  const parts = [
    year === undefined ? today.getFullYear() : Number(year),
    month === undefined ? today.getMonth() : Number(month) - 1,
    day === undefined ? today.getDate() : Number(day),
    Number(hour),
    Number(minute),
    Number(second),
    Number(part.padEnd(3, "0")),
  ] as const;
  const time = zulu ? new Date(Date.UTC(...parts)) : new Date(...parts);
  return Number.isNaN(time.getTime()) ? undefined : time;
}
