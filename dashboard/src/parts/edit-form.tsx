import { useQueryClient } from "@tanstack/react-query";
import { createContext, type FormEvent, type ReactNode, useContext, useState } from "react";
import { Refused } from "../api/request.ts";

interface EditFormProps {
  /** What it changes, for who does not see where it stands. */
  readonly label: string;
  readonly save: string;
  readonly onSave: () => Promise<unknown>;
  /** It was saved, or is not to be. */
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** What the server says of each field, by its pointer. */
const FieldProblems = createContext<ReadonlyMap<string, string>>(new Map());

/** A few fields that are sent together. What is wrong stands where it was typed, in the server's words. */
export function EditForm({ label, save, onSave, onClose, children }: EditFormProps) {
  const client = useQueryClient();
  const [refused, setRefused] = useState<Error>();
  const [isSaving, setSaving] = useState(false);
  const problems = problemsOf(refused);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setSaving(true);
    try {
      await onSave();
      await client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== "caller" });
      onClose();
    } catch (error) {
      setRefused(error as Error);
      setSaving(false);
    }
  };
  return (
    <form className="edit-form" aria-label={label} noValidate onSubmit={(event) => void submit(event)}>
      <FieldProblems value={problems}>{children}</FieldProblems>
      <div className="buttons">
        <button type="button" onClick={onClose}>
          Leave it
        </button>
        <button type="submit" className="primary" disabled={isSaving}>
          {save}
        </button>
      </div>
      {refused && problems.size === 0 && (
        <p role="alert" className="problem">
          {refused.message}
        </p>
      )}
    </form>
  );
}

/** The first problem at or below one of the pointers; undefined: none. */
export function useFieldProblem(pointer: string): string | undefined {
  const problems = useContext(FieldProblems);
  for (const [where, detail] of problems)
    if (where === pointer || where.startsWith(`${pointer}/`)) return detail;
  return undefined;
}

function problemsOf(error: Error | undefined): ReadonlyMap<string, string> {
  const items = error instanceof Refused ? error.errors : [];
  return new Map(items.map(({ pointer, detail }) => [pointer, detail]));
}
