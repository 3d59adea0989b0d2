import { expect, test } from "vitest";
import { checkedAssessment } from "./assessment.ts";

test("[G-08] what is no assessment is refused where it is made: a server would refuse the worker for it", () => {
  const given = { verified: true, confidence: 0.5, lines: 3, risk: "low" } as const;
  expect(checkedAssessment(given)).toEqual(given);
  expect(checkedAssessment({})).toEqual({});
  for (const wrong of ["0.5", true, [0.5], null, Number.NaN, -1, 2])
    expect(() => checkedAssessment({ confidence: wrong as number }), String(wrong)).toThrow(/confidence/);
  for (const wrong of ["3", true, null, 0.5, -1, 2 ** 53, Number.NaN])
    expect(() => checkedAssessment({ lines: wrong as number }), String(wrong)).toThrow(/lines/);
  for (const wrong of ["yes", 1, null])
    expect(() => checkedAssessment({ verified: wrong as unknown as boolean })).toThrow(/verified/);
  for (const wrong of ["none", 1, null])
    expect(() => checkedAssessment({ risk: wrong as "low" })).toThrow(/risk/);
});
