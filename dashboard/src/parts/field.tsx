import { type ReactNode, useId } from "react";
import { useFieldProblem } from "./edit-form.tsx";

interface FieldProps {
  readonly name: string;
  /** Where the server finds it in what is sent. */
  readonly pointer: string;
  readonly children: (field: FieldAttributes) => ReactNode;
}

interface FieldAttributes {
  readonly id: string;
  readonly "aria-invalid": boolean;
  readonly "aria-describedby": string;
}

/** A named place to type into, and below it what is wrong with what was typed. */
export function Field({ name, pointer, children }: FieldProps) {
  const id = useId();
  const problem = useFieldProblem(pointer);
  const attributes = {
    id,
    "aria-invalid": problem !== undefined,
    "aria-describedby": `${id}-problem`,
  };
  return (
    <div className="field">
      <label htmlFor={id}>{name}</label>
      <div className="field-inputs">{children(attributes)}</div>
      <p id={`${id}-problem`} role="alert" className="problem">
        {problem}
      </p>
    </div>
  );
}

interface TextFieldProps extends Omit<FieldProps, "children"> {
  readonly value: string;
  readonly placeholder: string;
  readonly size: number;
  readonly inputMode?: "decimal";
  readonly onChange: (value: string) => void;
}

export function TextField({ name, pointer, onChange, ...input }: TextFieldProps) {
  return (
    <Field name={name} pointer={pointer}>
      {(field) => <input {...field} {...input} onChange={({ target }) => onChange(target.value)} />}
    </Field>
  );
}
