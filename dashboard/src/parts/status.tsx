import { shapeOf } from "./status-shapes.ts";

export function Status({ name }: { readonly name: string }) {
  return (
    <span className="status" data-status={name}>
      <span aria-hidden="true" className="status-shape">
        {shapeOf(name)}
      </span>
      {name}
    </span>
  );
}
