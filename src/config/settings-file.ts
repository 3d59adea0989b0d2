import { dirname, isAbsolute, join } from "node:path";
import {
  type DocumentReader,
  type Faults,
  isMapping,
  type Path,
  parseName,
  readDocument,
  refuseUnknownKeys,
  shown,
} from "../protocol/index.ts";
import type { ConfigProblem, Given } from "./origin.ts";

import { withoutValue } from "./outside.ts";
import { AMOUNT, PLANNED, RESOURCES, ROW_OF, ROWS, type Row, SECTION_NAMES } from "./table.ts";
import { valueText } from "./value-text.ts";
import type { ValueType } from "./value-type.ts";

const EXAMPLE = "such as scheduling: {max_concurrent_workcells: 8}";

export interface FileSettings {
  /** By path. What is wrong is left out. */
  readonly given: ReadonlyMap<string, Given>;
  readonly problems: readonly ConfigProblem[];
}

/** Reads the text of a settings file: all that it sets, and all that is wrong with it. */
export function readSettingsFile(source: string | Uint8Array, file: string): FileSettings {
  const reading = new SettingsReading(file);
  const result = readDocument(source, file, (lines): DocumentReader<true> => {
    reading.positionOf = (offset) => lines.at(offset);
    return reading;
  });
  const problems = result.ok
    ? []
    : result.problems.map(({ line, column, message }) => ({ where: `${file}:${line}:${column}`, message }));
  return { given: reading.given, problems };
}

class SettingsReading implements DocumentReader<true> {
  readonly given = new Map<string, Given>();
  positionOf: (offset: number) => { line: number; column: number } = () => ({ line: 1, column: 1 });
  readonly #file: string;
  readonly #positions = new Map<string, { line: number; column: number }>();
  /** Values of settings that are secret: by an alias they can stand elsewhere too. */
  readonly #secrets = new Set<unknown>();

  constructor(file: string) {
    this.#file = file;
  }

  readonly keepsText = ([section, key]: Path): boolean =>
    ROW_OF.get(`${section}.${key}`)?.setting.type.keepsText === true;

  readonly visit = (path: Path, keyOffset: number): void => {
    if (path.length <= 2) this.#positions.set(path.join("."), this.positionOf(keyOffset));
  };

  readonly read = (root: unknown, faults: Faults): true => {
    if (root === null) return true;
    if (!isMapping(root)) {
      faults.atOffset(0, [], `the file must be a map of sections, ${EXAMPLE}${gotUnlessText(root)}`);
      return true;
    }
    for (const { section, setting } of ROWS) {
      const map = root[section];
      if (setting.mask && isMapping(map)) this.#secrets.add(map[setting.key]);
    }
    const known = Object.fromEntries(
      Object.entries(root).filter(([key]) => !this.#isMisplaced(key, root, faults)),
    );
    refuseUnknownKeys(known, SECTION_NAMES, [], "the file", faults);
    for (const section of SECTION_NAMES) {
      // A section without anything in it is null.
      const value = Object.hasOwn(root, section) ? (root[section] ?? {}) : {};
      if (!isMapping(value))
        faults.atValue([section], `${section} must be a map, ${EXAMPLE}${gotUnlessText(value)}`);
      else if (section === RESOURCES) this.#readResources(value, faults);
      else this.#readSection(section, value, faults);
    }
    return true;
  };

  /** A setting that stands outside of its section, also by the name that it had before there were sections. */
  #isMisplaced(key: string, root: Readonly<Record<string, unknown>>, faults: Faults): boolean {
    if (SECTION_NAMES.includes(key)) return false;
    if (key === "nodes") {
      faults.atKey(
        [key],
        "nodes makes this a graph file; settings have a file of their own: rename one of the two",
      );
      return true;
    }
    const row = ROWS.find(({ name, setting }) => name === key || setting.key === key);
    if (row === undefined) return false;
    const isSecret = row.setting.mask !== undefined;
    const value = isSecret ? "…" : row.name === key ? newForm(row, root[key]) : valueText(root[key]);
    faults.atKey([key], `${key} is ${row.path}; write ${row.section}: {${row.setting.key}: ${value}}`);
    return true;
  }

  #readSection(section: string, map: Readonly<Record<string, unknown>>, faults: Faults): void {
    const rows = ROWS.filter((row) => row.section === section);
    refuseUnknownKeys(
      map,
      rows.map(({ setting }) => setting.key),
      [section],
      section,
      faults,
    );
    for (const { path, setting } of rows) {
      if (!Object.hasOwn(map, setting.key)) continue;
      const value = this.#parse(
        setting.type,
        map[setting.key],
        [section, setting.key],
        faults,
        setting.mask !== undefined,
      );
      if (value === undefined) continue;
      this.#put(path, setting.isPath ? this.#besideFile(value as string) : value);
    }
  }

  #readResources(map: Readonly<Record<string, unknown>>, faults: Faults): void {
    for (const name of Object.keys(map)) {
      const at = [RESOURCES, name];
      const wrong = parseName(name);
      if (typeof wrong !== "string") faults.atKey(at, `a resource's name ${wrong.refusal}`);
      const instead = PLANNED.get(at.join("."));
      if (instead !== undefined) faults.atKey(at, `${at.join(".")} ${instead}`);
      const value = this.#parse(AMOUNT, map[name], at, faults);
      if (value !== undefined) this.#put(at.join("."), value);
    }
  }

  #parse<Value>(
    type: ValueType<Value>,
    value: unknown,
    at: Path,
    faults: Faults,
    isOfSecret = false,
  ): Value | undefined {
    const isSecret = isOfSecret || this.#secrets.has(value);
    return type.parse(value, (refusal, ...within) => {
      const path = [...at, ...within];
      const field = at.join(".") + within.map((step) => `[${step}]`).join("");
      faults.atValue(path, `${field} ${isSecret ? withoutValue(refusal) : refusal}`);
    });
  }

  #put(path: string, value: unknown): void {
    const position = this.#positions.get(path) ?? this.#positions.get(path.split(".")[0] ?? "");
    const { line, column } = position ?? { line: 1, column: 1 };
    this.given.set(path, { value, origin: { kind: "file", file: this.#file, line, column } });
  }

  #besideFile(path: string): string {
    return isAbsolute(path) ? path : join(dirname(this.#file), path);
  }
}

/** The old names had the units of the code, so what they were given is what the new form is written from. */
function newForm({ setting }: Row, value: unknown): string {
  const isOfCode = typeof value === typeof setting.default && typeof value === "number" && value >= 0;
  return valueText(isOfCode ? setting.type.write(value) : value);
}

/** A text where a map should be may be `api_key=…`. */
function gotUnlessText(value: unknown): string {
  return typeof value === "string" ? "; got a text" : `; got ${shown(value)}`;
}
