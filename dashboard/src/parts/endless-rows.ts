import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";

/** So many rows before the end the next page is asked for. */
const AHEAD = 30;

interface Pages {
  readonly hasNextPage: boolean;
  readonly isFetching: boolean;
  fetchNextPage(): Promise<unknown>;
}

/** Rows of one height, of which those are there that are seen; what is scrolled to is asked for. */
export function useEndlessRows(count: number, rowPx: number, pages: Pages) {
  const list = useRef<HTMLTableSectionElement>(null);
  const rows = useWindowVirtualizer({
    count,
    estimateSize: () => rowPx,
    overscan: 12,
    scrollMargin: list.current?.offsetTop ?? 0,
  });
  const items = rows.getVirtualItems();
  const lastSeen = items.at(-1)?.index ?? -1;
  const { hasNextPage, isFetching, fetchNextPage } = pages;
  useEffect(() => {
    if (hasNextPage && !isFetching && lastSeen >= count - AHEAD) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage, lastSeen, count]);
  return { list, rows, items };
}
