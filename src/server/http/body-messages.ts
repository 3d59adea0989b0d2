import type { ErrorItem } from "../../protocol/api-schemas.ts";
import type { RunSubmission } from "../api.ts";
import type { ProblemCode } from "./problems.ts";
import type { BodyForm } from "./read-body.ts";

/** Messages to the body thread. A body that was read stays there until its slices are taken, or until it is dropped. */
export type ToBodyThread =
  | { readonly type: "read"; readonly id: number; readonly form: BodyForm; readonly bytes: Uint8Array }
  | { readonly type: "next"; readonly id: number }
  | { readonly type: "drop"; readonly id: number };

export type FromBodyThread =
  | { readonly type: "read"; readonly id: number; readonly run: RunSubmission | undefined }
  | { readonly type: "refused"; readonly id: number; readonly problem: SentProblem }
  | { readonly type: "failed"; readonly id: number; readonly error: string }
  | {
      readonly type: "slice";
      readonly id: number;
      readonly items: readonly unknown[];
      readonly isLast: boolean;
    };

export interface SentProblem {
  readonly code: ProblemCode;
  readonly detail: string;
  readonly errors: readonly ErrorItem[] | undefined;
}
