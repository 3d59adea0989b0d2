import type { BlockLine } from "./chronicle.ts";
import type { Questions } from "./questions.ts";

export interface ThreadSettings {
  readonly backend: string;
  readonly streamKey: Uint8Array;
}

/**
 * What the server says to the thread. It opens a ledger first, and closes it before another is opened. Blocks come in
 * order; each batch is answered by how far the replay has come.
 */
export type ToThread =
  | { readonly type: "open"; readonly settings: ThreadSettings }
  | { readonly type: "close" }
  | { readonly type: "blocks"; readonly blocks: readonly BlockLine[] }
  | {
      readonly type: "ask";
      readonly id: number;
      readonly question: keyof Questions;
      readonly args: readonly unknown[];
    };

export type FromThread =
  | { readonly type: "closed" }
  | { readonly type: "fed"; readonly seq: number }
  | { readonly type: "answer"; readonly id: number; readonly answer: unknown }
  | { readonly type: "failed"; readonly id: number; readonly error: string };
