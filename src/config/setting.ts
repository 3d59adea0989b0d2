import type { ValueType } from "./value-type.ts";

/** The commands that a setting means something for. */
export type Reader = "plan" | "serve" | "worker" | "run";

/** A row of the table that everything else comes from: reading, defaults, schema, `config show` and the documentation. */
export interface Setting<Value> {
  /** Its name in the file, within its section. */
  readonly key: string;
  readonly type: ValueType<Value>;
  readonly default: NoInfer<Value>;
  /** For people, where the default is no value that could stand in a file. */
  readonly defaultWords?: string;
  /** One sentence without its end. */
  readonly about: string;
  readonly readers: readonly Reader[];
  /** From the planner's specification; everything else is ours. */
  readonly isSpecified?: true;
  /** On the command lines of its readers. */
  readonly option?: `--${string}`;
  /** A variable that says it, beside the one that every setting has. */
  readonly variable?: string;
  /** A path, which is relative to the file that names it. */
  readonly isPath?: true;
  /**
   * Whether it decides where keys and data go or which code runs. A file that was only found in the current folder may
   * come from somebody else, so it must not set this.
   */
  readonly needsNamedFile?: true;
  /** How it is shown to people, where it may hold what they should not see. */
  mask?(value: NoInfer<Value>): string;
}

/** Settings by the names that the code has for them. */
export type Section = Readonly<Record<string, Setting<unknown>>>;

/** What the settings of a section are, in the units of the code. */
export type Values<Of> = {
  readonly [Name in keyof Of]: Of[Name] extends Setting<infer Value> ? Value : never;
};

/** Keeps the type of the value, which the default alone would not tell. */
export function setting<Value>(setting: Setting<Value>): Setting<Value> {
  return setting;
}
