export type Origin =
  | { readonly kind: "default" }
  | { readonly kind: "file"; readonly file: string; readonly line: number; readonly column: number }
  | { readonly kind: "variable"; readonly name: string }
  | { readonly kind: "option"; readonly option: string };

export const BY_DEFAULT: Origin = { kind: "default" };

/** A value with where it comes from. */
export interface Given {
  readonly value: unknown;
  readonly origin: Origin;
}

export function originText(origin: Origin): string {
  switch (origin.kind) {
    case "default":
      return "default";
    case "file":
      return `${origin.file}:${origin.line}:${origin.column}`;
    case "variable":
      return origin.name;
    case "option":
      return origin.option;
  }
}

/** Something wrong with the settings. `message` names the setting, what is wrong with it and how to mend it. */
export interface ConfigProblem {
  /** `orrery.yaml:3:5`; undefined for a variable or an option, which the message names. */
  readonly where: string | undefined;
  readonly message: string;
  /** There is no such file. */
  readonly isMissing?: true;
}

/** The line of a problem, as compilers write it. */
export function problemLine({ where, message }: ConfigProblem): string {
  return where === undefined ? message : `${where}: ${message}`;
}
