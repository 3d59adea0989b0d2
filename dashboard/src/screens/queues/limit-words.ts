import type { LimitAnswer } from "../../../../src/protocol/api-schemas.ts";
import { countText } from "../../parts/numbers.ts";
import { spanText } from "../../time/spans.ts";
import { type Choice, typedNumber } from "./choice.ts";
import type { Typed } from "./limit-fields.tsx";

export function concurrencyText(max: number | null): string {
  return max === null ? "no limit" : `${countText(max)} at once`;
}

export function rateLimitText(rate: LimitAnswer["rate"]): string {
  return rate === null ? "no limit" : `${countText(rate.count)} in ${spanText(rate.per_seconds * 1000)}`;
}

/** What an edit begins with. */
export function typedConcurrency(choice: Choice, max: number | null): Typed {
  return { choice, count: max === null ? "" : String(max), perSeconds: "" };
}

export function typedRate(choice: Choice, rate: LimitAnswer["rate"]): Typed {
  return { choice, count: String(rate?.count ?? ""), perSeconds: String(rate?.per_seconds ?? 60) };
}

export function rateOf({ count, perSeconds }: Typed): object {
  return { count: typedNumber(count), per_seconds: typedNumber(perSeconds) };
}
