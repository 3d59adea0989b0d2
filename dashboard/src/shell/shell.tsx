import { type ReactNode, useEffect, useMemo, useState } from "react";
import { useLocation } from "wouter";
import { useMoment } from "../api/moment.ts";
import { useLiveUpdates } from "../live/live.ts";
import { useKept } from "../parts/kept.ts";
import { PastBar } from "../past/bar.tsx";
import { TIME_MODES, timeMode } from "../time/time.tsx";
import { Header } from "./header.tsx";
import { KeyOverlay } from "./key-overlay.tsx";
import { Palette } from "./palette.tsx";
import { type Shortcut, useShortcuts } from "./shortcuts.ts";
import { applyTheme, THEMES, theme } from "./theme.ts";
import { useScreens } from "./use-screens.ts";

type Overlay = "keys" | "palette" | undefined;

/** What stands around every screen. */
export function Shell({ children }: { readonly children: ReactNode }) {
  const [overlay, setOverlay] = useState<Overlay>();
  const [isPastOpen, setPastOpen] = useState(false);
  const isPast = useMoment() !== undefined;
  const [, navigate] = useLocation();
  useLiveUpdates();
  const screens = useScreens();
  const chosen = useKept(theme);
  useEffect(() => applyTheme(chosen), [chosen]);
  const shortcuts = useMemo<readonly Shortcut[]>(
    () => [
      { keys: "?", does: "these keys", run: () => setOverlay("keys") },
      { keys: "mod+k", does: "go to anything", run: () => setOverlay("palette") },
      { keys: "h", does: "look at the past", run: () => setPastOpen(true) },
      ...screens.map(({ key, name, path }) => ({
        keys: key,
        does: `go to ${name.toLowerCase()}`,
        run: () => navigate(path),
      })),
      {
        keys: "t",
        does: "times: relative, local, UTC",
        run: () => timeMode.set(next(TIME_MODES, timeMode.get())),
      },
      {
        keys: "d",
        does: "colours: as the system has them, light, dark",
        run: () => theme.set(next(THEMES, theme.get())),
      },
    ],
    [navigate, screens],
  );
  useShortcuts(shortcuts);
  return (
    <>
      <a className="skip" href="#main">
        To the content
      </a>
      <Header
        onPalette={() => setOverlay("palette")}
        onKeys={() => setOverlay("keys")}
        onPast={() => setPastOpen(true)}
      />
      {(isPastOpen || isPast) && <PastBar onClose={() => setPastOpen(false)} />}
      <main id="main" tabIndex={-1}>
        {children}
      </main>
      {overlay === "keys" && <KeyOverlay onClose={() => setOverlay(undefined)} />}
      {overlay === "palette" && <Palette onClose={() => setOverlay(undefined)} />}
    </>
  );
}

function next<Value>(values: readonly Value[], value: Value): Value {
  return values[(values.indexOf(value) + 1) % values.length] as Value;
}
