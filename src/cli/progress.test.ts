import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createProgress, type Progress, type ProgressLine, type ProgressView } from "./progress.ts";

const NOON = new Date(2026, 0, 2, 12, 0, 0).getTime();
const view: ProgressView = {
  name: "nightly",
  total: 4,
  completed: 1,
  failed: 0,
  skipped: 0,
  cancelled: 0,
  waiting: 1,
  ready: 1,
  running: [{ id: "fetch", worker: "w1", attempt: 1, startedAtMs: 0, estimateMs: 0 }],
  elapsedMs: 0,
  remainingMs: undefined,
  cancelling: false,
};

interface Screen {
  readonly progress: Progress;
  readonly writes: string[];
  resize(columns: number): void;
}

function show(options: { interactive?: boolean; quiet?: boolean } = {}): Screen {
  const writes: string[] = [];
  const stream = { columns: 80, rows: 24, write: (text: string) => writes.push(text) };
  const progress = createProgress(stream as unknown as NodeJS.WriteStream, {
    color: false,
    interactive: options.interactive ?? true,
    columns: 80,
    rows: 24,
    quiet: options.quiet ?? false,
  });
  return {
    progress,
    writes,
    resize(columns) {
      stream.columns = columns;
    },
  };
}

/** What stands on a screen of endless size after the writes. */
function screenAfter(writes: readonly string[]): string[] {
  const rows: string[] = [""];
  let row = 0;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this is a terminal.
  for (const [piece] of writes.join("").matchAll(/\x1b\[[?\d]*[A-Za-z]|\n|\r|[^\x1b\n\r]+/g)) {
    if (piece === "\n") row += 1;
    else if (piece === "\x1b[1A") row -= 1;
    else if (piece === "\x1b[2K") rows[row] = "";
    else if (!piece.startsWith("\x1b") && piece !== "\r") rows[row] = piece;
    rows[row] ??= "";
  }
  return rows;
}

const line = (type: ProgressLine["type"], detail: string, node = "fetch"): ProgressLine => ({
  type,
  node,
  detail,
  atMs: NOON + 1_123,
});

beforeEach(() => {
  vi.useFakeTimers({ now: NOON, toFake: ["setInterval", "clearInterval", "performance", "Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("on a terminal", () => {
  test("lines scroll above a block that is redrawn in place", () => {
    const { progress, writes } = show();
    progress.update(view);
    vi.advanceTimersByTime(100);
    progress.line(line("failed", "exited with code 3", "a"));
    progress.line(line("output", "one\ntwo\n", "b"));
    vi.advanceTimersByTime(100);
    expect(screenAfter(writes)).toEqual([
      "✗ failed    a exited with code 3",
      "b │ one",
      "b │ two",
      expect.stringMatching(/^nightly .* 1\/4 done · 1 running · 1 ready · 1 waiting · 0s$/),
      "  fetch  w1      0s            ",
      "",
    ]);
    progress.end({ ...view, completed: 3, failed: 1, elapsedMs: 1_240 }, "failed");
    expect(screenAfter(writes).filter((text) => text !== "")).toEqual([
      "✗ failed    a exited with code 3",
      "b │ one",
      "b │ two",
      "✗ nightly failed: 3/4 done, 1 failed in 1.2s",
    ]);
  });

  test("it draws at most ten times a second, and only what changed", () => {
    const { progress, writes } = show();
    for (let i = 0; i < 1_000; i += 1) {
      progress.update({ ...view, completed: i % 4, elapsedMs: i });
      vi.advanceTimersByTime(1);
    }
    expect(writes.length).toBeLessThanOrEqual(11);
    progress.update({ ...view, elapsedMs: 2_000 });
    vi.advanceTimersByTime(100);
    const before = writes.length;
    vi.advanceTimersByTime(800);
    expect(writes.length).toBe(before);
    vi.advanceTimersByTime(200);
    expect(writes.length).toBe(before + 1);
    expect(screenAfter(writes)[0]).toMatch(/· 3s$/);
    progress.end(view, "completed");
  });

  test("after the screen became narrower, the rows that the block now takes are erased", () => {
    const { progress, writes, resize } = show();
    progress.update(view);
    vi.advanceTimersByTime(100);
    resize(40);
    vi.advanceTimersByTime(100);
    const upwards = writes.at(-1)?.split("\x1b[1A").length ?? 0;
    expect(upwards - 1).toBe(3);
    progress.end(view, "completed");
  });

  test("the cursor is hidden until the end, and nothing is listened to afterwards", () => {
    const before = ["exit", "SIGINT", "SIGTERM", "SIGHUP"].map((name) => process.listenerCount(name));
    const { progress, writes } = show();
    expect(writes[0]).toBe("\x1b[?25l");
    progress.update(view);
    progress.end(view, "completed");
    expect(writes.at(-1)).toBe("\x1b[?25h");
    expect(["exit", "SIGINT", "SIGTERM", "SIGHUP"].map((name) => process.listenerCount(name))).toEqual(
      before,
    );
    const count = writes.length;
    vi.advanceTimersByTime(10_000);
    expect(writes.length).toBe(count);
  });

  test("it shows the cursor again, and what is still to be said, when the process exits", () => {
    const before = new Set(process.listeners("exit"));
    const { progress, writes } = show();
    progress.line(line("failed", "exited with code 3"));
    const onExit = process.listeners("exit").find((listener) => !before.has(listener));
    onExit?.call(process, 1);
    expect(writes.slice(1)).toEqual(["✗ failed    fetch exited with code 3\n", "\x1b[?25h"]);
  });
});

describe("elsewhere", () => {
  const plain = (): Screen => show({ interactive: false });

  test("each event is a line with its time", () => {
    const { progress, writes } = plain();
    progress.line(line("started", "on w1 (attempt 1)"));
    progress.line(line("output", "one\r\n\ttwo\n"));
    progress.line(line("skipped", ""));
    progress.end({ ...view, completed: 4, elapsedMs: 75_000 }, "completed");
    expect(writes.join("")).toBe(
      "12:00:01.123 started fetch on w1 (attempt 1)\n" +
        "12:00:01.123 fetch | one\n" +
        "12:00:01.123 fetch |     two\n" +
        "12:00:01.123 skipped fetch\n" +
        "12:00:00.000 nightly completed: 4/4 done in 1m 15s\n",
    );
  });

  test("no control character gets through", () => {
    const { progress, writes } = plain();
    progress.update({ ...view, name: "a\x1b]0;b\x07" });
    progress.line(line("output", "10%\r\x1b[2J\x9b1A 20%\n", "\x1b[31mred"));
    progress.line(line("failed", "two\nlines"));
    vi.advanceTimersByTime(10_000);
    progress.end({ ...view, name: "a\nb" }, "failed");
    expect(writes.join("").replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
    expect(writes.slice(0, 2)).toEqual([
      "12:00:01.123 \\x1b[31mred | \\x1b[2J\\x9b1A 20%\n",
      "12:00:01.123 failed fetch two\\x0alines\n",
    ]);
  });

  test("a summary comes after ten seconds of silence", () => {
    const { progress, writes } = plain();
    progress.update(view);
    vi.advanceTimersByTime(9_000);
    progress.line(line("finished", ""));
    vi.advanceTimersByTime(9_900);
    expect(writes).toHaveLength(1);
    progress.update({ ...view, elapsedMs: 18_000 });
    vi.advanceTimersByTime(100);
    expect(writes[1]).toBe("12:00:19.000 nightly: 1/4 done, 1 running, 1 ready, 1 waiting, 18s\n");
    vi.advanceTimersByTime(9_900);
    expect(writes).toHaveLength(2);
    progress.end(view, "cancelled");
  });
});

describe("when it should be quiet", () => {
  test("a run that goes well says nothing", () => {
    const { progress, writes } = show({ quiet: true });
    progress.update(view);
    progress.line(line("started", ""));
    progress.line(line("output", "text"));
    progress.line(line("finished", ""));
    progress.end(view, "completed");
    expect(writes).toEqual([]);
  });

  test("what went wrong is said", () => {
    const { progress, writes } = show({ quiet: true });
    progress.line(line("timed-out", "after 5s"));
    progress.end({ ...view, failed: 1 }, "failed");
    expect(writes).toEqual([
      "12:00:01.123 timed-out fetch after 5s\n",
      "12:00:00.000 nightly failed: 1/4 done, 1 failed in 0.0s\n",
    ]);
  });
});
