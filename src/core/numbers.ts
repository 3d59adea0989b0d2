/** What a typed array holds, or a part of it, as a plain list. Spreading it takes six times as long. */
export function numbersIn(
  array: Uint8Array | Uint32Array | Int32Array | Float64Array,
  from = 0,
  to: number = array.length,
): number[] {
  const numbers: number[] = [];
  for (let at = from; at < to; at++) numbers.push(array[at] as number);
  return numbers;
}
