/**
 * Metrics by one label with few values, for what is counted of every task: none of its labels is put into words before
 * somebody asks. In the text format of Prometheus.
 */
interface About {
  readonly name: string;
  readonly help: string;
  readonly label: string;
}

export class TalliedCounter {
  readonly #about: About;
  readonly #counts = new Map<string, number>();

  constructor(about: About) {
    this.#about = about;
  }

  add(value: string, count = 1): void {
    this.#counts.set(value, (this.#counts.get(value) ?? 0) + count);
  }

  text(): string {
    const { name, label } = this.#about;
    const lines = Array.from(this.#counts, ([value, count]) => `${name}{${label}="${value}"} ${count}\n`);
    return headOf(this.#about, "counter") + lines.join("");
  }
}

export class TalliedHistogram<Value extends string> {
  readonly #about: About;
  readonly #bounds: readonly number[];
  /** For each value of the label how many fell below each bound and not below the one before, then all others. */
  readonly #tallies = new Map<Value, { readonly counts: number[]; sum: number }>();

  constructor(about: About, bounds: readonly number[], values: readonly Value[]) {
    this.#about = about;
    this.#bounds = bounds;
    for (const value of values)
      this.#tallies.set(value, { counts: new Array<number>(bounds.length + 1).fill(0), sum: 0 });
  }

  observe(value: Value, amount: number): void {
    const tally = this.#tallies.get(value);
    if (!tally) return;
    let at = 0;
    while (at < this.#bounds.length && amount > (this.#bounds[at] as number)) at++;
    (tally.counts[at] as number)++;
    tally.sum += amount;
  }

  text(): string {
    const { name, label } = this.#about;
    let text = headOf(this.#about, "histogram");
    for (const [value, { counts, sum }] of this.#tallies) {
      const of = `${label}="${value}"`;
      let below = 0;
      for (let at = 0; at < counts.length; at++) {
        below += counts[at] as number;
        text += `${name}_bucket{le="${this.#bounds[at] ?? "+Inf"}",${of}} ${below}\n`;
      }
      text += `${name}_sum{${of}} ${sum}\n${name}_count{${of}} ${below}\n`;
    }
    return text;
  }
}

function headOf({ name, help }: About, type: "counter" | "histogram"): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
}
