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
