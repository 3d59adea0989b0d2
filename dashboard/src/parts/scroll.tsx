import type { ReactNode } from "react";

interface ScrollProps {
  readonly label: string;
  readonly children: ReactNode;
}

/** What may be wider than the screen and holds nothing to go to: keys scroll it where it is gone to itself. */
export function Scroll({ label, children }: ScrollProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <section className="scroll" aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}
