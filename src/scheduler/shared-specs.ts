import type { TaskSpec } from "../graph/index.ts";
import type { Accounts } from "./accounts.ts";
import type { Group } from "./group.ts";
import { specBytes } from "./weights.ts";

interface SharedSpec {
  readonly spec: TaskSpec;
  readonly text: string;
  /** Estimated heap. Each group whose tasks use it is charged, as if it were alone. */
  readonly bytes: number;
  users: number;
  /** The groups that use the specification, keyed by zone and then by agent. */
  readonly groups: Map<string, Map<string, UsingGroup>>;
}

interface UsingGroup {
  readonly group: Group;
  /** Its tasks that have this specification. */
  users: number;
}

/** The specifications that tasks of no run have in common: those that ask for the same share one, and find their group by it. */
export class SharedSpecs {
  readonly #specs = new Map<string, SharedSpec>();
  /** By the specification itself, and by those that say the same. */
  readonly #shared = new WeakMap<TaskSpec, SharedSpec>();
  readonly #accounts: Accounts;
  readonly #groupFor: (spec: TaskSpec, zone: string, agent: string) => Group;

  constructor(accounts: Accounts, groupFor: (spec: TaskSpec, zone: string, agent: string) => Group) {
    this.#accounts = accounts;
    this.#groupFor = groupFor;
  }

  /** For one more task. */
  use(wanted: TaskSpec, zone: string, agent: string): { readonly spec: TaskSpec; readonly group: Group } {
    const shared = this.#share(wanted);
    const using = this.#using(shared, zone, agent);
    shared.users++;
    using.users++;
    return { spec: shared.spec, group: using.group };
  }

  /** One of its tasks is gone. */
  leave(spec: TaskSpec, { zone, agent, account }: Group): void {
    const shared = this.#share(spec);
    const ofZone = shared.groups.get(zone);
    const using = ofZone?.get(agent);
    if (ofZone && using && --using.users === 0) {
      ofZone.delete(agent);
      if (ofZone.size === 0) shared.groups.delete(zone);
      this.#accounts.release(account, shared.bytes);
    }
    if (--shared.users === 0) this.#specs.delete(shared.text);
  }

  #share(spec: TaskSpec): SharedSpec {
    const known = this.#shared.get(spec);
    if (known && (known.users > 0 || this.#specs.get(known.text) === known)) return known;
    const text = JSON.stringify(Object.values(spec));
    const shared = this.#specs.get(text) ?? {
      spec,
      text,
      bytes: specBytes(spec),
      users: 0,
      groups: new Map(),
    };
    this.#specs.set(text, shared);
    this.#shared.set(spec, shared);
    return shared;
  }

  #using(shared: SharedSpec, zone: string, agent: string): UsingGroup {
    let ofZone = shared.groups.get(zone);
    if (!ofZone) {
      ofZone = new Map();
      shared.groups.set(zone, ofZone);
    }
    let using = ofZone.get(agent);
    if (!using) {
      using = { group: this.#groupFor(shared.spec, zone, agent), users: 0 };
      ofZone.set(agent, using);
      this.#accounts.hold(using.group.account, shared.bytes);
    }
    return using;
  }
}
