import fc from "fast-check";
import { expect, test } from "vitest";
import { anyPlay, perform } from "../../tests/any-play.ts";
import { Loop } from "../../tests/builders.ts";
import { backlog, readyWork } from "./index.ts";

test("what is ready by its needs is as much as what is ready by its class, in each zone and of all its agents", () => {
  fc.assert(
    fc.property(anyPlay, (play) => {
      const loop = new Loop(play.config);
      perform(loop, play, (_, now) => {
        for (const zone of ["here", "there"]) {
          const work = readyWork(loop.state, zone);
          const byClass = backlog(loop.state, now, zone).classes;
          const sum = work.reduce((total, { count }) => total + count, 0);
          expect(sum).toBe(byClass.reduce((total, { ready }) => total + ready, 0));
          expect(work.every(({ needs }) => needs.zone === zone)).toBe(true);
          const agents = [...loop.state.pools.values()].flatMap(({ groups }) =>
            [...groups.values()].map(({ agent }) => agent),
          );
          const ofAgents = [...new Set(agents)].flatMap((agent) => readyWork(loop.state, zone, agent));
          expect(ofAgents.reduce((total, { count }) => total + count, 0)).toBe(sum);
        }
      });
    }),
  );
});
