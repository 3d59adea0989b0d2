import { canonicalJson, sha256Hex } from "../core/index.ts";
import { limitsOf, type NodeSpec, type TaskSpec } from "../graph/index.ts";
import type { Entry } from "./entries.ts";
import type { Faults, Path } from "./faults.ts";
import { CALL_KEYS, type Call, CallReader, IdList } from "./node-data.ts";
import {
  isMapping,
  isRefusal,
  type Mapping,
  NO_SETTINGS,
  parseName,
  parseText,
  readSettings,
  refuseUnknownKeys,
  SETTING_KEYS,
  type Settings,
  STANDARD,
} from "./node-settings.ts";
import { refused, shown } from "./units.ts";

/** What a worker is asked to do. */
export type Work =
  | {
      readonly kind: "command";
      readonly command: string;
      /** Undefined: the directory of the graph file. */
      readonly cwd: string | undefined;
      readonly env: Readonly<Record<string, string>>;
    }
  | { readonly kind: "task"; readonly type: string; readonly payload: unknown };

export interface FileNode {
  readonly spec: NodeSpec;
  readonly work: Work;
  /** What its worker is given to work on, as JSON text. */
  readonly payload: string;
  readonly line: number;
}

/** The type of the tasks that run a command, which no other task may take. */
const COMMAND = "command";

const NODE_KEYS: readonly string[] = ["id", "run", "task", "needs", "keep", ...CALL_KEYS, ...SETTING_KEYS];
const COMMAND_KEYS = ["env", "cwd"];
const TASK_KEYS = ["payload", ...CALL_KEYS];
/** What is said to the worker alone. */
const WORKER_SETTINGS: readonly (keyof Settings)[] = ["env", "cwd", "payload"];

/** Whoever serves it runs meta nodes: by default the server that leads, if it was given a tasks file. */
export const META_EXECUTOR = "meta";
const META_TIMEOUT_MS = 10_000;

const KEY_CHARACTERS = 32;
const MAX_REQUEST_BYTES = 1024 * 1024;
/** Of each type; with more of them all are forgotten. */
const MAX_REMEMBERED = 1000;

/** What a node's task is, and how much it says. */
interface Specified {
  readonly task: TaskSpec;
  readonly characters: number;
}

/** What a node asks of its worker, and how much that is. Nodes that differ only in whose results they get ask for the same. */
interface Request {
  readonly work: Work;
  readonly payload: string;
  readonly hash: string;
  readonly characters: number;
  readonly isTooLarge: boolean;
}

/** Reads nodes one after the other; equal task specifications become one object. */
export class NodeReader {
  readonly #defaults: Partial<Settings>;
  /** Of a node that sets nothing itself, and by type what its task is then, or with what is for its worker alone. */
  readonly #common: Settings;
  readonly #commonSpecs = new Map<string, Specified>();
  readonly #faults: Faults;
  readonly #specs = new Map<string, TaskSpec>();
  readonly #maxCharacters: number;
  #characters = 0;
  readonly #calls: CallReader;
  readonly #ids = new IdList();
  /** By type, which commands have none of, and payload. To see that two ask for the same takes less than to hash them. */
  readonly #requests = new Map<string | undefined, Map<string, Request>>();

  /** All nodes together may ask for so much, with what the defaults give to each. */
  constructor(defaults: Partial<Settings>, faults: Faults, maxCharacters: number) {
    this.#defaults = defaults;
    this.#common = { ...STANDARD, ...defaults };
    this.#faults = faults;
    this.#calls = new CallReader(faults);
    this.#maxCharacters = maxCharacters;
  }

  /** Small defaults become large when many nodes have them. */
  get isFull(): boolean {
    return this.#characters > this.#maxCharacters;
  }

