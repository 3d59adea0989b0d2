/** What JSON would change or leave out without a word. */

interface Loss {
  readonly path: string;
  readonly problem: string;
}

/** Members, or what is in a box. */
const CARRIED: ReadonlySet<string> = new Set(["Object", "Number", "String", "Boolean"]);

const INSTEAD: Readonly<Record<string, string>> = {
  Map: "give Object.fromEntries(map), or a list",
  Set: "give a list, [...set]",
  Date: "its time is invalid",
  Error: "give its message",
  Promise: "await it",
};

/** Throws, by its path, where a value has something that would arrive as something else or not at all. */
export function refuseLoss(value: unknown, name: string): void {
  const loss = lossAnywhere(value);
  if (loss) throw new TypeError(`${name}${loss.path} ${loss.problem}`);
}

function lossAnywhere(value: unknown): Loss | undefined {
  try {
    return lossIn(value, []);
  } catch (error) {
    if (error instanceof RangeError) return { path: "", problem: "is nested too deeply" };
    throw error;
  }
}

/** What is wrong with a value that is no object. */
export function lossOfPrimitive(value: unknown): string | undefined {
  switch (typeof value) {
    case "number":
      return Number.isFinite(value) ? undefined : `is ${value}, which JSON cannot carry`;
    case "undefined":
      return "is undefined, which JSON cannot carry: give null";
    case "bigint":
    case "function":
    case "symbol":
      return `is a ${typeof value}, which JSON cannot carry`;
    default:
      return undefined;
  }
}

/** As in `.name` or `["a name"]`. */
export function stepOf(key: string): string {
  return /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

/** `around` is what the value stands in, outermost first. */
function lossIn(value: unknown, around: object[]): Loss | undefined {
  const made = value as { readonly toJSON?: unknown } | null | undefined;
  if (typeof made?.toJSON === "function") {
    if (isInvalidDate(value)) return { path: "", problem: lossOfClass("Date") };
    return lossWithin((made as { toJSON(): unknown }).toJSON(), around);
  }
  return lossWithin(value, around);
}

/** Of what stands in the text: nobody asks it for something else in its place. */
function lossWithin(value: unknown, around: object[]): Loss | undefined {
  const problem = lossOf(value, around);
  if (problem !== undefined) return { path: "", problem };
  if (typeof value !== "object" || value === null) return undefined;
  around.push(value);
  const loss = Array.isArray(value) ? lossInList(value, around) : lossInMembers(value, around);
  around.pop();
  return loss;
}

function lossInList(list: readonly unknown[], around: object[]): Loss | undefined {
  // Not by its own methods, which pass over holes.
  for (let at = 0; at < list.length; at++) {
    const loss = lossIn(list[at], around);
    if (loss) return { ...loss, path: `[${at}]${loss.path}` };
  }
  return undefined;
}

function lossInMembers(object: object, around: object[]): Loss | undefined {
  for (const [key, member] of Object.entries(object)) {
    // To leave a member out is what it means.
    if (member === undefined) continue;
    const loss = lossIn(member, around);
    if (loss) return { ...loss, path: `${stepOf(key)}${loss.path}` };
  }
  return undefined;
}

/** It says of itself that it is null. */
function isInvalidDate(value: unknown): boolean {
  return value instanceof Date && Number.isNaN(value.getTime()) && value.toJSON === Date.prototype.toJSON;
}

function lossOf(value: unknown, around: readonly object[]): string | undefined {
  if (typeof value !== "object" || value === null) return lossOfPrimitive(value);
  if (value instanceof Number) return lossOfPrimitive(value.valueOf());
  if (around.includes(value)) return "stands within itself, which JSON cannot carry";
  if (Array.isArray(value)) return undefined;
  const tag = Object.prototype.toString.call(value).slice("[object ".length, -1);
  // Objects of classes are carried by their members; what these have inside of them is no member.
  const isLost =
    !CARRIED.has(tag) &&
    (Object.keys(value).length === 0 || value instanceof Error || ArrayBuffer.isView(value));
  return isLost ? lossOfClass(tag) : undefined;
}

function lossOfClass(name: string): string {
  const instead = INSTEAD[name];
  return `is ${/^[AEIO]/.test(name) ? "an" : "a"} ${name}, which JSON cannot carry${instead === undefined ? "" : `: ${instead}`}`;
}
