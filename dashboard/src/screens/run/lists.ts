/** Lists of numbers by node, all in one array: sixty thousand small ones would take longer to make than all the rest. */
export class Lists {
  readonly #start: Uint32Array;
  readonly #values: Uint32Array;

  /** Each value belongs to the node at the same place. */
  constructor(size: number, nodes: Uint32Array, values: Uint32Array) {
    const start = new Uint32Array(size + 1);
    for (const node of nodes) (start[node + 1] as number)++;
    for (let node = 0; node < size; node++) (start[node + 1] as number) += start[node] as number;
    const next = start.slice();
    this.#values = new Uint32Array(values.length);
    for (let at = 0; at < values.length; at++) {
      const node = nodes[at] as number;
      this.#values[next[node] as number] = values[at] as number;
      (next[node] as number)++;
    }
    this.#start = start;
  }

  of(node: number): Uint32Array {
    return this.#values.subarray(this.#start[node] ?? 0, this.#start[node + 1] ?? 0);
  }
}
