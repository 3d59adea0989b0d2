/** Where one can go, in the order of the header. The server answers these paths with the app. */
export const SCREENS = [
  { path: "/", name: "Overview", key: "1" },
  { path: "/tasks", name: "Tasks", key: "2" },
  { path: "/runs", name: "Runs", key: "3" },
  { path: "/workers", name: "Workers", key: "4" },
  { path: "/queues", name: "Queues", key: "5" },
  { path: "/ledger", name: "Ledger", key: "6" },
  { path: "/what-if", name: "What if", key: "8" },
] as const;
