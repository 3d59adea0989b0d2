/** Servers read nothing that is nested deeper than 100, and a result travels inside a few objects. */
const MAX_DEPTH = 90;
/** Objects that are found again and again under each other are a small value, but no small JSON text. */
const MAX_VALUES = 20_000_000;

/**
 * Whether a value is the same after it went through JSON and a server's store, which keeps neither NUL nor halves of surrogate
 * pairs, and takes no `__proto__`.
 */
export function isPlainJson(value: unknown): boolean {
  return new Walk().isPlain(value, 0);
}

class Walk {
  #values = 0;

  isPlain(value: unknown, depth: number): boolean {
    if (++this.#values > MAX_VALUES) return false;
    switch (typeof value) {
      case "string":
        return isStorable(value);
      case "number":
        return Number.isFinite(value) && !Object.is(value, -0);
      case "boolean":
        return true;
      case "object":
        if (value === null) return true;
        if (depth === MAX_DEPTH) return false;
        return Array.isArray(value) ? this.#isPlainList(value, depth) : this.#isPlainObject(value, depth);
      default:
        return false;
    }
  }

  #isPlainList(list: readonly unknown[], depth: number): boolean {
    if (Object.getPrototypeOf(list) !== Array.prototype) return false;
    // Holes and members beside the elements are lost in JSON.
    if (Object.keys(list).length !== list.length) return false;
    for (const item of list) if (!this.isPlain(item, depth + 1)) return false;
    return true;
  }

  #isPlainObject(object: object, depth: number): boolean {
    const prototype: unknown = Object.getPrototypeOf(object);
    if (prototype !== Object.prototype) return false;
    if (Object.getOwnPropertySymbols(object).length > 0) return false;
    for (const [key, member] of Object.entries(object)) {
      if (key === "__proto__" || !isStorable(key) || !this.isPlain(member, depth + 1)) return false;
    }
    return true;
  }
}

function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}
