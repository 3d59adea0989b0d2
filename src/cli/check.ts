/** What a check found: `warn` may be as it is, `fail` must not. */
export interface Check {
  readonly name: string;
  readonly result: "pass" | "warn" | "fail";
  /** One line. */
  readonly detail: string;
  /** What to do about it, in one line. */
  readonly fix?: string;
}

export function pass(name: string, detail: string): Check {
  return { name, result: "pass", detail };
}

export function warning(name: string, detail: string, fix: string): Check {
  return { name, result: "warn", detail, fix };
}

export function failure(name: string, detail: string, fix: string): Check {
  return { name, result: "fail", detail, fix };
}
