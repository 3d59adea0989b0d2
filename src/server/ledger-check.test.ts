import { expect, test } from "vitest";
import { blockOn } from "../../tests/any-rows.ts";
import { API, serve } from "../../tests/http-app.ts";
import { type Block, headOf } from "../ledger/index.ts";
import { MemoryStore } from "../store/index.ts";
import { LedgerCheck } from "./ledger-check.ts";

async function storeOf(blocks: number): Promise<MemoryStore> {
  const store = new MemoryStore();
  for (let n = 0; n < blocks; n++) await store.commit(blockOn(store.head));
  return store;
}

/** Until it has seen all that there is. */
async function whole(check: LedgerCheck) {
  for (;;) {
    const standing = await check.goOn();
    if (standing.damage || standing.verifiedTo === standing.head.seq) return standing;
  }
}

test("a sound ledger is verified to its head, and as it grows", async () => {
  const store = await storeOf(100);
  const check = new LedgerCheck(store);
  expect(await whole(check)).toMatchObject({ verifiedTo: store.head.seq, damage: undefined });
  await store.commit(blockOn(store.head));
  const [one, other] = await Promise.all([check.goOn(), check.goOn()]);
  expect([one.verifiedTo, other.verifiedTo]).toEqual([store.head.seq, store.head.seq]);
});

test("the first event that is not as it was written is named", async () => {
  const store = await storeOf(40);
  const blocks: Block[] = [];
  for await (const block of store.blocks()) blocks.push(block);
  const bad = blocks[20] as Block;
  const spoilt = blocks.map((block) =>
    block === bad ? { ...bad, line: bad.line.replace(/"now":\d/, '"now":9') } : block,
  );
  async function* lines() {
    yield* spoilt;
  }
  const check = new LedgerCheck({ head: store.head, blocks: lines });
  const { damage, verifiedTo } = await whole(check);
  expect(damage?.seq).toBe(headOf(blocks[19] as Block).seq + 1);
  expect(verifiedTo).toBe(headOf(blocks[19] as Block).seq);
});

test("operators are told where it stands", async () => {
  const served = await serve();
  await served.call("POST", `${API}/submit`, { executor: "x", task_type: "a" });
  const { status, body } = await served.call("GET", `${API}/ledger/head`);
  expect([status, body.verified_to, body.damage]).toEqual([200, body.seq, null]);
  expect(body.seq).toBeGreaterThan(0);
  await served.close();
});
