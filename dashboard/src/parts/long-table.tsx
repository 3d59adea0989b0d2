import { useWindowVirtualizer, type Virtualizer } from "@tanstack/react-virtual";
import { type CSSProperties, type ReactNode, type RefObject, useEffect, useRef } from "react";

/** So many rows before the end the next page is asked for. */
const AHEAD = 30;

interface Pages {
  readonly hasNextPage: boolean;
  readonly isFetching: boolean;
  fetchNextPage(): Promise<unknown>;
}

interface LongRows<Row> {
  readonly all: readonly Row[];
  /** No more are to come. */
  readonly isWhole: boolean;
  readonly list: RefObject<HTMLTableSectionElement | null>;
  readonly virtual: Virtualizer<Window, Element>;
}

interface LongTableProps<Row> {
  readonly label: string;
  /** Its styles say how wide the columns are. */
  readonly className: string;
  readonly head: ReactNode;
  readonly rows: LongRows<Row>;
  /** What is said when there is no row. */
  readonly empty?: string;
  readonly children: (row: Row, place: RowPlace) => ReactNode;
}

/** Attributes of a row that put it where it belongs. */
export interface RowPlace {
  readonly "aria-rowindex": number;
  readonly style: CSSProperties;
}

/** As many rows as are seen, however many there are. */
export function LongTable<Row>({ label, className, head, rows, empty, children }: LongTableProps<Row>) {
  const { all, isWhole, list, virtual } = rows;
  return (
    <div className={`row-table long-table ${className}`}>
      <table aria-label={label} aria-rowcount={all.length}>
        {head}
        <tbody ref={list} style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start }) =>
            children(all[index] as Row, {
              "aria-rowindex": index + 1,
              style: { transform: `translateY(${start - virtual.options.scrollMargin}px)` },
            }),
          )}
        </tbody>
      </table>
      {empty && all.length === 0 && isWhole && <p className="quiet empty">{empty}</p>}
    </div>
  );
}

/** Rows of one height. Those that come in pages are asked for as they are scrolled to. */
export function useLongRows<Row>(all: readonly Row[], rowPx: number, pages?: Pages): LongRows<Row> {
  const list = useRef<HTMLTableSectionElement>(null);
  const virtual = useWindowVirtualizer({
    count: all.length,
    estimateSize: () => rowPx,
    overscan: 12,
    scrollMargin: list.current?.offsetTop ?? 0,
  });
  const lastSeen = virtual.getVirtualItems().at(-1)?.index ?? -1;
  const { hasNextPage = false, isFetching = false, fetchNextPage } = pages ?? {};
  useEffect(() => {
    if (hasNextPage && !isFetching && lastSeen >= all.length - AHEAD) void fetchNextPage?.();
  }, [hasNextPage, isFetching, fetchNextPage, lastSeen, all.length]);
  return { all, isWhole: !hasNextPage && !isFetching, list, virtual };
}