  /** The node, as far as it can be read, so that what is wrong between nodes is found in the same go. */
  read({ id, path, value, line }: Entry): FileNode {
    const map: Mapping = isMapping(value) ? value : {};
    if (!isMapping(value)) {
      this.#faults.atValue(
        path,
        `node ${JSON.stringify(id)} must be a map such as {run: "echo hello"}; got ${shown(value)}`,
      );
    } else this.#refuseKeys(map, id, path);
    const own = readSettings(map, path, this.#faults);
    const call = this.#calls.read(map, path);
    const isMeta = call?.payload.as?.meta === true;
    const isIo = call?.payload.as?.io === true;
    const isCommon = !isMeta && !isIo && hasOnly(WORKER_SETTINGS, own);
    const settings =
      isCommon && own === NO_SETTINGS
        ? this.#common
        : { ...this.#common, ...own, ...(isMeta && this.#meta(own, path)), ...(isIo && { io: true }) };
    const work = isMapping(value) ? this.#work(map, id, path, settings, own, call) : NOTHING;
    const type = work.kind === "task" ? work.type : COMMAND;
    const listed = Object.hasOwn(map, "needs") ? this.#needs(map["needs"], path) : NO_NEEDS;
    const { task, characters } = isCommon ? this.#commonSpec(type) : this.#taskSpec(type, settings);
    this.#characters += characters;
    const keep = this.#keeps(map, path);
    const request = this.#request(work, call !== undefined, id, path);
    const { hash: requestHash, payload } = request;
    const needs = call ? this.#together(listed, call.inputs) : listed;
    const spec: NodeSpec = call
      ? { id, needs, inputs: call.inputs, task, requestHash, done: false }
      : { id, needs, task, requestHash, done: false };
    return { spec: keep ? { ...spec, keep } : spec, work: request.work, payload, line };
  }

  #refuseKeys(map: Mapping, id: string, path: Path): void {
    const isInList = typeof path.at(-1) === "number";
    if (!isInList && Object.hasOwn(map, "id")) {
      this.#faults.atKey(
        [...path, "id"],
        `id does not belong into node ${JSON.stringify(id)}, whose key is its id; remove it`,
      );
    }
    if (!hasOnly(NODE_KEYS, map))
      refuseUnknownKeys(map, NODE_KEYS, path, `node ${JSON.stringify(id)}`, this.#faults);
    const hasRun = Object.hasOwn(map, "run");
    if (hasRun === Object.hasOwn(map, "task")) return;
    for (const key of hasRun ? TASK_KEYS : COMMAND_KEYS) {
      if (!Object.hasOwn(map, key)) continue;
      const owner = hasRun ? "task" : "run";
      this.#faults.atKey(
        [...path, key],
        `${key} only goes with ${owner}, which node ${JSON.stringify(id)} does not have; remove it`,
      );
    }
  }

  /** Beside the scheduler nothing may take long. */
  #meta(own: Partial<Settings>, path: Path): Partial<Settings> {
    if (own.executor !== undefined && own.executor !== META_EXECUTOR)
      this.#faults.atKey(
        [...path, "executor"],
        "executor does not go with meta: such a node runs beside the scheduler; remove one",
      );
    return { executor: META_EXECUTOR, meta: true, timeoutMs: own.timeoutMs || META_TIMEOUT_MS };
  }

  #keeps(map: Mapping, path: Path): boolean {
    const { keep = false } = map;
    if (typeof keep !== "boolean")
      this.#faults.atValue([...path, "keep"], `keep must be true or false; got ${shown(keep)}`);
    return keep === true;
  }

  #work(
    map: Mapping,
    id: string,
    path: Path,
    settings: Settings,
    own: Partial<Settings>,
    call: Call | undefined,
  ): Work {
    // Their members stand in the order of canonical JSON, which then has nothing to sort.
    const hasRun = Object.hasOwn(map, "run");
    const hasTask = Object.hasOwn(map, "task");
    if (hasRun && hasTask) {
      this.#faults.atKey([...path, "task"], `node ${JSON.stringify(id)} has both run and task; remove one`);
    } else if (!hasRun && !hasTask) {
      this.#faults.atKey(
        path,
        `node ${JSON.stringify(id)} has neither run nor task; add run: "…" or task: "…"`,
      );
    } else if (hasRun) {
      const command = this.#take("run", path, parseText(map["run"]));
      const env = own.env && this.#defaults.env ? { ...this.#defaults.env, ...own.env } : settings.env;
      return { command, cwd: settings.cwd, env, kind: "command" };
    } else {
      const type = this.#take("task", path, parseName(map["task"]));
      if (type === COMMAND) {
        this.#faults.atValue(
          [...path, "task"],
          `task must not be "${COMMAND}", which is how commands run; write run: "…"`,
        );
      }
      return { kind: "task", payload: call?.payload ?? settings.payload, type };
    }
    return NOTHING;
  }

  #needs(value: unknown, path: Path): readonly string[] {
    if (!Array.isArray(value)) {
      const isOne = typeof value === "string" || typeof value === "number";
      const need = isOne
        ? parseName(value)
        : refused("must be an id or a list of ids such as [fetch, clean]", value);
      if (!isRefusal(need)) return [need];
      this.#faults.atValue([...path, "needs"], `needs ${need.refusal}`);
      return NO_NEEDS;
    }
    for (let at = 0; at < value.length; at++) {
      const need = parseName(value[at]);
      if (isRefusal(need)) this.#faults.atValue([...path, "needs", at], `an id in needs ${need.refusal}`);
      else this.#ids.placeOf(need);
    }
    return this.#ids.take();
  }

  /** The nodes that it lists, and those whose results it gets; each once. */
  #together(listed: readonly string[], inputs: readonly string[]): readonly string[] {
    if (listed.length === 0) return inputs;
    for (const id of listed) this.#ids.placeOf(id);
    for (const id of inputs) this.#ids.placeOf(id);
    return this.#ids.take();
  }

  #commonSpec(type: string): Specified {
    let known = this.#commonSpecs.get(type);
    if (!known) {
      known = this.#taskSpec(type, this.#common);
      this.#commonSpecs.set(type, known);
    }
    return known;
  }

  #taskSpec(type: string, settings: Settings): Specified {
    const { env, cwd, payload, capabilities, limits: counted, tokens, ...rest } = settings;
    const { limits, amounts } = limitsOf(
      tokens === undefined ? counted : new Map([...counted, ["tokens", tokens]]),
    );
    // No name contains a line feed, so different specifications have different texts.
    const text = [type, ...Object.values(rest), "", ...capabilities, "", ...limits, "", ...amounts].join(
      "\n",
    );
    const characters = text.length;
    const known = this.#specs.get(text);
    if (known) return { task: known, characters };
    const task = { type, ...rest, capabilities, limits, amounts };
    this.#specs.set(text, task);
    return { task, characters };
  }

  #request(work: Work, isCall: boolean, id: string, path: Path): Request {
    const request = this.#remembered(work);
    this.#characters += request.characters;
    if (request.isTooLarge) {
      const what = work.kind === "command" ? "run" : isCall ? "args" : "payload";
      const way = isCall ? "give up to 8 MiB by g.value(), or " : "";
      const message = `${what} of node ${JSON.stringify(id)} must fit into 1 MiB of JSON; ${way}keep large data in files and pass their names`;
      this.#faults.atKey([...path, what], message);
    }
    return request;
  }

  #remembered(work: Work): Request {
    const payload = JSON.stringify(payloadOf(work));
    const type = work.kind === "task" ? work.type : undefined;
    let ofType = this.#requests.get(type);
    if (!ofType) {
      ofType = new Map();
      this.#requests.set(type, ofType);
    }
    let request = ofType.get(payload);
    if (!request) {
      request = requestOf(work, payload);
      if (ofType.size === MAX_REMEMBERED) ofType.clear();
      ofType.set(payload, request);
    }
    return request;
  }

  #take(key: string, path: Path, value: ReturnType<typeof parseText>): string {
    if (!isRefusal(value)) return value;
    this.#faults.atValue([...path, key], `${key} ${value.refusal}`);
    return "";
  }
}

const NO_NEEDS: readonly string[] = [];

function hasOnly(keys: readonly string[], map: object): boolean {
  for (const key in map) if (!keys.includes(key)) return false;
  return true;
}

function payloadOf(work: Work): unknown {
  if (work.kind === "task") return work.payload;
  const { command, cwd, env } = work;
  return { command, cwd, env: Object.keys(env).length > 0 ? env : undefined };
}

function requestOf(work: Work, payload: string): Request {
  const text = canonicalJson(work);
  // Putting an environment together and in order takes longer than writing it out.
  const variables = work.kind === "command" ? Object.keys(work.env).length : 0;
  return {
    work,
    payload,
    hash: sha256Hex(text),
    characters: text.length + KEY_CHARACTERS * variables,
    isTooLarge: text.length > MAX_REQUEST_BYTES / 4 && Buffer.byteLength(text) > MAX_REQUEST_BYTES,
  };
}

/** Stands for the work of a node that is refused anyway. */
const NOTHING: Work = { kind: "command", command: "", cwd: undefined, env: {} };
