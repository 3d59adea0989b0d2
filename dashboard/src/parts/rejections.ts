/** What speaks against a worker, as the rest of a sentence about it. */
const WORDS: Readonly<Record<string, string>> = {
  executor: "does not serve the executor",
  zone: "is not for this zone",
  capability: "lacks a capability, or does not know the type",
  unreachable: "is lost",
  draining: "is draining",
  overloaded: "is overloaded",
  queue: "is full",
  reserved: "is kept free for another task",
  cpu: "has too little cpu",
  memory: "has too little memory",
  returned: "gave it back",
};

export function rejectionText(reason: string): string {
  return WORDS[reason] ?? reason;
}
