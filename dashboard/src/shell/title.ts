import { useEffect } from "react";

/** Names the tab after what it shows. */
export function useTitle(what: string): void {
  useEffect(() => {
    document.title = `${what} · Orrery`;
  }, [what]);
}
