import { useCallback } from "react";
import { useSearchParams } from "wouter";

type Change = (name: string, value: string, options?: { readonly replace: boolean }) => void;

/** What the address says behind its path, and how one part of that is changed; an empty value takes it away. */
export function useAddress(): readonly [URLSearchParams, Change] {
  const [params, setParams] = useSearchParams();
  const change = useCallback<Change>(
    (name, value, options) =>
      setParams((before) => {
        const next = new URLSearchParams(before);
        if (value === "") next.delete(name);
        else next.set(name, value);
        return next;
      }, options),
    [setParams],
  );
  return [params, change];
}
