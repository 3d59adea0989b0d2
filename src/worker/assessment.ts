import { RISKS } from "../graph/index.ts";
import type { Assessment } from "../protocol/index.ts";

/** A server would refuse the whole report for a wrong one: better that the handler hears of it. */
export function checkedAssessment({ verified, confidence, lines, risk }: Assessment): Assessment {
  if (verified !== undefined && typeof verified !== "boolean")
    throw new TypeError("assess: verified must be true or false");
  if (confidence !== undefined && !(typeof confidence === "number" && confidence >= 0 && confidence <= 1))
    throw new TypeError("assess: confidence must be a number from 0 to 1");
  if (lines !== undefined && !(Number.isSafeInteger(lines) && lines >= 0))
    throw new TypeError("assess: lines must be a whole number that is not negative");
  if (risk !== undefined && !RISKS.includes(risk))
    throw new TypeError(`assess: risk must be one of ${RISKS.join(", ")}`);
  return {
    ...(verified !== undefined && { verified }),
    ...(confidence !== undefined && { confidence }),
    ...(lines !== undefined && { lines }),
    ...(risk !== undefined && { risk }),
  };
}
