import type { TaskSpec } from "../graph/index.ts";
import type { Group } from "./group.ts";

/** Agents come and go for as long as a service lives. */
const MAX_SHARED_GROUPS = 1000;

interface SharedSpec {
  readonly spec: TaskSpec;
  readonly text: string;
  users: number;
  /** By zone and agent: those that its tasks came to last. */
  readonly groups: Map<string, Map<string, Group>>;
}

/** The specifications that tasks of no run have in common: those that ask for the same share one, and find their group by it. */
export class SharedSpecs {
  readonly #specs = new Map<string, SharedSpec>();
  /** By the specification itself, and by those that say the same. */
  readonly #shared = new WeakMap<TaskSpec, SharedSpec>();
  readonly #groupFor: (spec: TaskSpec, zone: string, agent: string) => Group;

  constructor(groupFor: (spec: TaskSpec, zone: string, agent: string) => Group) {
    this.#groupFor = groupFor;
  }

  /** For one more task. */
  use(wanted: TaskSpec, zone: string, agent: string): { readonly spec: TaskSpec; readonly group: Group } {
    const shared = this.#share(wanted);
    shared.users++;
    return { spec: shared.spec, group: this.#groupOf(shared, zone, agent) };
  }

  /** One of its tasks is gone. */
  leave(spec: TaskSpec): void {
    const shared = this.#share(spec);
    if (--shared.users === 0) this.#specs.delete(shared.text);
  }

  #share(spec: TaskSpec): SharedSpec {
    const known = this.#shared.get(spec);
    if (known && (known.users > 0 || this.#specs.get(known.text) === known)) return known;
    const text = JSON.stringify(Object.values(spec));
    const shared = this.#specs.get(text) ?? { spec, text, users: 0, groups: new Map() };
    this.#specs.set(text, shared);
    this.#shared.set(spec, shared);
    return shared;
  }

  #groupOf({ spec, groups }: SharedSpec, zone: string, agent: string): Group {
    let ofZone = groups.get(zone);
    if (!ofZone) {
      ofZone = new Map();
      groups.set(zone, ofZone);
    }
    let group = ofZone.get(agent);
    if (!group || group.isForgotten) {
      if (ofZone.size >= MAX_SHARED_GROUPS) ofZone.clear();
      group = this.#groupFor(spec, zone, agent);
      ofZone.set(agent, group);
    }
    return group;
  }
}
