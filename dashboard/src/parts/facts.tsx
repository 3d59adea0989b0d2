import type { ReactNode } from "react";

type Fact = readonly [name: string, value: ReactNode];

/** Values under their names, of those that have one. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl className="facts">
      {facts.map(
        ([name, value]) =>
          value && (
            <div key={name}>
              <dt>{name}</dt>
              <dd data-fact={name}>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
