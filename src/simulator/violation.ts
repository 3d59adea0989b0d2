/** Whom a broken invariant is about: the window of events that is shown is about them. */
export interface About {
  readonly run?: number | undefined;
  readonly node?: number | undefined;
  readonly worker?: number | undefined;
}

export class Violation extends Error {
  override readonly name = "Violation";
  readonly invariant: string;
  readonly about: About;

  constructor(invariant: string, detail: string, about: About = {}) {
    super(detail);
    this.invariant = invariant;
    this.about = about;
  }
}

/** Details are made only for what is broken: this runs for every event. */
export function demand(
  holds: boolean,
  invariant: string,
  detail: () => string,
  about?: About,
): asserts holds {
  if (!holds) throw new Violation(invariant, detail(), about);
}
