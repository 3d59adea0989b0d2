export interface Screen {
  readonly path: string;
  readonly name: string;
  readonly key: string;
  /** Without this scope there is nothing to see on it. */
  readonly needs?: "admin" | "operator";
}

/** Where one can go, in the order of the header. The server answers these paths with the app. */
export const SCREENS: readonly Screen[] = [
  { path: "/", name: "Overview", key: "1" },
  { path: "/tasks", name: "Tasks", key: "2" },
  { path: "/runs", name: "Runs", key: "3" },
  { path: "/workers", name: "Workers", key: "4" },
  { path: "/queues", name: "Queues", key: "5" },
  { path: "/ledger", name: "Ledger", key: "6", needs: "operator" },
  { path: "/what-if", name: "What if", key: "8", needs: "operator" },
  { path: "/cluster", name: "Cluster", key: "9", needs: "operator" },
  { path: "/keys", name: "Keys", key: "0", needs: "admin" },
];
