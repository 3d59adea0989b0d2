import { describe, expect, test } from "vitest";
import { COSTS } from "./budget.ts";
import {
  checkFiberMove,
  checkNurseryMove,
  FIBER_MOVES,
  FIBER_STATES,
  NURSERY_MOVES,
  type NurseryState,
} from "./states.ts";

test("[R-07] [SCHED:5.2.2] states: the moves of the specification, a voluntary yield, and Cancelled from all that is not final", () => {
  expect(FIBER_MOVES).toEqual({
    Ready: ["Running", "Cancelled"],
    Running: ["Ready", "Blocked", "BudgetExhausted", "Completed", "Cancelled"],
    Blocked: ["Ready", "Cancelled"],
    BudgetExhausted: ["Ready", "Cancelled"],
    Completed: [],
    Cancelled: [],
  });
});

describe("[R-07] [SCHED:5.2.1] states: no other move is possible", () => {
  test.each(FIBER_STATES.flatMap((from) => FIBER_STATES.map((to) => [from, to] as const)))(
    "%s to %s",
    (from, to) => {
      const move = () => checkFiberMove(FIBER_STATES.indexOf(from), FIBER_STATES.indexOf(to));
      if (FIBER_MOVES[from].includes(to)) expect(move).not.toThrow();
      else expect(move).toThrow(`a fiber that is ${from} cannot become ${to}`);
    },
  );
});

test("[R-02] a nursery moves from Open by Closing to Closed, and by Cancelling to Cancelled", () => {
  expect(NURSERY_MOVES).toEqual({
    Open: ["Closing", "Cancelling"],
    Closing: ["Closed", "Cancelling"],
    Cancelling: ["Cancelled"],
    Closed: [],
    Cancelled: [],
  });
  const states = Object.keys(NURSERY_MOVES) as NurseryState[];
  for (const from of states)
    for (const to of states)
      if (!NURSERY_MOVES[from].includes(to))
        expect(() => checkNurseryMove(from, to)).toThrow("cannot become");
});

test("[R-04] [SCHED:3.3.1] budget costs: every operation costs an op, and some one more thing", () => {
  expect(COSTS).toEqual({
    loop: { ops: 1 },
    call: { ops: 1 },
    allocation: { ops: 1 },
    spawn: { ops: 1, spawnCount: 1 },
    send: { ops: 1, channelOps: 1 },
    receive: { ops: 1, channelOps: 1 },
    file: { ops: 1, syscalls: 1 },
    network: { ops: 1, syscalls: 1 },
  });
});
