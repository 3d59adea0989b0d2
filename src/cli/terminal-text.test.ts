import fc from "fast-check";
import { expect, test } from "vitest";
import { fitColored, fitText, neutralise, padText, textWidth } from "./terminal-text.ts";

test.each([
  ["abc", 3],
  ["编译", 4],
  ["한글", 4],
  ["カタ", 4],
  ["🚀", 2],
  ["résumé", 6],
  ["re\u0301sume\u0301", 6],
  ["a\u200db", 2],
  ["❤️", 2],
  ["…─█", 3],
])("%s takes %i columns", (text, width) => {
  expect(textWidth(text)).toBe(width);
});

test("a text is cut between characters, never through the middle of a wide one", () => {
  expect(fitText("abcdef", 6)).toBe("abcdef");
  expect(fitText("abcdefg", 6)).toBe("abcde…");
  expect(fitText("编译核心", 6)).toBe("编译…");
  expect(fitText("abc", 1)).toBe("…");
  expect(fitText("abc", 0)).toBe("");
});

test("a coloured text is cut by what is seen of it, and no colour goes on behind it", () => {
  const text = "ab\x1b[2mcdef\x1b[22mgh";
  expect(fitColored(text, 8)).toBe(text);
  expect(fitColored(text, 4)).toBe("ab\x1b[2mc…\x1b[22m");
  expect(fitColored(text, 1)).toBe("…\x1b[2m\x1b[22m");
});

test("a padded text takes exactly its width", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 1, max: 30 }), (text, width) => {
      expect(textWidth(padText(neutralise(text), width))).toBe(width);
    }),
  );
});

test("what would act on the terminal is shown instead", () => {
  expect(neutralise("a\x1b[31mb")).toBe("a\\x1b[31mb");
  expect(neutralise("a\r\n\t\x07\x7f\x9bb")).toBe("a\\x0d\\x0a\\x09\\x07\\x7f\\x9bb");
  expect(neutralise("gpj.\u202eexe")).toBe("gpj.\\u202eexe");
  expect(neutralise("编译 🚀 é")).toBe("编译 🚀 é");
});
