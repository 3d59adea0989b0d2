interface Column {
  readonly name: string;
  readonly isNumber?: boolean;
  /** It names buttons, which name themselves to who sees them. */
  readonly isUnseen?: boolean;
  readonly title?: string;
}

/** The names of columns. */
export function TableHead({ columns }: { readonly columns: readonly (string | Column)[] }) {
  return (
    <thead>
      <tr>
        {columns.map((column) => {
          const { name, isNumber, isUnseen, title } = typeof column === "string" ? { name: column } : column;
          return (
            <th key={name} scope="col" className={isNumber ? "number" : undefined} title={title}>
              {isUnseen ? <span className="visually-hidden">{name}</span> : name}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

/** Of buttons. */
export const ACTIONS: Column = { name: "actions", isUnseen: true };

export function numbers(name: string): Column {
  return { name, isNumber: true };
}
