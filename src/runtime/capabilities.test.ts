import { describe, expect, test } from "vitest";
import {
  type Capabilities,
  type CapabilityCheck,
  type CapSpawn,
  Runtime,
  type RuntimeOptions,
  type Steps,
  sleep,
} from "./index.ts";

const MODES: [string, RuntimeOptions][] = [
  ["live", { profile: "sovereign" }],
  ["deterministic", { profile: "sovereign", deterministic: true, processors: 4 }],
];

function* codeOf(steps: () => Steps<unknown>): Steps<string> {
  try {
    yield* steps();
    return "allowed";
  } catch (error) {
    return (error as { code: string }).code;
  }
}

describe.each(MODES)("%s: ", (_name, options) => {
  test("[R-05] [R-14] [SCHED:1.1.2] [SCHED:10.2.4] [SCHED:15.1.2] no CapSpawn, no spawn", async () => {
    await using rt = await Runtime.start(options);
    const spawn = (caps: Capabilities | undefined) =>
      rt.nursery(undefined, caps, function* (n) {
        return yield* codeOf(() => n.spawn(() => 0, []).join() as never);
      });
    expect(await spawn(undefined).catch((error: { code: string }) => error.code)).toBe("CapabilityDenied");
    expect(await spawn({}).catch((error: { code: string }) => error.code)).toBe("CapabilityDenied");
    expect(await spawn({ spawn: rt.grant.spawn() })).toBe("allowed");
    expect(rt.counters().spawned).toBe(4);
  });

  test("[R-05] a child holds nothing but what it was given, and gives nothing that is not delegable", async () => {
    await using rt = await Runtime.start(options);
    const caps = { spawn: rt.grant.spawn({ delegable: true }), syscall: rt.grant.syscall() };
    const said = await rt.nursery(undefined, caps, function* (n, fiber) {
      const none = yield* n.spawn((child) => Object.keys(child.capabilities), []).join();
      const given = yield* n
        .spawn((child) => Object.keys(child.capabilities), [], { caps: { spawn: caps.spawn } })
        .join();
      const kept = yield* codeOf(function* () {
        n.spawn(() => 0, [], { caps: { syscall: caps.syscall } });
        yield;
      });
      const attenuated = yield* codeOf(function* () {
        n.spawn(() => 0, [], { caps: { syscall: caps.syscall.attenuate(["time"], { delegable: true }) } });
        yield;
      });
      const foreign = yield* codeOf(function* () {
        n.spawn(() => 0, [], { caps: { channel: rt.grant.channel(undefined, { delegable: true }) } });
        yield;
      });
      return { own: Object.keys(fiber.capabilities), none, given, kept, attenuated, foreign };
    });
    expect(said).toEqual({
      own: ["spawn", "syscall"],
      none: [],
      given: ["spawn"],
      kept: "CapabilityDenied",
      attenuated: "CapabilityDenied",
      foreign: "CapabilityDenied",
    });
  });

  test("[R-05] attenuation only ever takes away: kinds, rights, limits, and being delegable", async () => {
    await using rt = await Runtime.start(options);
    const whole = rt.grant.syscall(["time", "files"], { delegable: true });
    const time = whole.attenuate(["time", "network"], { delegable: true });
    const spawn = rt.grant.spawn({ limit: 3, delegable: true });
    const caps = { spawn, syscall: whole, channel: rt.grant.channel(["send"], { delegable: true }) };
    const channel = rt.channel<number>(1);
    const said = await rt.nursery(undefined, caps, function* (n) {
      const kinds = yield* n
        .spawn(
          function* (child) {
            return {
              time: yield* codeOf(() => child.time() as never),
              files: yield* codeOf(() => child.syscall("files", () => 0) as never),
              network: yield* codeOf(() => child.syscall("network", () => 0) as never),
              random: yield* codeOf(() => child.random() as never),
            };
          },
          [],
          { caps: { syscall: time } },
        )
        .join();
      const rights = {
        send: yield* codeOf(() => channel.send(1) as never),
        receive: yield* codeOf(() => channel.recv() as never),
      };
      n.spawn(() => 0, []);
      n.spawn(() => 0, []);
      const fourth = yield* codeOf(function* () {
        n.spawn(() => 0, []);
        yield;
      });
      return { kinds, rights, fourth };
    });
    expect(said).toEqual({
      kinds: {
        time: "allowed",
        files: "CapabilityDenied",
        network: "CapabilityDenied",
        random: "CapabilityDenied",
      },
      rights: { send: "allowed", receive: "CapabilityDenied" },
      fourth: "CapabilityDenied",
    });
    expect(rt.grant.syscall(["time"]).attenuate(["time"], { delegable: true }).delegable).toBe(false);
    expect(() => rt.grant.spawn({ limit: -1 })).toThrow("limit is -1; it is a whole number from 0 on");
  });

  test("[R-05] what is revoked is revoked with all that came from it, also while it is held", async () => {
    await using rt = await Runtime.start(options);
    const spawn = rt.grant.spawn({ delegable: true });
    const weaker = spawn.attenuate({ delegable: true });
    const said = await rt.nursery({ spawnCount: 10 }, { spawn }, function* (n) {
      const child = n.spawn(
        function* (fiber) {
          return yield* fiber.nursery(undefined, undefined, function* (inner) {
            inner.spawn(() => 0, []);
            yield* sleep(5);
            return yield* codeOf(function* () {
              inner.spawn(() => 0, []);
              yield;
            });
          });
        },
        [],
        { caps: { spawn: weaker }, budget: { spawnCount: 5 } },
      );
      yield* sleep(1);
      spawn.revoke();
      return yield* child.join();
    });
    expect(said).toBe("CapabilityDenied");
  });

  test("[R-05] capabilities of the task's own go the same ways, by their names", async () => {
    await using rt = await Runtime.start(options);
    const gpu = rt.grant.named("gpu", { delegable: true });
    const caps = { spawn: rt.grant.spawn(), own: { gpu, disk: rt.grant.named("disk") } };
    const held = await rt.nursery(undefined, caps, function* (n) {
      return yield* n
        .spawn((child) => Object.keys(child.capabilities.own ?? {}), [], { caps: { own: { gpu } } })
        .join();
    });
    expect(held).toEqual(["gpu"]);
    expect(() => rt.launch(undefined, { own: { tpu: gpu } }, function* () {})).toThrow(
      "own.tpu is no capability of that name",
    );
  });

  test("[R-05] every check can be recorded, the refused ones too", async () => {
    const checks: CapabilityCheck[] = [];
    await using rt = await Runtime.start({
      ...options,
      observer: { checked: (check) => checks.push(check) },
    });
    const run = rt.nursery(undefined, { spawn: rt.grant.spawn() }, function* (n) {
      n.spawn(() => 0, []);
      yield* rt.channel<number>(1).send(1);
    });
    await expect(run).rejects.toThrow("send needs the capability channel, which the fiber does not hold");
    expect(checks).toMatchObject([
      { capability: "spawn", operation: "spawn", allowed: true },
      { capability: "channel", operation: "send", allowed: false },
    ]);
  });
});

