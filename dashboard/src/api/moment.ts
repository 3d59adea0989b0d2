import { useSearch } from "wouter";
import { navigate } from "wouter/use-browser-location";

/** The sequence of the ledger that a page shows the state at; undefined: now. */
export type Moment = number | undefined;

/** The one place where time travel enters: every query takes the moment that the URL names. */
export function useMoment(): Moment {
  return momentIn(useSearch());
}

/** Shows another moment of the same page. While somebody looks for it, it is no step back of the browser's. */
export function lookAt(moment: Moment, replace = false): void {
  const { pathname, hash } = window.location;
  const params = new URLSearchParams(window.location.search);
  if (moment === undefined) params.delete("at");
  else params.set("at", String(moment));
  const search = params.toString();
  navigate(`${pathname}${search === "" ? "" : `?${search}`}${hash}`, { replace });
}

/** An address of ours, at the moment that is looked at. */
export function carried(to: string): string {
  const moment = momentIn(window.location.search);
  if (moment === undefined || !/^[/?]/.test(to) || momentIn(to.split("?")[1] ?? "") !== undefined) return to;
  const [before = "", hash] = to.split("#", 2);
  const joined = `${before}${before.includes("?") ? "&" : "?"}at=${moment}`;
  return hash === undefined ? joined : `${joined}#${hash}`;
}

function momentIn(search: string): Moment {
  const text = new URLSearchParams(search).get("at");
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
