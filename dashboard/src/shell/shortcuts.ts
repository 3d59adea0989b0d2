import { useEffect, useSyncExternalStore } from "react";

export interface Shortcut {
  /** As `KeyboardEvent.key` has it; "mod+" for Control, or Command on a Mac. */
  readonly keys: string;
  readonly does: string;
  readonly run: () => void;
}

let known: readonly Shortcut[] = [];
const listeners = new Set<() => void>();

/** What can be done by keys where one is now. */
export function useKnownShortcuts(): readonly Shortcut[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => known,
  );
}

/** For as long as the component is there. What came last goes first. */
export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  useEffect(() => {
    change([...shortcuts, ...known]);
    return () => change(known.filter((one) => !shortcuts.includes(one)));
  }, [shortcuts]);
}

export function listenToKeys(): void {
  document.addEventListener("keydown", (event) => {
    const isModified = event.ctrlKey || event.metaKey;
    const isTyping = isField(event.target) || document.querySelector("dialog[open]") !== null;
    if (event.altKey || event.defaultPrevented || (isTyping && !isModified)) return;
    const keys = isModified ? `mod+${event.key.toLowerCase()}` : event.key;
    const found = known.find((one) => one.keys === keys);
    if (!found) return;
    event.preventDefault();
    found.run();
  });
}

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");
}

function change(next: readonly Shortcut[]): void {
  known = next;
  for (const listener of listeners) listener();
}
