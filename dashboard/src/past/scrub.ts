import { useIsFetching } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { lookAt, useMoment } from "../api/moment.ts";

interface Scrub {
  /** Where the handle stands; undefined: now. */
  readonly wanted: number | undefined;
  /** Goes there as soon as what is asked for now has come. */
  readonly go: (seq: number) => void;
  readonly backToNow: () => void;
}

/**
 * Moves through the past as fast as answers come, and no faster: moments that were passed meanwhile are left out, and what was seen
 * last stays until the next is there.
 */
export function useScrub(last: number): Scrub {
  const at = useMoment();
  const [wanted, setWanted] = useState(at);
  const shown = useRef(at);
  const isBusy = useIsFetching({ predicate: ({ queryKey }) => typeof queryKey.at(-1) === "number" }) > 0;
  useEffect(() => {
    // Somebody else went there: a link, or the browser's own steps.
    if (at === shown.current) return;
    shown.current = at;
    setWanted(at);
  }, [at]);
  useEffect(() => {
    if (isBusy || wanted === undefined || wanted === shown.current) return;
    const isStep = shown.current === undefined;
    shown.current = wanted;
    lookAt(wanted, !isStep);
  }, [wanted, isBusy]);
  const go = useCallback((seq: number) => setWanted(Math.min(Math.max(0, Math.round(seq)), last)), [last]);
  const backToNow = useCallback(() => {
    shown.current = undefined;
    setWanted(undefined);
    lookAt(undefined);
  }, []);
  return { wanted, go, backToNow };
}
