import { useSearch } from "wouter";

/** The sequence of the ledger that a page shows the state at; undefined: now. */
export type Moment = number | undefined;

/** The one place where time travel enters: every query takes the moment that the URL names. */
export function useMoment(): Moment {
  const text = new URLSearchParams(useSearch()).get("at");
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
