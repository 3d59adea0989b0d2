import type { ChunkKind } from "../../protocol/index.ts";
import type { Expansion } from "../expansion.ts";
import type { Invocation } from "../invocation.ts";
import type { TaskContext } from "../task-context.ts";

/** What the worker says to a thread. */
export type ToThread =
  | {
      readonly type: "run";
      readonly id: number;
      readonly file: string;
      readonly name: string;
      readonly invocation: Invocation;
      readonly about: About;
    }
  | { readonly type: "cancel"; readonly id: number; readonly name: string; readonly message: string }
  /** The next piece of a stream may come. */
  | { readonly type: "more"; readonly id: number };

/** What a handler knows of its attempt, without what it can do. */
export type About = Pick<
  TaskContext,
  "taskId" | "attempt" | "taskType" | "zone" | "agent" | "run" | "node" | "alternative"
> & { readonly graceMs: number };

/** And what a thread says. */
export type FromThread = { readonly id: number } & (
  | { readonly type: "log"; readonly text: string }
  | { readonly type: "progress"; readonly fraction: number; readonly message: string | undefined }
  | { readonly type: "cost"; readonly amount: number }
  | { readonly type: "assess"; readonly assessment: Parameters<TaskContext["assess"]>[0] }
  | { readonly type: "finished"; readonly kind: ChunkKind; readonly bytes: Uint8Array }
  | { readonly type: "expanded"; readonly expansion: Expansion }
  /** The result comes in pieces, and is whole when it has finished. */
  | { readonly type: "piece"; readonly bytes: Uint8Array }
  | { readonly type: "streamed" }
  | { readonly type: "failed"; readonly error: CopiedError }
);

export interface CopiedError {
  readonly message: string;
  readonly stack: string | undefined;
  readonly code: string | undefined;
  readonly retry: boolean | undefined;
}
