import { useMemo } from "react";
import { useCaller } from "../api/queries.ts";
import { SCREENS, type Screen } from "./screens.ts";

/** Those that whoever looks may see something on. */
export function useScreens(): readonly Screen[] {
  const { data: caller } = useCaller();
  return useMemo(
    () => SCREENS.filter(({ needs }) => needs === undefined || caller?.scopes.includes(needs)),
    [caller],
  );
}
