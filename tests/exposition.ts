// The text format of Prometheus, read as strictly as its own checker does.

export interface Family {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: readonly Sample[];
}

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|Inf|NaN)|\+Inf)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"(?:,|$)/gy;

/** Throws where a line is not as it should be. */
export function parseExposition(text: string): Map<string, Family> {
  if (!text.endsWith("\n")) throw new Error("it does not end with a line break");
  const families = new Map<string, Family & { samples: Sample[] }>();
  let current: (Family & { samples: Sample[] }) | undefined;
  for (const line of text.trimEnd().split("\n").filter(Boolean)) {
    const [, kind, name = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (kind === "HELP") {
      if (families.has(name)) throw new Error(`${name} comes twice`);
      current = { name, type: "", help: rest, samples: [] };
      families.set(name, current);
    } else if (kind === "TYPE" && current?.name === name) {
      current = Object.assign(current, { type: rest });
    } else current?.samples.push(sampleOf(line, current));
  }
  return families;
}

function sampleOf(line: string, family: Family): Sample {
  const match = SAMPLE.exec(line);
  if (!match) throw new Error(`not a sample: ${line}`);
  const [, name = "", labels = "", value = ""] = match;
  const suffixes = family.type === "histogram" ? ["_bucket", "_sum", "_count"] : [""];
  if (!suffixes.some((suffix) => name === family.name + suffix))
    throw new Error(`${name} is not of ${family.name}`);
  return { name, labels: labelsOf(labels), value: Number(value.replace("Inf", "Infinity")) };
}

function labelsOf(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  let end = 0;
  for (const match of text.matchAll(LABEL)) {
    labels[match[1] as string] = match[2] as string;
    end = match.index + match[0].length;
  }
  if (end !== text.length) throw new Error(`not labels: ${text}`);
  return labels;
}

/** What Prometheus's own checker would complain about. */
export function lintExposition(families: Iterable<Family>): string[] {
  const problems: string[] = [];
  for (const { name, type, help, samples } of families) {
    if (help === "") problems.push(`${name} has no help`);
    if (!/^[a-z][a-z0-9_]*$/.test(name)) problems.push(`${name} is not in snake case`);
    if (type === "counter" && !name.endsWith("_total")) problems.push(`${name} is a counter without _total`);
    if (type !== "counter" && name.endsWith("_total")) problems.push(`${name} is no counter but ends so`);
    if (/_(ms|millis|milliseconds|minutes|kb|mb|kib|mib|percent)(_|$)/.test(name))
      problems.push(`${name} is not in base units`);
    if (/_(counter|gauge|histogram|bucket|sum|count)$/.test(name)) problems.push(`${name} ends with a type`);
    for (const [label, owner] of [
      ["quantile", "summary"],
      ["le", "histogram"],
    ] as const)
      if (type !== owner && samples.some(({ labels }) => label in labels))
        problems.push(`${name} has a label ${label} and is no ${owner}`);
    const seen = new Set(samples.map((sample) => JSON.stringify([sample.name, sample.labels])));
    if (seen.size !== samples.length) problems.push(`${name} has a sample twice`);
    if (type === "histogram") problems.push(...histogramProblems(name, samples));
  }
  return problems;
}

function histogramProblems(name: string, samples: readonly Sample[]): string[] {
  const problems: string[] = [];
  const series = new Map<string, Sample[]>();
  for (const sample of samples.filter((one) => one.name.endsWith("_bucket"))) {
    const { le: _, ...labels } = sample.labels;
    const key = JSON.stringify(labels);
    series.set(key, [...(series.get(key) ?? []), sample]);
  }
  for (const buckets of series.values()) {
    const values = buckets.map(({ value }) => value);
    if (values.some((value, at) => value < (values[at - 1] ?? 0)))
      problems.push(`${name} has a bucket that falls`);
    if (buckets.at(-1)?.labels["le"] !== "+Inf") problems.push(`${name} does not end with +Inf`);
  }
  return problems;
}
