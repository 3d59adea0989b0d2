import { useSyncExternalStore } from "react";

/** What a browser tab knows of who looks: nothing outlives the tab, and nothing is sent by itself. */
export interface Session {
  readonly key: string;
  /** Undefined: the key's first. */
  readonly zone?: string;
}

const NAME = "orrery.session";
const listeners = new Set<() => void>();
let current: Session | undefined = read();
let farewell = "";

export function session(): Session | undefined {
  return current;
}

export function signIn(next: Session): void {
  sessionStorage.setItem(NAME, JSON.stringify(next));
  change(next, "");
}

/** The screen stays where it is, so that signing in again leads back to it. */
export function signOut(why = ""): void {
  sessionStorage.removeItem(NAME);
  change(undefined, why);
}

/** Why the last session ended, for the form that asks for another. */
export function whySignedOut(): string {
  return farewell;
}

export function useSession(): Session | undefined {
  return useSyncExternalStore(subscribe, session);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function change(next: Session | undefined, why: string): void {
  current = next;
  farewell = why;
  for (const listener of listeners) listener();
}

function read(): Session | undefined {
  const text = sessionStorage.getItem(NAME);
  return text === null ? undefined : (JSON.parse(text) as Session);
}
