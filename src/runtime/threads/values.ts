// Values in shared memory: a word for the kind and, for strings, the length; then what it takes. What is not listed here, or
// does not fit, is structured-cloned, which costs microseconds instead of nanoseconds.

const UNDEFINED = 0;
const NULL = 1;
const FALSE = 2;
const TRUE = 3;
const INTEGER = 4;
const FLOAT = 5;
const TEXT = 6;

const float = new Float64Array(1);
const halves = new Int32Array(float.buffer);

/** Writes all of them, or says that they do not fit. */
export function writeValues(
  words: Int32Array,
  from: number,
  to: number,
  values: readonly unknown[],
): boolean {
  let at = from + 1;
  for (const value of values) {
    at = writeValue(words, at, to, value);
    if (at < 0) return false;
  }
  words[from] = values.length;
  return true;
}

export function writeValue(words: Int32Array, at: number, to: number, value: unknown): number {
  if (at + 3 > to) return -1;
  if (typeof value === "number") return writeNumber(words, at, value);
  if (typeof value === "string") return writeText(words, at, to, value);
  const kind = value === undefined ? UNDEFINED : value === null ? NULL : value === false ? FALSE : TRUE;
  if (kind === TRUE && value !== true) return -1;
  words[at] = kind;
  return at + 1;
}

function writeNumber(words: Int32Array, at: number, value: number): number {
  if ((value | 0) === value && !Object.is(value, -0)) {
    words[at] = INTEGER;
    words[at + 1] = value;
    return at + 2;
  }
  words[at] = FLOAT;
  float[0] = value;
  words[at + 1] = halves[0] as number;
  words[at + 2] = halves[1] as number;
  return at + 3;
}

/** Two UTF-16 units to a word. */
function writeText(words: Int32Array, at: number, to: number, text: string): number {
  const { length } = text;
  const end = at + 1 + ((length + 1) >> 1);
  if (end > to) return -1;
  words[at] = TEXT | (length << 8);
  for (let unit = 0; unit < length; unit += 2) {
    const second = unit + 1 < length ? text.charCodeAt(unit + 1) : 0;
    words[at + 1 + (unit >> 1)] = text.charCodeAt(unit) | (second << 16);
  }
  return end;
}

export function readValues(words: Int32Array, from: number): unknown[] {
  const count = words[from] as number;
  const values: unknown[] = [];
  let at = from + 1;
  for (let number = 0; number < count; number++) {
    values.push(readValue(words, at));
    at += lengthAt(words, at);
  }
  return values;
}

export function readValue(words: Int32Array, at: number): unknown {
  const head = words[at] as number;
  switch (head & 0xff) {
    case UNDEFINED:
      return undefined;
    case NULL:
      return null;
    case INTEGER:
      return words[at + 1];
    case FLOAT:
      halves[0] = words[at + 1] as number;
      halves[1] = words[at + 2] as number;
      return float[0];
    case TEXT:
      return readText(words, at + 1, head >>> 8);
    default:
      return (head & 0xff) === TRUE;
  }
}

function readText(words: Int32Array, at: number, length: number): string {
  let text = "";
  for (let unit = 0; unit < length; unit++) {
    const word = words[at + (unit >> 1)] as number;
    text += String.fromCharCode((unit & 1) === 0 ? word & 0xffff : word >>> 16);
  }
  return text;
}

/** How many words a value takes. */
export function lengthAt(words: Int32Array, at: number): number {
  const head = words[at] as number;
  if ((head & 0xff) === INTEGER) return 2;
  if ((head & 0xff) === FLOAT) return 3;
  return (head & 0xff) === TEXT ? 1 + (((head >>> 8) + 1) >> 1) : 1;
}