test("[R-05] capabilities cannot be forged: not by their constructors, not by objects that look like them, not by changing what is held", async () => {
  await using rt = await Runtime.start({ profile: "sovereign" });
  const spawn = rt.grant.spawn();
  const forge = Object.getPrototypeOf(spawn).constructor as new (...args: unknown[]) => CapSpawn;
  expect(() => new forge(Symbol("mint"), 5, true)).toThrow("capabilities are granted by a runtime");
  const fake = Object.create(Object.getPrototypeOf(spawn) as object) as CapSpawn;
  const tries: unknown[] = [fake, { ...spawn }, {}, 1];
  for (const one of tries) {
    const run = async () =>
      rt.nursery(undefined, { spawn: one as CapSpawn }, function* (n) {
        n.spawn(() => 0, []);
        yield;
      });
    await expect(run()).rejects.toThrow();
  }
  const run = rt.nursery(undefined, {}, function* (n, fiber) {
    (fiber.capabilities as { spawn?: CapSpawn }).spawn = spawn;
    n.spawn(() => 0, []);
    yield;
  });
  await expect(run).rejects.toThrow(TypeError);
  expect(() => rt.launch(undefined, { spwan: spawn } as never, function* () {})).toThrow(
    "caps.spwan is no capability",
  );
  expect(() => rt.launch(undefined, 5 as never, function* () {})).toThrow("caps is an object");
});
