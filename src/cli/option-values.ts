import { InvalidArgumentError } from "commander";

export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(
      most === Number.MAX_SAFE_INTEGER
        ? `It must be a whole number from ${least} on.`
        : `It must be a whole number from ${least} to ${most}.`,
    );
  };
}

/** The sequence of an event. */
export const sequence: (text: string) => number = wholeNumber(0, Number.MAX_SAFE_INTEGER);

export function seconds(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}(\.\d{1,3})?$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It must be a number of seconds from ${least} to ${most}.`);
  };
}

/** Where a server listens, without a path. */
export function serverUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain =
    url?.protocol === "http:" && url.pathname === "/" && url.search === "" && url.username === "";
  if (url && isPlain) return url.origin;
  throw new InvalidArgumentError("It must be a URL such as http://10.0.0.7:2026, without a path.");
}
