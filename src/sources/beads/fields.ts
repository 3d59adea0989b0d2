import type { Priority } from "../../graph/index.ts";
import { RISKS, type Risk } from "../../plan/index.ts";
import { parsePriority, parseTshirtSizeMs, shown, type UnitRefusal } from "../../protocol/index.ts";
import type { Findings } from "../findings.ts";
import { type Mapping, mappingOf } from "../json-values.ts";
import { MAX_AMOUNT, MAX_TICKS } from "../result.ts";
import type { BeadsRecord } from "./records.ts";

const MINUTE = 60_000;
const DEFAULT_SIZE = "M";
const DEFAULT_TOKENS = 50_000;
const DEFAULT_PRIORITY = 2;
const DEFAULT_ATTEMPTS = 3;

/** Reads the fields of one issue. A value that is wrong is reported and counts as if it were not there. */
export class Fields {
  readonly #record: BeadsRecord;
  readonly #metadata: Mapping;
  readonly #findings: Findings;

  constructor(record: BeadsRecord, findings: Findings) {
    this.#record = record;
    this.#metadata = mappingOf(record.map["metadata"]);
    this.#findings = findings;
  }

  /** Of our own fields; in `metadata`, because an import drops keys at the top that it does not know. */
  #own(key: string): unknown {
    return this.#metadata[key] ?? this.#record.map[key] ?? undefined;
  }

  #of(key: string): unknown {
    return this.#record.map[key] ?? undefined;
  }

  find(code: string, message: string): void {
    this.#findings.add(this.#record.line, code, message, this.#record.id);
  }

  text(key: string, standard: string): string {
    const value = this.#of(key) ?? standard;
    if (typeof value === "string") return value;
    this.find(`bad-${key}`, `${key} must be a text, not ${shown(value)}; it counts as ${shown(standard)}`);
    return standard;
  }

  isSet(key: string): boolean {
    const value = this.#of(key) ?? false;
    if (typeof value !== "boolean")
      this.find(`bad-${key}`, `${key} must be true or false, not ${shown(value)}; it counts as false`);
    return value === true;
  }

  /**
   * An import makes a missing priority critical, as exports once left out zeros; but who wrote none asked for nothing,
   * and must not go before those who asked.
   */
  priority(): Priority {
    const value = this.#own("dk_priority") ?? this.#of("priority");
    if (value === undefined) {
      this.find("missing-priority", `priority is missing; it counts as ${DEFAULT_PRIORITY}`);
      return DEFAULT_PRIORITY;
    }
    return this.#parsed("priority", parsePriority(value), DEFAULT_PRIORITY);
  }

  /** In milliseconds. */
  duration(): number {
    const minutes = this.#wholeNumber("estimated_minutes", this.#of("estimated_minutes"), MAX_TICKS / MINUTE);
    if (minutes !== undefined) return minutes * MINUTE;
    const size = this.#own("dk_size") ?? DEFAULT_SIZE;
    const ms = parseTshirtSizeMs(typeof size === "string" ? size.toUpperCase() : size);
    return this.#parsed("dk_size", ms, Number(parseTshirtSizeMs(DEFAULT_SIZE)));
  }

  tokens(): number {
    return this.#ownNumber("dk_estimated_tokens") ?? DEFAULT_TOKENS;
  }

  readySince(): number | undefined {
    return this.time("ready_since", this.#own("ready_since"));
  }

  hasAttemptsLeft(): boolean {
    return (this.#ownNumber("dk_attempts") ?? 0) < (this.#ownNumber("dk_max_attempts") ?? DEFAULT_ATTEMPTS);
  }

  risk(): Risk {
    const value = this.#own("dk_risk") ?? "medium";
    const risk = RISKS.find((risk) => risk === value);
    if (!risk)
      this.find(
        "bad-dk_risk",
        `dk_risk must be ${RISKS.join(", ")}, not ${shown(value)}; it counts as medium`,
      );
    return risk ?? "medium";
  }

  /** Asked for by our own field, or by a kind of work to which many submit and of which one is picked. */
  speculates(): boolean {
    const value = this.#own("dk_speculate") ?? false;
    const isTrue = value === true || value === "true";
    if (!isTrue && value !== false && value !== "false")
      this.find("bad-dk_speculate", `dk_speculate must be true or false, not ${shown(value)}`);
    return isTrue || this.#of("work_type") === "open_competition";
  }

  tags(): readonly string[] {
    return ["labels", "tags"].flatMap((key) => {
      const value = this.#of(key) ?? [];
      const tags = Array.isArray(value) ? value.filter((tag) => typeof tag === "string") : [];
      if (!Array.isArray(value) || tags.length < value.length)
        this.find(`bad-${key}`, `${key} must be a list of texts; what is none is ignored`);
      return tags;
    });
  }

  /** Milliseconds since 1970. */
  time(key: string, value: unknown = this.#of(key)): number | undefined {
    if (value === undefined) return undefined;
    const time =
      typeof value === "string" && DATE.test(value) ? Date.parse(value.replace(" ", "T")) : Number.NaN;
    if (!Number.isNaN(time)) return time;
    this.find(
      "bad-date",
      `${key} must be a time such as 2026-01-31T12:00:00Z, not ${shown(value)}; it is ignored`,
    );
    return undefined;
  }

  #parsed<Value extends number>(key: string, value: Value | UnitRefusal, standard: Value): Value {
    if (typeof value === "number") return value;
    this.find(`bad-${key}`, `${key} ${value.refusal}; it is ignored`);
    return standard;
  }

  #ownNumber(key: string): number | undefined {
    return this.#wholeNumber(key, this.#own(key), MAX_AMOUNT);
  }

  /** Values that were set by a command are texts. */
  #wholeNumber(key: string, value: unknown, max: number): number | undefined {
    if (value === undefined) return undefined;
    const number = typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
    if (typeof number === "number" && Number.isInteger(number) && number >= 0 && number <= max) return number;
    this.find(
      `bad-${key}`,
      `${key} must be a whole number from 0 to ${max}, not ${shown(value)}; it is ignored`,
    );
    return undefined;
  }
}

const DATE = /^\d{4}-\d\d-\d\d(?:[Tt ]\d\d:\d\d(?::\d\d(?:\.\d{1,12})?)?(?:[Zz]|[+-]\d\d:\d\d))?$/;
