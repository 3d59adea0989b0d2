import type { UnitRefusal } from "../../protocol/index.ts";
import { shown } from "../../protocol/index.ts";

const PLACES = 6;
const MICROS = 10n ** BigInt(PLACES);
/** A million: far more than anybody pays at once, and thousands of times less than a balance can hold. */
const MAX_MICROS = 10n ** 12n;

/** A decimal in millionths, exactly: as text, because 0.29 × 1,000,000 is 290,000 only there. */
export function parseMicros(value: string | number): number | UnitRefusal {
  const text = typeof value === "number" ? plain(value) : value;
  const match = /^(\d+)(?:\.(\d+))?$/.exec(text);
  if (!match) return { refusal: `must be a decimal of at least 0 such as "0.01"; got ${shown(value)}` };
  const [, whole = "", fraction = ""] = match;
  const digits = fraction.replace(/0+$/, "");
  if (digits.length > PLACES)
    return { refusal: `must have at most ${PLACES} decimal places; got ${shown(value)}` };
  const micros = BigInt(whole) * MICROS + BigInt(digits.padEnd(PLACES, "0"));
  return micros > MAX_MICROS ? { refusal: "must be at most 1000000" } : Number(micros);
}

/** Without an exponent, which a small or large number is printed with. */
function plain(value: number): string {
  const text = String(value);
  return text.includes("e") ? value.toFixed(20) : text;
}

export function microsText(micros: number): string {
  const whole = Math.floor(micros / 1e6);
  const fraction = String(micros % 1e6)
    .padStart(PLACES, "0")
    .replace(/0+$/, "");
  return fraction === "" ? String(whole) : `${whole}.${fraction}`;
}
