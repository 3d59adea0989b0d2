import type { Block } from "../../ledger/index.ts";
import type { StoreError } from "../contract.ts";
import type { RowChanges } from "../rows.ts";
import { commitOf } from "./commits.ts";
import { refusalOf } from "./outage.ts";
import type { Reader } from "./reader.ts";

/** Commits a block in a transaction that is rolled back, and returns the error if PostgreSQL refuses its content. */
export function probe(
  reader: Pick<Reader, "transaction">,
  block: Block,
  rows: RowChanges,
): Promise<StoreError | undefined> {
  const { text, values } = commitOf(block, rows);
  return reader.transaction(async (client) => {
    try {
      await client.query(text, values);
      return undefined;
    } catch (cause) {
      const refusal = refusalOf(cause);
      if (!refusal) throw cause;
      return refusal;
    } finally {
      // The transaction ends here. The COMMIT that follows finds none, and only warns.
      await client.query("rollback");
    }
  });
}
